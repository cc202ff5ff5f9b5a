"""A thread that owns a Device: SQLite connections and engines allow only one caller at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from shared.priority import be_nice

if TYPE_CHECKING:
    from device_app.device import Device

Result = TypeVar("Result")

ANSWERS, READING = 5, 10
"""The nice values of the threads for answers and for reading files: the screen has a higher priority than both."""


class DeviceThread:
    """A thread that runs work on a Device, in order. It opens the Device, and does its imports, for the first work."""

    def __init__(self, name: str, open_device: Callable[[], Device], nice: int = 0) -> None:
        self._open = open_device
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=be_nice, initargs=(nice,))
        self._device: Device | None = None
        self._lock, self._waiting = Lock(), 0

    def submit(self, work: Callable[[Device], Result]) -> Future[Result]:
        """Queue the work after all work submitted before; return the future of its result."""
        self._wait(1)

        def run_next() -> Result:
            self._wait(-1)
            return work(self._opened())

        future = self._executor.submit(run_next)
        future.add_done_callback(lambda done: self._wait(-1) if done.cancelled() else None)
        return future

    @property
    def is_awaited(self) -> bool:
        """Whether other work waits for the current work to end."""
        return self._waiting > 0

    async def run(self, work: Callable[[Device], Result]) -> Result:
        """Return the work's result, or raise its error.

        If the call is cancelled, work that has not started is removed.
        """
        return await asyncio.wrap_future(self.submit(work))

    def reopen(self) -> Future[None]:
        """Close the Device after the work submitted before, so that the next work opens one with the new settings."""
        return self._executor.submit(self._close)

    def close(self) -> None:
        """Close the device after the work submitted earlier. Returns at once."""
        self._wait(1)
        self._executor.submit(self._close)
        self._executor.shutdown(wait=False)

    def _close(self) -> None:
        if self._device:
            self._device.__exit__()
            self._device = None

    def _wait(self, change: int) -> None:
        with self._lock:
            self._waiting += change

    def _opened(self) -> Device:
        if self._device and self._device.is_superseded():
            self._close()
        if self._device is None:
            self._device = self._open()
        return self._device
