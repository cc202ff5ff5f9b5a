"""Reads files in a thread of its own: a queue of paths, pausing, resuming, and removing from the knowledge.

Finished documents are always stored; after a stop, the next run over the same paths continues.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from device_app.tui import messages
from device_app.tui.edge.reading_run import ReadingRun
from device_app.tui.edge.thread import READING, DeviceThread
from device_app.tui.knowledge.reading import Phase, Reading
from shared.errors import GaveWay, JackdawError, WeightsMissing

if TYPE_CHECKING:
    from device_app.commands.knowledge import Removed
    from device_app.device import Device

Result = TypeVar("Result")


class Reader:
    """The thread that reads files.

    `post` sends messages to the app and may be called from any thread; `answering` returns True during an answer.
    """

    def __init__(
        self,
        open_device: Callable[[], Device],
        post: Callable[[Any], object],
        answering: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thread = DeviceThread("reading", open_device, nice=READING)
        self._post = post
        self._lock = threading.Lock()
        self._requested: list[Path] = []
        self._paused = threading.Event()
        self._asides = 0
        self._closed = False
        self.reading = Reading()
        self._run_over = ReadingRun(self._announce, self._is_stopped, self._paused.wait, answering, clock, self.pause)

    def read(self, paths: Sequence[Path]) -> None:
        """Read these paths, after the paths already in the queue."""
        self._want(paths)
        self.resume()

    def update(self) -> None:
        """Read new and changed files in all remembered folders."""
        self._begin(partial(self._run, everything=True))

    def pause(self) -> None:
        """Stop as soon as the current file permits. Finished documents are kept, and `resume` continues after them."""
        self._paused.set()
        self._announce((Phase.WAITING,), phase=Phase.PAUSED, why="")
        self._announce((Phase.READING, Phase.GIVING_WAY), phase=Phase.PAUSING, seconds_left=None)

    def resume(self) -> None:
        """Read the paths that are still queued."""
        self._begin(self._run)

    async def remove(self, path: bytes) -> Removed:
        """Remove a file or folder from the knowledge, and return how much was removed. Reading is paused meanwhile.

        Raises StoreError, StoreLocked.
        """
        return await asyncio.wrap_future(self._aside(lambda: self._thread.submit(partial(self._remove, path))))

    def reopen(self) -> None:
        """Load the settings again."""
        self._aside(self._thread.reopen)

    def close(self) -> None:
        """Stop reading, and close the store."""
        self._closed = True
        self._paused.set()
        self._thread.close()

    def _begin(self, work: Callable[[Device], None]) -> None:
        self._paused.clear()
        self._announce((Phase.PAUSING,), phase=Phase.READING)
        self._thread.submit(work).add_done_callback(self._done)

    def _done(self, future: Future[None]) -> None:
        if future.cancelled() or (error := future.exception()) is None:
            return
        if isinstance(error, JackdawError):  # the store or the settings could not be opened
            self._announce(phase=Phase.FAILED, why=str(error), seconds_left=None)
        else:
            self._post(messages.Broken(error))

    def _aside(self, begin: Callable[[], Future[Result]]) -> Future[Result]:
        """Let `begin` submit work, during which reading is paused; return the work's future.

        Afterwards, reading continues unless the user has paused it.
        """

        def done(_: Future[Result]) -> None:
            with self._lock:
                self._asides -= 1
            if not self._closed and (self._requested or self.reading.phase not in (Phase.IDLE, Phase.DONE)):
                self._thread.submit(self._run).add_done_callback(self._done)

        with self._lock:
            self._asides += 1
        future = begin()
        future.add_done_callback(done)
        return future

    def _want(self, paths: Iterable[Path]) -> None:
        with self._lock:
            self._requested += [path for path in paths if path not in self._requested]

    # Code that runs in the thread

    def _remove(self, path: bytes, device: Device) -> Removed:
        from device_app.ahead.reading import alone
        from device_app.commands import knowledge

        with alone(device.paths.add_lock):
            removed = knowledge.remove(device, path)
        here = Path(os.fsdecode(path))
        with self._lock:
            self._requested = [path for path in self._requested if not path.is_relative_to(here)]
        self._announce(questions=())  # they may be about the removed files
        return removed

    def _run(self, device: Device, *, everything: bool = False) -> None:
        """Read all queued paths, and with `everything` the remembered folders too, until the run is stopped."""
        from device_app.ahead.reading import go_on

        try:
            if everything:
                self._want(Path(os.fsdecode(path)) for path in device.knowledge.folders())
            while paths := tuple(self._requested):
                go_on(self._is_stopped)
                self._run_over.read(device, paths)
                with self._lock:
                    self._requested = [path for path in self._requested if path not in paths]
            if self.reading.phase is not Phase.DONE:  # the queued paths were removed
                self._announce(phase=Phase.IDLE)
        except GaveWay:
            if self._paused.is_set():
                self._announce(phase=Phase.PAUSED, path="", seconds_left=None)
        except WeightsMissing:
            self._announce(phase=Phase.WAITING, why="the models are not downloaded yet")
        except JackdawError as error:
            self._announce(phase=Phase.FAILED, why=str(error), seconds_left=None)

    def _is_stopped(self) -> bool:
        return self._paused.is_set() or self._asides > 0

    def _announce(self, only: Collection[Phase] = (), /, **news: Any) -> None:
        """Update the progress in `reading` and post it; with phases in `only`, do so only during these phases."""
        with self._lock:
            if only and self.reading.phase not in only:
                return
            self.reading = replace(self.reading, **news)
            if not self._closed:
                self._post(messages.Read(self.reading))
