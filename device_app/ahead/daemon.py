"""Working ahead while the device is idle (PerCache §4.1.2): when, for how long, under which budget.

Knows neither what the work is nor what it is good for. Nothing here has to be put in order after a kill: the lock is
the system's, and every item ends checkpointed.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from device_app.ahead.idle import Conditions, Sensors, why_not
from device_app.ahead.watch import Seen, fingerprint
from device_app.ahead.work import Reason, Step, Stop, WorkReport, in_turn, run_once
from device_app.system.activity import Activity
from device_app.system.budget import Ledger, estimated_joules, recent, spend, why_spent
from device_app.system.process import alone, ended_by_signals
from shared.errors import JackdawError, NotWritable
from storage.paths import Paths, to_be_written, write_private

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.settings import Daemon as Rules

TICK_S = 0.5
"""The resident process sleeps so long at a time; a signal is noticed after it."""

TURN_S = 15.0
"""Between two checks whether work may begin."""

LOOK_S, SETTLE_S = 30.0, 3.0
"""Between two looks at the folders, and while something in them still changes."""

LOOK_SHARE = 100
"""Folders are left alone for so many times what the last look took."""

AGAIN_S = 900.0
"""After this, work that had come to its end is asked again, though nothing seems to have changed."""

RETRY_S = 60.0
READING_QUIET_MINUTES = 1 / 6
"""What has changed is read so soon after a question, and on battery power too: it may be asked about next."""

State = Literal["waiting", "reading", "working", "paused", "stopped"]


@dataclass(frozen=True, slots=True)
class Status:
    """What stands in the status file. `spent` are the last hour's tokens and joules, by minutes."""

    pid: int
    state: State
    why: str | None = None
    last: Step | None = None
    spent: Ledger = ()


def read_status(paths: Paths) -> Status | None:
    """What the last process that worked ahead has said; None where there was none or it is unreadable."""
    try:
        return msgspec.json.decode(paths.daemon_status.read_bytes(), type=Status)
    except (OSError, ValueError, msgspec.DecodeError):
        return None


def forget_last(paths: Paths) -> None:
    """Strike what was worked on last: it may name what a person has just had forgotten. Raises NotWritable."""
    status = read_status(paths)
    if status and status.last:
        write_private(paths.daemon_status, msgspec.json.encode(replace(status, last=None)).decode())


def pause(paths: Paths, *, paused: bool) -> None:
    """Let nothing be worked ahead from now on, what is being done within a second; or let it go on.

    Raises NotWritable.
    """
    if paused:
        write_private(paths.daemon_paused, "")
        return
    with to_be_written(f"delete {paths.daemon_paused}"):
        paths.daemon_paused.unlink(missing_ok=True)


