"""Searches for the app, in files and conversations. Never waits for a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from device_app.tui.edge.thread import DeviceThread

if TYPE_CHECKING:
    from device_app.commands.search import Searcher
    from device_app.commands.search_results import Results, Side, Sort
    from device_app.device import Device

LIMIT = 30
"""The most results from files, and the most from conversations."""


class Searches:
    """Searches files and conversations for the app, in a thread of its own. Every method raises StoreError."""

    def __init__(self, open_device: Callable[[], Device]) -> None:
        self._thread = DeviceThread("search", open_device)
        self._searcher: Searcher | None = None

    async def search(self, text: str, today: date, side: Side, sort: Sort) -> Results:
        """Return the results of a search that is being typed, in files, conversations or both (`side`), by `sort`."""
        return await self._thread.run(
            lambda device: self._of(device).search(text, today, limit=LIMIT, side=side, sort=sort, typing=True)
        )

    async def completions(self, text: str) -> Sequence[str]:
        """Return the text with its last part completed to a filter, the likeliest first."""
        return await self._thread.run(lambda device: self._of(device).completions(text))

    async def editor(self, passage: int) -> Sequence[bytes]:
        """Return the command that opens a passage's file in the person's editor. Raises NothingFound, UsageError."""
        return await self._thread.run(lambda device: _editor(device, passage))

    def reopen(self) -> None:
        """Load the settings again."""
        self._thread.reopen()

    def close(self) -> None:
        """Close the store."""
        self._thread.close()

    def _of(self, device: Device) -> Searcher:
        from device_app.commands.search import Searcher

        if self._searcher is None or self._searcher.device is not device:
            self._searcher = Searcher(device)
        return self._searcher


def _editor(device: Device, passage: int) -> Sequence[bytes]:
    import os

    from device_app.commands.editing import command_for
    from shared.errors import NothingFound

    stored = device.knowledge.passages([passage]).get(passage)
    if stored is None:
        raise NothingFound("This passage was changed or deleted.")
    return command_for(device, stored, os.environ)
