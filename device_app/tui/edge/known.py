"""What is known, as the person sees it: folders, their files, the passages of one. Never waits for a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from device_app.tui.edge.thread import DeviceThread

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.tui.edge.facts import Holding, KnownFile, StoredPassage, Totals
    from storage.holdings import Holdings


class Known:
    """The read side of the knowledge, in a thread of its own. Every method raises StoreError."""

    def __init__(self, open_device: Callable[[], Device]) -> None:
        self._thread = DeviceThread("known", open_device)

    async def totals(self) -> Totals:
        """How much is known."""
        return await self._thread.run(lambda device: device.knowledge.totals())

    async def holdings(self, words: str, limit: int, offset: int) -> Sequence[Holding]:
        """Remembered folders, and files beside them, whose paths hold all the words; by path."""
        return await self._thread.run(lambda device: _holdings(device).all(words)[offset : offset + limit])

    async def files(self, path: bytes, words: str, limit: int, offset: int) -> Sequence[KnownFile]:
        """Files at or under a path whose names below it hold all the words, those that could not be read first."""
        return await self._thread.run(lambda device: _holdings(device).files_under(path, limit, offset, words))

    async def passages(self, path: bytes, most: int) -> Sequence[StoredPassage]:
        """The first passages of a file."""
        return await self._thread.run(lambda device: device.knowledge.passages_of(path, most))

    def reopen(self) -> None:
        """Read under changed settings from now on."""
        self._thread.reopen()

    def close(self) -> None:
        """Close the store."""
        self._thread.close()


def _holdings(device: Device) -> Holdings:
    from storage.holdings import Holdings

    return Holdings(device.database)