@dataclass
class Daemon:
    """The one process that works ahead. `open` gives a fresh device each time, under the settings then in force."""

    paths: Paths
    open: Callable[[], AbstractContextManager[Device]]
    sensors: Sensors = field(default_factory=Sensors)
    on_step: Callable[[Step], None] = lambda _: None
    on_problem: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _ended: bool = False
    _status: Status = field(default_factory=lambda: Status(os.getpid(), "waiting"))
    _seen: Seen = field(default_factory=Seen)
    _turn_at: float = 0.0
    _look_at: float = 0.0
    _done: bytes | None = None
    _again_at: float = 0.0
    _problem: str | None = None

    def run(self) -> None:
        """Stay and work ahead until SIGTERM or SIGINT. Raises UsageError where another process does."""
        with self._alone():
            while not self._ended:
                self._turn()
                self.sleep(TICK_S)

    def once(self, *, force: bool = False, seconds: float = math.inf, also: Sequence[Reason] = ()) -> WorkReport:
        """Work ahead now until there is nothing left, if the device is idle; `force` goes without that.

        Gives way after so many seconds, and for what else is given as reasons to. Raises UsageError where another
        process works ahead, and what the work raises.
        """
        with self._alone(), self.open() as device:
            rules = device.settings.daemon
            mark = self.activity.mark()
            if why := None if force else self._busy(rules):
                return WorkReport((), why, 0.0)
            end = self.clock() + seconds
            over = (lambda: f"{seconds / 60:g} minutes are over" if self.clock() > end else None,)
            return self._work(device, "working", None if force else rules, mark, (*over, *also))

    @property
    def activity(self) -> Activity:
        """When the last question was asked."""
        return Activity(self.paths.activity)

    # The resident process

    def _turn(self) -> None:
        """Look around, and work if it may."""
        now = self.clock()
        if self._paused():
            self._publish("paused")
            self._turn_at = now
        elif now >= min(self._turn_at, self._look_at):
            self._turn_at = now + TURN_S
            try:
                with self.open() as device:
                    self._look(device)
                    self._publish("waiting", self._act(device))
                self._problem = None
            except JackdawError as error:  # a full disk, a model that is not there: told, and tried again
                self._turn_at = self._look_at = now + RETRY_S
                if str(error) != self._problem:
                    self.on_problem(str(error))
                self._problem = str(error)
                self._publish("waiting", self._problem)

    def _look(self, device: Device) -> None:
        """Look at the folders, if it is time."""
        began = self.clock()
        if began < self._look_at:
            return
        self._seen = self._seen.looked(fingerprint([Path(os.fsdecode(path)) for path in device.knowledge.folders()]))
        now = self.clock()
        pause = max(LOOK_S, LOOK_SHARE * (now - began)) if self._seen.settled else SETTLE_S
        self._look_at = now + pause

    def _act(self, device: Device) -> str:
        """Work or read, whichever may be done now; then say what it waits for."""
        rules = device.settings.daemon
        mark = self.activity.mark()
        if not self._seen.settled:
            return "files in your folders are changing"
        why = "all is done"
        if mark != self._done or self._seen.unread or self.clock() >= self._again_at:
            why = self._busy(rules) or self._budget(rules) or ""
            if not why:
                report = self._work(device, "working", rules, mark)
                if report.stopped:
                    return report.stopped
                self._done, self._again_at = mark, self.clock() + AGAIN_S
                return "all is done"
        if self._seen.unread:
            rules = reading_rules(rules)
            if not self._busy(rules) and not self._work(device, "reading", rules, mark).stopped:
                self._done = None
        return why

    # One run of work, resident or not

    def _work(
        self, device: Device, state: State, rules: Rules | None, mark: bytes, also: Sequence[Reason] = ()
    ) -> WorkReport:
        """Work, giving way to questions since the mark and to what else is given as reasons to.

        `rules` where the device has to be idle meanwhile.
        """
        self._publish(state)
        stop = [self._told_to_end, self._asked_since(mark), self._paused, *also]
        with ExitStack() as stack:
            if rules:
                latest = stack.enter_context(self.sensors.watched())
                stop.append(lambda: why_not(latest(), rules))
            if state == "working":
                stop.append(lambda: self._budget(device.settings.daemon))
            work = (device.reading, device.idle_work) if state == "working" else (device.reading,)
            report = run_once(in_turn(*work), Stop(*stop), lambda step: self._finished(device, step))
        if not report.stopped:
            self._seen = self._seen.as_read()
        return report

    def _finished(self, device: Device, step: Step) -> None:
        """Account for a step, tell the status file and whoever listens."""
        spent = self._status.spent
        if step.tokens:
            parameters = device.begin_loading().result().engine.info.parameters
            joules = estimated_joules(parameters, step.tokens, device.settings.daemon.joules_per_gflop)
            spent = spend(spent, self.clock(), step.tokens, joules)
        self._save(replace(self._status, last=step, spent=spent))
        self.on_step(step)

    # Reasons to wait or to give way

    def _busy(self, rules: Rules) -> str | None:
        quiet = Conditions(quiet_s=self.activity.quiet_s(self.clock()))
        return self._paused() or why_not(quiet, rules) or why_not(self.sensors.read(), rules)

    def _budget(self, rules: Rules) -> str | None:
        return why_spent(self._status.spent, self.clock(), rules)

    def _paused(self) -> str | None:
        return "it is paused" if self.paths.daemon_paused.exists() else None

    def _told_to_end(self) -> str | None:
        return "it was told to end" if self._ended else None

    def _asked_since(self, mark: bytes) -> Callable[[], str | None]:
        return lambda: "a question came" if self.activity.changed(mark) else None

    # Edges

    def _publish(self, state: State, why: str | None = None) -> None:
        if (state, why) != (self._status.state, self._status.why):
            written = read_status(self.paths)
            last = self._status.last if written is None or written.last else None  # struck meanwhile
            self._save(replace(self._status, state=state, why=why, last=last))

    def _save(self, status: Status) -> None:
        self._status = status
        with suppress(NotWritable):  # it is there to be looked at; the work does not need it
            write_private(self.paths.daemon_status, msgspec.json.encode(status).decode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the one process that works ahead; begin and end the status file."""
        holder = read_status(self.paths)
        with ended_by_signals(self._end), alone(self.paths.daemon_lock, holder.pid if holder else None):
            before = read_status(self.paths)
            if before:
                spent = recent(before.spent, self.clock())
                self._status = replace(self._status, last=before.last, spent=spent)
            self._save(self._status)
            yield
            self._publish("stopped")

    def _end(self) -> None:
        self._ended = True


def reading_rules(rules: Rules) -> Rules:
    """Under which changed files are read: soon, and on battery power as well while there is enough."""
    return replace(rules, quiet_minutes=min(rules.quiet_minutes, READING_QUIET_MINUTES), mains=False)


def spent_within_the_hour(status: Status, now: float) -> tuple[int, float]:
    """Tokens and joules."""
    spent = recent(status.spent, now)
    return sum(entry.tokens for entry in spent), sum(entry.joules for entry in spent)
