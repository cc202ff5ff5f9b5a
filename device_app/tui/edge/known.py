"""Reads what is stored about the person's files: folders, their files, and a file's
passages. Never waits for a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from device_app.tui.edge.thread import DeviceThread

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.tui.edge.facts import Holding, KnownFile, StoredPassage, Totals
    from storage.holdings import Holdings


class Known:
    """Read access to what was read from the person's files, in a thread of its own. Every method raises StoreError."""

    def __init__(self, open_device: Callable[[], Device]) -> None:
        self._thread = DeviceThread("known", open_device)

    async def totals(self) -> Totals:
        """Return the numbers of stored folders, files, documents, passages and skipped files."""
        return await self._thread.run(lambda device: device.knowledge.totals())

    async def holdings(self, words: str, limit: int, offset: int) -> Sequence[Holding]:
        """Return remembered folders, and files outside them, whose paths contain all the words, sorted by path.

        Return `limit` of them from the one with index `offset` on; `files` does likewise.
        """
        return await self._thread.run(lambda device: _holdings(device).all(words)[offset : offset + limit])

    async def files(self, path: bytes, words: str, limit: int, offset: int) -> Sequence[KnownFile]:
        """Return files at or under a path whose relative names contain all the words, unreadable files first."""
        return await self._thread.run(lambda device: _holdings(device).files_under(path, limit, offset, words))

    async def passages(self, path: bytes, most: int) -> Sequence[StoredPassage]:
        """Return the first passages of a file, `most` of them at most."""
        return await self._thread.run(lambda device: device.knowledge.passages_of(path, most))

    def reopen(self) -> None:
        """Load the settings again."""
        self._thread.reopen()

    def close(self) -> None:
        """Close the store."""
        self._thread.close()


def _holdings(device: Device) -> Holdings:
    from storage.holdings import Holdings

    return Holdings(device.database)
