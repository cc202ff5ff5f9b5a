"""Reading files, in a thread of its own: runs the ingestion, gives way to questions, pauses, goes on, forgets.

What was finished is stored whatever happens; a run that was stopped is taken up by the next one over the same paths.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from device_app.tui import messages
from device_app.tui.edge.thread import READING, DeviceThread
from device_app.tui.knowledge.reading import Phase, Reading
from shared.errors import GaveWay, JackdawError, StoreLocked, WeightsMissing

if TYPE_CHECKING:
    from device_app.build import Device
    from device_app.knowledge.ingest import Ingestion, Progress
    from device_app.library import Removed

TELL_S = 0.2
"""Between two pieces of news, at the least."""

QUIET_S = 1.0
"""After a question, whichever process answered it, nothing is read for so long."""

WINDOW_S = 30.0
"""The time left is told by how much was read within so many seconds, the latest."""

_AGAIN_S = 0.5
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
        self._thread = DeviceThread("reading", environment, nice=READING)
        self._post = post
        self._answering = answering
        self._clock = clock
        self._lock = threading.Lock()
        self._wanted: list[Path] = []
        self._stop = threading.Event()
        self._closed = False
        self._pace = Pace()
        self._told_at = 0.0
        self._found = 0
        self._offers_questions = False
        self.reading = Reading()

    def read(self, paths: Sequence[Path]) -> None:
        """Read these, after what is being read."""
        with self._lock:
            self._wanted += [path for path in paths if path not in self._wanted]
        self.resume()

    def update(self) -> None:
        """Bring all remembered folders up to date."""
        self._submit(self._want_all)

    def pause(self) -> None:
        """Stop within a piece; what was finished stays, and `resume` goes on from there."""
        self._stop.set()
        if self.reading.phase is Phase.WAITING:
            self._tell(phase=Phase.PAUSED, why="")

    def resume(self) -> None:
        """Read what is wanted still."""
        self._stop.clear()
        self._submit(self._run)

    async def remove(self, path: bytes) -> Removed:
        """Forget a file or folder; reading stops for it and then goes on. Raises StoreError, StoreLocked."""
        going = self.reading.phase in (Phase.READING, Phase.GIVING_WAY, Phase.WAITING)
        self._stop.set()
        try:
            return await self._thread.run(lambda device: self._remove(device, path))
        finally:
            if going:
                self.resume()

    def close(self) -> None:
        """Stop, and close the store."""
        self._closed = True
        self._stop.set()
        self._thread.close()

    # In the thread

    def _submit(self, work: Callable[[Device], None]) -> None:
        self._thread.submit(work).add_done_callback(self._done)

    def _done(self, future: Future[None]) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            self._post(messages.Broken(error))

    def _want_all(self, device: Device) -> None:
        try:
            folders = [Path(os.fsdecode(path)) for path in device.knowledge.folders()]
        except JackdawError as error:
            self._tell(phase=Phase.FAILED, why=str(error))
            return
        self.read(folders)

    def _remove(self, device: Device, path: bytes) -> Removed:
        from device_app import library

        with device.alone(None):
            removed = library.remove(device, path)
        here = Path(os.fsdecode(path))
        with self._lock:
            self._wanted = [one for one in self._wanted if not one.is_relative_to(here)]
        return removed

    def _run(self, device: Device) -> None:
        """Read all that is wanted, unless somebody stops it."""
        try:
            while not self._stop.is_set() and (paths := tuple(self._wanted)):
                self._read(device, paths)
                with self._lock:
                    self._wanted = [path for path in self._wanted if path not in paths]
        except GaveWay:
            self._tell(phase=Phase.PAUSED, path="", seconds_left=None)
        except WeightsMissing:
            self._tell(phase=Phase.WAITING, why="the models are not here yet")
        except JackdawError as error:
            self._tell(phase=Phase.FAILED, why=str(error), seconds_left=None)

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
        while True:
            if self._stop.is_set():
                raise GaveWay("Reading was stopped.")
            held = device.alone(None)
            try:
                held.__enter__()
            except StoreLocked:
                self._tell(phase=Phase.WAITING, why="another process of Jackdaw is reading files")
                self._stop.wait(_AGAIN_S)
            else:
                break
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    def _heed(self, device: Device) -> bool:
        """Wait while a question is being answered; whether to stop."""
        if self._is_asked(device):
            before = self.reading.phase
            self._tell(phase=Phase.GIVING_WAY, seconds_left=None)
            while self._is_asked(device) and not self._stop.wait(TELL_S / 2):
                pass
            self._pace = Pace()
            self._tell(phase=before)
        return self._stop.is_set()

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

    def _tell(self, **news: Any) -> None:
        self.reading = replace(self.reading, **news)
        if not self._closed:
            self._post(messages.Read(self.reading))


_BEGUN: dict[str, Any] = {
    "phase": Phase.READING, "path": "", "done_bytes": 0, "total_bytes": 0, "files": 0, "total_files": 0,
    "passages": 0, "skipped": 0, "seconds_left": None, "why": "",
}  # fmt: skip


class Pace:
    """How fast bytes are read: from the oldest to the latest note within the window."""

    def __init__(self) -> None:
        self._notes: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> None:
        """Note how many bytes are done."""
        self._notes.append((now, done))
        while self._notes[0][0] < now - WINDOW_S:
            self._notes.popleft()

    def seconds_left(self, total: int) -> float | None:
        """For the rest of so many bytes; None while too little was seen."""
        if not self._notes:
            return None
        (first, from_bytes), (last, done) = self._notes[0], self._notes[-1]
        if last - first < 1.0 or done <= from_bytes:
            return None
        return (total - done) / (done - from_bytes) * (last - first)
