"""Follows the link to the companion server and posts its state. The link reports changes from a thread of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any

from device_app.tui import messages
from device_app.tui.link import Standing

if TYPE_CHECKING:
    from pathlib import Path

    from device_app.companion.link.link import Link
    from device_app.device import Device


class Following:
    """Follows the link of one device at a time. `post` sends messages to the app and may be called from any thread."""

    def __init__(self, post: Callable[[Any], object]) -> None:
        self._post = post
        self._device: Device | None = None
        self._file: Path | None = None  # what the device, expected or followed, knows of its server
        self._kept: tuple[int, int] | None = None
        self._watching = ExitStack()
        self._lock = Lock()

    def expect(self, device: Device) -> None:
        """Post the state to which `follow` will lead (connecting, or no server), as `follow` may come much later."""
        if device is not self._device:
            self._watching.close()  # of the earlier device, whose link is closed
            self._device, self._file, self._kept = None, device.paths.link, _stamp(device.paths.link)
            self._post(messages.Linked(Standing("connecting") if device.public else _without(device)))

    def follow(self, device: Device) -> None:
        """Connect to the device's server if it may be asked, and post the link's state changes from now on."""
        if device is self._device:
            return
        self._watching.close()
        self._device = None  # until the new device is followed
        self._file, self._kept = device.paths.link, _stamp(device.paths.link)
        if device.public:
            link = device.public.link
            self._watching.enter_context(link.watched(lambda _: self._announce(link)))
            self._announce(link)
        else:
            self._post(messages.Linked(_without(device)))
        self._device = device

    def has_changed(self) -> bool:
        """Return whether another program has connected or disconnected a server since the last call.

        Thread-safe.
        """
        if self._file is None:
            return False
        before, self._kept = self._kept, _stamp(self._file)
        return self._kept != before

    def _announce(self, link: Link) -> None:
        with self._lock:  # two threads post, and the last post has to be the current state
            state = link.state
            retry_s = state.retry_s if state.phase == "waiting" else None
            retry_at = None if retry_s is None else time.monotonic() + retry_s
            self._post(messages.Linked(Standing(state.phase, state.why, retry_at, state.cause)))


def _without(device: Device) -> Standing:
    return Standing("off" if device.paths.link.exists() else "none")


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino
