"""The daemon, which prepares for later questions while the device is idle (PerCache §4.1.2): its schedule and budgets.

Independent of the kind of work. A killed daemon needs no recovery: the system releases its lock, and every item of work
ends with a checkpoint.
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

from device_app.ahead.idle import why_not
from device_app.ahead.phone import phone_sources
from device_app.ahead.scans import scans
from device_app.ahead.watch import Seen, fingerprint
from device_app.ahead.work import Reason, Step, Stop, WorkReport, in_turn, run_once
from device_app.system.activity import Activity
from device_app.system.awake import clear_up
from device_app.system.budget import Ledger, estimated_joules, read_ledger, recent, spend, why_spent
from device_app.system.conditions import Conditions, Sensors
from device_app.system.process import alone, ended_by_signals
from shared.errors import JackdawError, NotWritable
from storage.paths import Paths
from storage.private import to_be_written, write_private

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.settings import Daemon as Rules

TICK_S = 0.5
"""Seconds that the resident process sleeps at a time; it handles signals after each sleep."""

TURN_S = 15.0
"""Seconds between two checks whether work may begin."""

LOOK_S, SETTLE_S = 30.0, 3.0
"""Seconds between two checks of the folders: the usual number, and the number while files are still changing."""

LOOK_SHARE = 100
"""After a check of the folders, at least this many times the check's duration passes before the next one."""

AGAIN_S = 900.0
"""Seconds after which finished work is run again, even if no change was seen."""

RETRY_S = 60.0
READING_QUIET_MINUTES = 1 / 6
"""Minutes between a question and reading changed files, on battery too: the next question may be about them."""

State = Literal["waiting", "reading", "working", "paused", "stopped"]


@dataclass(frozen=True, slots=True)
class Status:
    """The contents of the status file. `why` is what the process waits for, or the error that stopped it; `last` is the
    last finished step; `spent` lists the last hour's tokens and joules by the minute.
    """

    pid: int
    state: State
    why: str | None = None
    last: Step | None = None
    spent: Ledger = ()


def read_status(paths: Paths) -> Status | None:
    """Return the last status that a background process wrote; None if there is none or it is unreadable."""
    try:
        return msgspec.json.decode(paths.daemon_status.read_bytes(), type=Status)
    except (OSError, ValueError, msgspec.DecodeError):
        return None


def forget_last(paths: Paths) -> None:
    """Delete the last step from the status file, as it may name what the person just deleted. Raises NotWritable."""
    status = read_status(paths)
    if status and status.last:
        write_private(paths.daemon_status, msgspec.json.encode(replace(status, last=None)).decode())


def pause(paths: Paths, *, paused: bool) -> None:
    """Pause background work, which stops within a second, or resume it. Raises NotWritable."""
    if paused:
        write_private(paths.daemon_paused, "")
        return
    with to_be_written(f"delete {paths.daemon_paused}"):
        paths.daemon_paused.unlink(missing_ok=True)


