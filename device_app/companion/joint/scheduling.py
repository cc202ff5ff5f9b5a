"""Measures one joint answer on the device, and decides when the server should decide the tokens (DRAGON, section 5)."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from device_app.companion.joint.drafting import Drafting
from device_app.companion.joint.joint_request import JointReport
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.measured import Measured
from shared.aggregation.profiler import Transmission

CHANGED = 0.1
"""The relative change of the round trip from which an aggregating server is sent the new value."""


class Scheduling:
    """Decides when the server should aggregate (decide the tokens of) a joint answer, and measures the answer's pace.

    Without `changes`, the deciding side stays the same. `round_trip_s` returns the current round trip in seconds,
    None if unknown; `told_s` is the one in the request to the server, 0 if none.
    """

    def __init__(
        self,
        machine: Aggregator,
        report: JointReport,
        round_trip_s: Callable[[], float | None],
        *,
        changes: bool,
        told_s: float = 0.0,
    ) -> None:
        terms = machine.terms
        self.changes = changes and terms.place != "both" and terms.rule != "greedy"
        self._machine, self._report, self._round_trip_s = machine, report, round_trip_s
        self._measured = Measured("device")
        self._aggregates = machine.aggregates
        self._told_s = told_s
        self._first: tuple[float, int] | None = None
        self._busy_s = 0.0

    def observe_server(self, step_us: int) -> None:
        """Record the server's microseconds per draft; 0 means unknown."""
        if step_us:
            self._measured.others_s = self._report.server_step_s = step_us / 1e6

    def step_s(self, drafts: Drafting | None) -> float:
        """Return this device's seconds per draft, needed by a server that may decide tokens; 0 if none is needed."""
        return drafts.latency(len(self._machine.settled)) if self.changes and drafts else 0.0

    def gives(self, drafts: Drafting | None) -> bool:
        """Return whether the device should let the server decide the tokens from now on."""
        round_trip_s = self._round_trip_s()
        if not self.changes or round_trip_s is None or drafts is None:
            return False
        self._measured.own, self._measured.transmission = drafts.latency, Transmission(round_trip_s, known=True)
        return self._measured.gives(self._machine)

    def news_s(self) -> float | None:
        """Return the round trip, in seconds, to send to a server that decides tokens; None if no message is needed.

        No message is needed if the round trip differs from the one sent last by at most the share `CHANGED`.
        """
        now_s = self._round_trip_s()
        if not self.changes or now_s is None or self._machine.aggregates:
            return None
        if abs(now_s - self._told_s) <= CHANGED * self._told_s:
            return None
        self._told_s = now_s
        return now_s

    def watch(self) -> None:
        """Update the report: changes of the aggregating side, and the seconds per token written together."""
        machine = self._machine
        if self._report.alone:
            return
        self._report.changes += machine.aggregates != self._aggregates
        self._aggregates = machine.aggregates
        count, now = len(machine.settled), time.monotonic() - self._busy_s
        if self._first is None and count:
            self._first = now, count
        elif self._first and count > self._first[1] + self._report.timed:
            self._report.timed = count - self._first[1]
            self._report.token_s = (now - self._first[0]) / self._report.timed

    @contextmanager
    def reader(self) -> Iterator[None]:
        """Leave the time within the block, which the reader takes, out of the measured pace."""
        started = time.monotonic()
        try:
            yield
        finally:
            self._busy_s += time.monotonic() - started
