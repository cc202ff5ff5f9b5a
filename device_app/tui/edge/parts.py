"""The app's access to models and the store, in parts. A part that can wait is imported and created on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from device_app.tui.edge.answers import Answers
from device_app.tui.edge.records import Records

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.tui.edge.caches import Caches
    from device_app.tui.edge.ingestion import Reader
    from device_app.tui.edge.known import Known
    from device_app.tui.edge.preferences import Preferences
    from device_app.tui.edge.searches import Searches


class Parts:
    """The parts of `tui/edge`. `open_device` opens a device for each thread, with the current settings.

    `to_chat` and `to_app` send messages to the screens and may be called from any thread; `answering` returns whether
    the app is answering.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        open_device: Callable[[], Device],
        to_chat: Callable[[Any], object],
        to_app: Callable[[Any], object],
        answering: Callable[[], bool],
    ) -> None:
        self._environment, self._open = environment, open_device
        self._to_app, self._answering = to_app, answering
        self.answers = Answers(open_device, to_chat)
        self.records = Records(open_device)

    @cached_property
    def known(self) -> Known:
        """The part that reads the knowledge."""
        from device_app.tui.edge.known import Known

        return Known(self._open)

    @cached_property
    def searches(self) -> Searches:
        """The part that searches in files and conversations."""
        from device_app.tui.edge.searches import Searches

        return Searches(self._open)

    @cached_property
    def caches(self) -> Caches:
        """The part that reads and controls the caches."""
        from device_app.tui.edge.caches import Caches

        return Caches(self._environment, self._open, self.answers)

    @cached_property
    def preferences(self) -> Preferences:
        """The part that reads and changes settings and models."""
        from device_app.tui.edge.preferences import Preferences

        return Preferences(self._environment, self._open)

    @cached_property
    def reader(self) -> Reader:
        """The part that reads files."""
        from device_app.tui.edge.ingestion import Reader

        return Reader(self._open, self._to_app, self._answering)

    def reopen(self) -> None:
        """Load the settings again in all parts."""
        for part in self._made("answers", "records", "known", "searches", "caches", "reader", "preferences"):
            part.reopen()

    def close(self) -> None:
        """Stop all parts."""
        for part in self._made("reader", "caches", "answers", "records", "known", "searches", "preferences"):
            part.close()

    def _made(self, *names: str) -> Iterator[Any]:
        return (vars(self)[name] for name in names if name in vars(self))