@dataclass
class Daemon:
    """The background process. `open` returns a new device each time, with the current settings.

    `on_step` gets each finished step, `on_problem` an error's message unless it repeats the last one, `on_state` the
    state.
    """

    paths: Paths
    open: Callable[[], AbstractContextManager[Device]]
    sensors: Sensors = field(default_factory=Sensors)
    on_step: Callable[[Step], None] = lambda _: None
    on_problem: Callable[[str], None] = lambda _: None
    on_state: Callable[[State], None] = lambda _: None
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
        """Run until SIGTERM or SIGINT, working whenever that is allowed. Raises UsageError if another daemon runs."""
        with self._alone():
            while not self._ended:
                self._turn()
                self.sleep(TICK_S)

    def once(self, *, force: bool = False, seconds: float = math.inf, also: Sequence[Reason] = ()) -> WorkReport:
        """Work now until nothing is left, if the device is idle; with `force`, even if it is not.

        If the device is not idle, the report has no steps and says why. Work stops after `seconds`, and for the reasons
        in `also`. Raises UsageError if another process does the work, and the errors of the work.
        """
        with self._alone(), self.open() as device:
            rules = device.settings.daemon
            mark = self.activity.mark()
            if why := None if force else self._busy(rules):
                return WorkReport((), why, 0.0)
            end = self.clock() + seconds
            over = (lambda: f"the time limit of {seconds / 60:g} minutes was reached" if self.clock() > end else None,)
            return self._work(device, "working", None if force else rules, mark, (*over, *also))

    @property
    def activity(self) -> Activity:
        """The record of when the last question was asked."""
        return Activity(self.paths.activity)

    # The resident process

    def _turn(self) -> None:
        """Check the folders for changes, then read changed files or fill the caches if that is allowed now."""
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
            except JackdawError as error:  # a full disk, a missing model: report and retry
                self._turn_at = self._look_at = now + RETRY_S
                if str(error) != self._problem:
                    self.on_problem(str(error))
                self._problem = str(error)
                self._publish("waiting", self._problem)

    def _look(self, device: Device) -> None:
        """Check the folders for changes, if the next check is due."""
        began = self.clock()
        if began < self._look_at:
            return
        self._seen = self._seen.looked(fingerprint([Path(os.fsdecode(path)) for path in device.knowledge.folders()]))
        now = self.clock()
        pause = max(LOOK_S, LOOK_SHARE * (now - began)) if self._seen.settled else SETTLE_S
        self._look_at = now + pause

    def _act(self, device: Device) -> str:
        """Fill the caches or read changed files, whichever is allowed now; return what the daemon then waits for."""
        rules = device.settings.daemon
        mark = self.activity.mark()
        if not self._seen.settled:
            return "files in your folders are changing"
        why = "all work is done"
        if mark != self._done or self._seen.unread or self.clock() >= self._again_at:
            why = self._busy(rules) or self._budget(rules) or ""
            if not why:
                report = self._work(device, "working", rules, mark)
                if report.stopped:
                    return report.stopped
                self._done, self._again_at = mark, self.clock() + AGAIN_S
                return "all work is done"
        if self._seen.unread:
            rules = reading_rules(rules)
            if not self._busy(rules) and not self._work(device, "reading", rules, mark).stopped:
                self._done = None
        return why

    # One run of work, resident or not

    def _work(
        self, device: Device, state: State, rules: Rules | None, mark: bytes, also: Sequence[Reason] = ()
    ) -> WorkReport:
        """Read changed files or fill the caches, as `state` says.

        Stop when a question is asked that `mark`, the record of the last one, does not include, and for the reasons in
        `also`; with `rules`, also when the device is no longer idle.
        """
        self._publish(state)
        stop = [self._told_to_end, self._asked_since(mark), self._paused, *also]
        with ExitStack() as stack:
            if rules:
                latest = stack.enter_context(self.sensors.watched())
                stop.append(lambda: why_not(latest(), rules))
            if state == "working":
                stop.append(lambda: self._budget(device.settings.daemon))
            whole = (device.reading, phone_sources(device), scans(device), device.idle_work)
            work = whole if state == "working" else (device.reading,)
            report = run_once(in_turn(*work), Stop(*stop), lambda step: self._finished(device, step))
        if not report.stopped:
            self._seen = self._seen.as_read()
        return report

    def _finished(self, device: Device, step: Step) -> None:
        """Add the step's cost to the totals, write the status file, and call `on_step`."""
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
        return why_spent(all_spent(self.paths, self._status), self.clock(), rules)

    def _paused(self) -> str | None:
        return "background work is paused" if self.paths.daemon_paused.exists() else None

    def _told_to_end(self) -> str | None:
        return "the daemon was told to stop" if self._ended else None

    def _asked_since(self, mark: bytes) -> Callable[[], str | None]:
        return lambda: "a question was asked" if self.activity.changed(mark) else None

    # Edges

    def _publish(self, state: State, why: str | None = None) -> None:
        self.on_state(state)
        if (state, why) != (self._status.state, self._status.why):
            written = read_status(self.paths)
            last = self._status.last if written is None or written.last else None  # deleted meanwhile
            self._save(replace(self._status, state=state, why=why, last=last))

    def _save(self, status: Status) -> None:
        self._status = status
        with suppress(NotWritable):  # the file is only shown; the work does not need it
            write_private(self.paths.daemon_status, msgspec.json.encode(status).decode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the background process, and write its status at the beginning and at the end."""
        holder = read_status(self.paths)
        with ended_by_signals(self._end), alone(self.paths.daemon_lock, holder.pid if holder else None):
            clear_up(self.paths.awake)
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
    """Return the idle rules for reading changed files: soon after a question, and on battery if its charge is high."""
    return replace(rules, quiet_minutes=min(rules.quiet_minutes, READING_QUIET_MINUTES), mains=False)


def all_spent(paths: Paths, status: Status | None) -> Ledger:
    """Return the records of tokens and joules spent on background work and on reading while the user typed."""
    return (*read_ledger(paths.typing_spent), *(status.spent if status else ()))


def spent_within_the_hour(ledger: Ledger, now: float) -> tuple[int, float]:
    """Return the tokens and joules spent within the last hour."""
    spent = recent(ledger, now)
    return sum(entry.tokens for entry in spent), sum(entry.joules for entry in spent)
