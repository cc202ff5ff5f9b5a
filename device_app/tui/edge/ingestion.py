"""Reading files, in a thread of its own: runs the ingestion, gives way to questions, pauses, goes on, forgets.

What was finished is stored whatever happens; a run that was stopped is taken up by the next one over the same paths.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from device_app.tui import messages
from device_app.tui.edge.thread import DeviceThread
from device_app.tui.knowledge.pace import Pace
from device_app.tui.knowledge.reading import Phase, Reading
from shared.errors import GaveWay, JackdawError, StoreLocked, WeightsMissing

if TYPE_CHECKING:
    from device_app.build import Device
    from device_app.knowledge.ingest import Ingestion, Progress
    from device_app.library import Removed

Result = TypeVar("Result")

TELL_S = 0.2
"""Between two pieces of news, at the least."""

QUIET_S = 1.0
"""After a question, whichever process answered it, nothing is read for so long."""

_AGAIN_S = 0.5
_NICE = 10
_QUESTIONS = 3
_ENOUGH = 400
"""Passages after which a newcomer is offered questions, though there is more to read."""


class Reader:
    """Whoever reads. `post` takes messages from any thread; `answering` says whether the app is answering now."""

    def __init__(
        self,
        environment: Mapping[str, str],
        post: Callable[[Any], object],
        answering: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thread = DeviceThread("reading", environment)
        self._post = post
        self._answering = answering
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: list[Path] = []
        self._paused = threading.Event()
        self._asides = 0
        self._closed = False
        self._pace = Pace()
        self._told_at = 0.0
        self._found = 0
        self._offers_questions = False
        self.reading = Reading()

    def read(self, paths: Sequence[Path]) -> None:
        """Read these, after what is being read."""
        self._want(paths)
        self.resume()

    def update(self) -> None:
        """Bring all remembered folders up to date."""
        self._begin(partial(self._run, everything=True))

    def pause(self) -> None:
        """Stop as soon as the file at hand lets it; what was finished stays, and `resume` goes on from there."""
        self._paused.set()
        self._tell((Phase.WAITING,), phase=Phase.PAUSED, why="")
        self._tell((Phase.READING, Phase.GIVING_WAY), phase=Phase.PAUSING, seconds_left=None)

    def resume(self) -> None:
        """Read what is wanted still."""
        self._begin(self._run)

    async def remove(self, path: bytes) -> Removed:
        """Forget a file or folder; reading stops for it and then goes on. Raises StoreError, StoreLocked."""
        return await asyncio.wrap_future(self._aside(lambda: self._thread.submit(partial(self._remove, path))))

    def reopen(self) -> None:
        """Read under the settings in force from now on."""
        self._aside(self._thread.reopen)

    def close(self) -> None:
        """Stop, and close the store."""
        self._closed = True
        self._paused.set()
        self._thread.close()

    def _begin(self, work: Callable[[Device], None]) -> None:
        self._paused.clear()
        self._tell((Phase.PAUSING,), phase=Phase.READING)
        self._thread.submit(work).add_done_callback(self._done)

    def _done(self, future: Future[None]) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            self._post(messages.Broken(error))

    def _aside(self, begin: Callable[[], Future[Result]]) -> Future[Result]:
        """Begin work that reading stops for; reading goes on behind it unless the person has paused it."""
        going = self.reading.goes_on

        def done(_: Future[Result]) -> None:
            with self._lock:
                self._asides -= 1
            if going and not self._paused.is_set():
                self._thread.submit(self._run).add_done_callback(self._done)

        with self._lock:
            self._asides += 1
        future = begin()
        future.add_done_callback(done)
        return future

    def _want(self, paths: Iterable[Path]) -> None:
        with self._lock:
            self._wanted += [path for path in paths if path not in self._wanted]

    # In the thread

    def _remove(self, path: bytes, device: Device) -> Removed:
        from device_app import library

        with device.alone(None):
            removed = library.remove(device, path)
        here = Path(os.fsdecode(path))
        with self._lock:
            self._wanted = [one for one in self._wanted if not one.is_relative_to(here)]
        self._tell(questions=())  # they may be about what is forgotten
        return removed

    def _run(self, device: Device, *, everything: bool = False) -> None:
        """Read all that is wanted, the remembered folders as well for `everything`, unless somebody stops it."""
        from device_app.reading import go_on

        _be_nice()
        try:
            if everything:
                self._want(Path(os.fsdecode(path)) for path in device.knowledge.folders())
            while paths := tuple(self._wanted):
                go_on(self._is_stopped)
                self._read(device, paths)
                with self._lock:
                    self._wanted = [path for path in self._wanted if path not in paths]
            if self.reading.phase is not Phase.DONE:  # what was to be read was removed
                self._tell(phase=Phase.IDLE)
        except GaveWay:
            if self._paused.is_set():
                self._tell(phase=Phase.PAUSED, path="", seconds_left=None)
        except WeightsMissing:
            self._tell(phase=Phase.WAITING, why="the models are not here yet")
        except JackdawError as error:
            self._tell(phase=Phase.FAILED, why=str(error), seconds_left=None)

    def _is_stopped(self) -> bool:
        return self._paused.is_set() or self._asides > 0

    def _read(self, device: Device, paths: Sequence[Path]) -> None:
        from device_app import library
        from device_app.reading import BATCH_PASSAGES, InPieces, go_on

        library.remember(device, paths)
        ingestion = device.ingestion()
        with self._alone(device):
            self._offers_questions |= not device.knowledge.totals().passages
            self._pace = Pace()
            self._told_at = 0.0
            self._tell(**_BEGUN)

            def heed() -> bool:
                return self._heed(device)

            def progressed(progress: Progress) -> None:
                go_on(heed)
                self._follow(device, ingestion, progress)

            ingestion.embedder = InPieces(ingestion.embedder, heed)
            ingestion.on_progress = progressed
            ingestion.batch_passages = BATCH_PASSAGES
            report = library.read(device, ingestion, paths)
            self._offer_questions(device)
        self._tell(
            phase=Phase.DONE,
            path="",
            total_files=self._found,
            passages=report.passages,
            skipped=len(report.skipped),
            seconds_left=None,
        )

    @contextmanager
    def _alone(self, device: Device) -> Iterator[None]:
        """Hold the lock of the one process that reads, as soon as it is free. Raises GaveWay."""
        from device_app.reading import go_on

        with ExitStack() as stack:
            while True:
                go_on(self._is_stopped)
                try:
                    stack.enter_context(device.alone(None))
                    break
                except StoreLocked:
                    self._tell(phase=Phase.WAITING, why="another process of Jackdaw is reading files")
                    self._paused.wait(_AGAIN_S)
            yield

    def _heed(self, device: Device) -> bool:
        """Wait while a question is being answered; whether to stop."""
        if self._is_asked(device):
            before = self.reading.phase
            self._tell((before,), phase=Phase.GIVING_WAY, seconds_left=None)
            while self._is_asked(device) and not self._is_stopped():
                self._paused.wait(TELL_S / 2)
            self._pace = Pace()
            self._tell((Phase.GIVING_WAY,), phase=before)
        return self._is_stopped()

    def _is_asked(self, device: Device) -> bool:
        from device_app.activity import Activity

        quiet = Activity(device.paths.activity).quiet_s(time.monotonic())
        return self._answering() or (quiet is not None and quiet < QUIET_S)

    def _follow(self, device: Device, ingestion: Ingestion, progress: Progress) -> None:
        now, report, self._found = self._clock(), ingestion.report, progress.total_files
        if self._offers_questions and report.passages >= _ENOUGH:
            self._offer_questions(device)
        if now < self._told_at + TELL_S:
            return
        self._told_at = now
        self._pace.add(now, progress.done_bytes)
        self._tell(
            path=progress.path,
            done_bytes=progress.done_bytes,
            total_bytes=progress.total_bytes,
            files=progress.files,
            total_files=progress.total_files,
            passages=report.passages,
            skipped=len(report.skipped),
            seconds_left=self._pace.seconds_left(progress.total_bytes),
        )

    def _offer_questions(self, device: Device) -> None:
        if not self._offers_questions:
            return
        from device_app.cache.prediction import Prediction
        from device_app.cache.suggestions import suggest

        self._offers_questions = False
        with suppress(JackdawError):  # what was read stands all the same
            prediction = Prediction(device.assistant, device.options(), device.qa_bank, device.counters, _QUESTIONS)
            self._tell(questions=tuple(suggest(prediction, _QUESTIONS)))

    def _tell(self, only: Collection[Phase] = (), /, **news: Any) -> None:
        """Tell what is new, or with phases given, only where one of them holds: another thread may have gone on."""
        with self._lock:
            if only and self.reading.phase not in only:
                return
            self.reading = replace(self.reading, **news)
            if not self._closed:
                self._post(messages.Read(self.reading))


_BEGUN: dict[str, Any] = {
    "phase": Phase.READING, "path": "", "done_bytes": 0, "total_bytes": 0, "files": 0, "total_files": 0,
    "passages": 0, "skipped": 0, "seconds_left": None, "why": "",
}  # fmt: skip


def _be_nice() -> None:
    """Let the screen and the answers go first. Threads that this one begins, the embedder's, do as it does."""
    if sys.platform in ("linux", "android"):  # elsewhere a thread has no niceness of its own
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
