"""Reads and changes settings and models, and reads egress, in threads of its own. A download blocks nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from device_app.tui.edge.thread import DeviceThread
from shared.errors import GaveWay

if TYPE_CHECKING:
    from device_app import settings
    from device_app.device import Device
    from models.catalog import Entry, Weights
    from models.forecast import Forecast
    from shared.settings import Origin, Setting, Value
    from storage.paths import Paths

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Preference:
    """A setting with its current value and the origin of that value."""

    setting: Setting
    value: Value
    origin: Origin


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be chosen, of the `kind` "engine" (it writes answers) or "embedder".

    `address` is its name in commands and settings; `file:PATH` for a file. `size` is the bytes to download; 0 if
    unknown. `state` says whether its files are "present", "missing" or "damaged"; `used`, whether it is in use.
    `forecast` is the memory and disk space that it takes.
    """

    name: str
    address: str
    kind: str
    description: str
    licence: str
    size: int
    state: str
    used: bool
    forecast: Forecast


@dataclass(frozen=True, slots=True)
class Shelf:
    """All models that can be chosen, and in bytes what the caches occupy on disk (`held`) and may occupy (`limit`)."""

    models: Sequence[Model]
    held: int
    limit: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """A download in progress: `doing` says for the person what is done now.

    `done` and `total` are bytes; `total` is 0 if unknown.
    """

    name: str
    doing: str = "contacting the source"
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Companion:
    """The companion server's address, and the settings for the data that may be sent to it.

    `spent` is a sentence about the cost of today's answers; "" if they cost nothing and there are no limits.
    """

    address: str
    settings: settings.Link
    spent: str = ""


class Preferences:
    """Access to settings and models. Every method raises JackdawError."""

    def __init__(self, environment: Mapping[str, str], open_device: Callable[[], Device]) -> None:
        self._environment = environment
        self._files = ThreadPoolExecutor(1, thread_name_prefix="preferences")
        self._fetches = ThreadPoolExecutor(1, thread_name_prefix="fetch")
        self._store = DeviceThread("egress", open_device)
        self._stop = Event()
        self.fetching: Fetch | None = None

    async def all(self) -> Sequence[Preference]:
        """Return every setting, in order."""
        return await self._do(self._all)

    async def look(self) -> settings.App:
        """Return the settings for the app's appearance."""
        return await self._do(lambda: look(self._environment))

    async def set(self, key: str, value: str) -> Value:
        """Write a setting to the settings file; return the value converted to the setting's type."""
        from device_app.settings.change import set_value

        return await self._do(lambda: set_value(self._paths(), key, value, "typed here"))

    async def unset(self, key: str) -> None:
        """Remove a setting from the settings file, which restores its default."""
        from device_app.settings.change import unset_value

        await self._do(lambda: unset_value(self._paths(), key))

    async def shelf(self) -> Shelf:
        """Return the models, with the memory and disk space that each would take."""
        held = await self._store.run(_held)
        return await self._do(lambda: self._shelf(held))

    async def use(self, name: str) -> None:
        """Use the model of this name from now on, after loading it once as a check."""
        await self._do(lambda: self._use(name))

    async def fetch(self, name: str) -> None:
        """Download a model; `fetching` holds the progress. Raises GaveWay if it was stopped."""
        self._stop.clear()
        self.fetching = Fetch(name)
        try:
            await asyncio.wrap_future(self._fetches.submit(self._fetch, name))
        finally:
            self.fetching = None

    def stop(self) -> None:
        """Stop the download; a partial file from a hub is kept for the next attempt."""
        self._stop.set()

    async def egress(self) -> tuple[int, int]:
        """Return the number of kept answers and the bytes that left the device for them."""
        return await self._store.run(lambda device: device.conversations.egress())

    async def companion(self) -> Companion | None:
        """Return the companion server and its settings; None if this device is connected to no server."""
        return await self._do(self._companion)

    def reopen(self) -> None:
        """Load the settings again."""
        self._store.reopen()

    def close(self) -> None:
        """Stop everything in progress. Returns at once."""
        self.stop()
        self._store.close()
        self._files.shutdown(wait=False)
        self._fetches.shutdown(wait=False)

    async def _do(self, work: Callable[[], Result]) -> Result:
        return await asyncio.wrap_future(self._files.submit(work))

    def _paths(self) -> Paths:
        from storage.paths import Paths

        return Paths.locate(self._environment)

    def _all(self) -> Sequence[Preference]:
        from device_app.settings import SETTINGS, load

        resolved = load(self._paths(), self._environment)
        return [Preference(setting, resolved.value(key), resolved.origins[key]) for key, setting in SETTINGS.items()]

    def _companion(self) -> Companion | None:
        from device_app.companion.link import credentials
        from device_app.settings import load

        paths = self._paths()
        stored = credentials.load(paths.link)
        if stored is None:
            return None
        link = load(paths, self._environment).settings.link
        return Companion(stored.url, link, _spent(paths, link))

    def _weights(self) -> Weights:
        from models.catalog import Weights

        return Weights(self._paths().weights)

    def _shelf(self, held: int) -> Shelf:
        from device_app.cache.states.limit import most_states
        from device_app.settings import load
        from models import catalog

        settings = load(self._paths(), self._environment).settings
        used = [catalog.find(settings.model.name, "engine"), catalog.find(settings.embedder.name, "embedder")]
        entries = [*catalog.CATALOG, *(entry for entry in used if entry.is_file)]
        limit = int(settings.cache.qa_mb * 1_000_000) + most_states(settings.cache.kv_mb)
        return Shelf([self._model(entry, entry in used, settings) for entry in entries], held, limit)

    def _model(self, entry: Entry, used: bool, settings: settings.Settings) -> Model:
        from models.forecast import Room, forecast

        weights = self._weights()
        return Model(
            entry.name,
            entry.address,
            entry.kind,
            entry.description,
            entry.licence,
            entry.size,
            weights.state(entry),
            used,
            forecast(weights, entry, Room(settings.model.context, settings.model.kv)),
        )

    def _use(self, name: str) -> None:
        from device_app.commands.models import use

        use(self._paths(), self._weights(), name)

    def _fetch(self, name: str) -> None:
        from device_app.commands.models import pull
        from models import catalog

        def report(doing: str, done: int, total: int) -> None:
            if self._stop.is_set():
                raise GaveWay(f"The download of {name} was stopped.")
            self.fetching = Fetch(name, doing, done, total)

        pull(self._weights(), catalog.find(name), report)


def _held(device: Device) -> int:
    """Return the bytes that the caches occupy."""
    from storage.kv_slices import KVSlices
    from storage.qa_entries import QAEntries

    return QAEntries(device.database).bytes() + KVSlices(device.database).bytes()


def _spent(paths: Paths, link: settings.Link) -> str:
    """Return a sentence about the cost of today's answers; "" if they cost nothing and there are no limits."""
    from device_app.companion.dispatch.day import DayLimits, Days
    from device_app.presentation import spent_today

    spent, limits = Days(paths.dispatch_spent).spent(), DayLimits(link.day_joules, link.day_money)
    return spent_today(spent, limits) if any((spent.joules, spent.money, limits.joules, limits.money)) else ""


def look(environment: Mapping[str, str]) -> settings.App:
    """Return the settings for the app's appearance. Raises SettingError."""
    from device_app.settings import load
    from storage.paths import Paths

    return load(Paths.locate(environment), environment).settings.app
