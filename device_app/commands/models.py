"""Chooses and downloads models, for the command line and the app."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from shared.errors import WeightsDamaged, WeightsMissing

if TYPE_CHECKING:
    from device_app.device import Device
    from models.catalog import Entry, Weights
    from storage.paths import Paths


def pull(weights: Weights, entry: Entry, report: Callable[[str, int, int], None]) -> bool:
    """Download a model, check it and make it ready; return whether it was not here already.

    `report` gets the current activity, the bytes done and the total bytes (0: unknown). An exception from it ends the
    download, which the next call resumes. Raises PullFailed, WeightsDamaged, NotWritable.
    """
    from device_app.system.awake import awake
    from storage.paths import Paths
    from storage.private import private_content

    with private_content(weights.folder), awake(Paths.locate(os.environ).awake):
        return weights.pull(entry, report)


def use(paths: Paths, weights: Weights, name: str) -> tuple[str, Entry]:
    """Write a model into the settings after opening it once as a check; return the setting's key and the model's entry.

    Raises UsageError, WeightsMissing, WeightsDamaged, EngineError, NotWritable.
    """
    from device_app.settings.change import set_value
    from models.forecast import opened

    key, entry = opened(weights, name)
    set_value(paths, key, entry.address)
    return key, entry


def refused(device: Device) -> str:
    """Return why the configured adapter or drafting model is not used.

    Return "" if they are used, if there are none, or if the model's files are missing or damaged. Whether a drafting
    model is used is known only once the main model is loaded.
    """
    with suppress(WeightsMissing, WeightsDamaged):
        drafts = device.loaded.drafting.refused if device.loaded else ""
        return " ".join(filter(None, (device.refused, drafts)))
    return ""
