"""One run of reading files: reports progress, pauses for questions, and suggests questions to a new user.

Uses no queue and no thread: its caller decides which paths are read and when, and stops the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from device_app.tui.knowledge.pace import Pace
from device_app.tui.knowledge.reading import Phase
from shared.errors import JackdawError, StoreLocked

if TYPE_CHECKING:
    from collections.abc import Collection

    from device_app.device import Device
    from device_app.knowledge.ingest import Ingestion, Progress

TELL_S = 0.2
"""The least seconds between two progress reports."""

QUIET_S = 1.0
"""The seconds after a question, answered by any process, in which no file is read."""

_AGAIN_S = 0.5
_QUESTIONS = 3
_ENOUGH = 400
"""The number of passages after which questions are suggested to a new user, even before the end of the run."""


class Tell(Protocol):
    """The type of a callback that updates the progress (`Reading`); with phases given, only during these phases."""

    def __call__(self, only: Collection[Phase] = (), /, **news: Any) -> None: ...


class ReadingRun:
    """One run of reading files. `announce` updates the progress on the screen.

    `is_stopped` returns whether the run has to end; `wait` waits for the given seconds, or until the run has to end.
    `answering` returns whether the app is answering a question. `pause` is called when the person has paused the run
    from a phone's notification.
    """

    def __init__(
        self,
        announce: Tell,
        is_stopped: Callable[[], bool],
        wait: Callable[[float], object],
        answering: Callable[[], bool],
        clock: Callable[[], float],
        pause: Callable[[], object],
    ) -> None:
        self._announce, self._is_stopped, self._wait = announce, is_stopped, wait
        self._answering, self._clock, self._pause = answering, clock, pause
        self._pace = Pace()
        self._told_at = 0.0
        self._counted = 0
        self._offers_questions = False

    def read(self, device: Device, paths: Sequence[Path]) -> None:
        """Read the files and folders at the given paths.

        Raises GaveWay if the run is stopped, and errors of the reading.
        """
        from device_app.ahead.reading import BATCH_PASSAGES, InPieces, go_on
        from device_app.commands import knowledge
        from device_app.system.awake import awake
        from device_app.system.phone_notice import adding, files_read

        knowledge.remember(device, paths)
        ingestion = device.ingestion()
        with self._alone(device), awake(device.paths.awake), adding() as notice:
            device.paths.add_paused.unlink(missing_ok=True)
            self._offers_questions |= not device.knowledge.totals().passages
            self._pace = Pace()
            self._told_at = 0.0
            self._announce(**_BEGUN)

            def heed() -> bool:
                return self._heed(device)

            def progressed(progress: Progress) -> None:
                go_on(heed)
                notice.show(files_read(progress.files, progress.total_files))
                self._follow(device, ingestion, progress)

            ingestion.embedder = InPieces(ingestion.embedder, heed)
            ingestion.on_progress = progressed
            ingestion.batch_passages = BATCH_PASSAGES
            report = knowledge.read(device, ingestion, paths)
            self._offer_questions(device)
        self._announce(
            phase=Phase.DONE,
            path="",
            total_files=self._counted,
            passages=report.passages,
            skipped=len(report.skipped),
            unread=sum(kind.count for kind in report.unread),
            seconds_left=None,
        )

    @contextmanager
    def _alone(self, device: Device) -> Iterator[None]:
        """Acquire the lock for reading files, waiting until no other process holds it. Raises GaveWay."""
        from device_app.ahead.reading import alone, go_on

        with ExitStack() as stack:
            while True:
                go_on(self._is_stopped)
                try:
                    stack.enter_context(alone(device.paths.add_lock))
                    break
                except StoreLocked:
                    self._announce(phase=Phase.WAITING, why="another Jackdaw process is reading files")
                    self._wait(_AGAIN_S)
            yield

    def _heed(self, device: Device) -> bool:
        """Wait while a question is being answered; return whether the run has to stop."""
        if device.paths.add_paused.exists():
            device.paths.add_paused.unlink(missing_ok=True)
            self._pause()
        if not self._is_stopped() and self._is_asked(device):
            self._announce((Phase.READING,), phase=Phase.GIVING_WAY, seconds_left=None)
            while self._is_asked(device) and not self._is_stopped():
                self._wait(TELL_S / 2)
            self._pace = Pace()
            self._announce((Phase.GIVING_WAY,), phase=Phase.READING)
        return self._is_stopped()

    def _is_asked(self, device: Device) -> bool:
        from device_app.system.activity import Activity

        quiet = Activity(device.paths.activity).quiet_s(time.monotonic())
        return self._answering() or (quiet is not None and quiet < QUIET_S)

    def _follow(self, device: Device, ingestion: Ingestion, progress: Progress) -> None:
        now, report, self._counted = self._clock(), ingestion.report, progress.total_files
        if self._offers_questions and report.passages >= _ENOUGH:
            self._offer_questions(device)
        if now < self._told_at + TELL_S:
            return
        self._told_at = now
        self._pace.add(now, progress.done_bytes)
        self._announce(
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
        from device_app.ahead.suggestions import suggest

        self._offers_questions = False
        with suppress(JackdawError):  # the files are read all the same
            self._announce(questions=tuple(suggest(device.assistant, device.options(), _QUESTIONS)))


_BEGUN: dict[str, Any] = {
    "phase": Phase.READING, "path": "", "done_bytes": 0, "total_bytes": 0, "files": 0, "total_files": 0,
    "passages": 0, "skipped": 0, "unread": 0, "seconds_left": None, "why": "",
}  # fmt: skip
