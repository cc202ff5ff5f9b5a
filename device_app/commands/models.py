"""The models that a person chooses and fetches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from models import catalog
from shared.errors import WeightsDamaged, WeightsMissing

if TYPE_CHECKING:
    from device_app.device import Device
    from models.catalog import Entry, Weights
    from storage.paths import Paths


def missing(weights: Weights, names: Iterable[str]) -> list[Entry]:
    """Those of the models that have to be fetched first; files of the person's own are not. Raises UsageError."""
    entries = [catalog.find(name) for name in names]
    return [entry for entry in entries if weights.state(entry) == "missing" and not entry.is_file]


def pull(weights: Weights, entry: Entry, report: Callable[[str, int, int], None]) -> bool:
    """Fetch a model's file, check it and make it ready; whether it was not here already.

    `report` gets what is being done, the bytes that are done and those in all, 0 where unknown; what it raises ends the
    fetch, which goes on there the next time. Raises PullFailed, WeightsDamaged, NotWritable.
    """
    from storage.paths import private_folder

    private_folder(weights.folder)
    return weights.pull(entry, report)


def use(paths: Paths, weights: Weights, name: str) -> tuple[str, Entry]:
    """Use a model from now on; it is opened once to check. The setting that names it, and the model.

    Raises UsageError, WeightsMissing, WeightsDamaged, EngineError, NotWritable.
    """
    from device_app.ahead.forecast import looked_into
    from device_app.settings.change import set_value

    entry = catalog.find(name)
    if entry.kind == "engine":
        looked_into(weights, entry)
    key = "model.name" if entry.kind == "engine" else "embedder.name"
    set_value(paths, key, entry.address)
    return key, entry


def refused(device: Device) -> str:
    """Why the adapter that the settings name is not used; else "". A missing model is told by what needs it."""
    with suppress(WeightsMissing, WeightsDamaged):
        return device.refused
    return ""
