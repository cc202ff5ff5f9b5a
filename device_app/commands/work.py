"""Reads the state of the background process (daemon) from the files that the process writes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from device_app.ahead.daemon import all_spent, read_status, spent_within_the_hour
from device_app.system.process import is_running

if TYPE_CHECKING:
    from pathlib import Path

    from device_app.ahead.work import Step
    from device_app.settings import Daemon as Rules
    from storage.paths import Paths


@dataclass(frozen=True, slots=True)
class Worker:
    """The state of the daemon, and the tokens and joules that it spent within the last hour.

    `pid` is None if the daemon does not run or has written no status. `why` is what it waits for, `last` its last
    finished step. `seen_at` is the time of its last status, ISO 8601 in UTC.
    """

    running: bool
    pid: int | None
    state: str
    why: str | None
    paused: bool
    last: Step | None
    seen_at: str | None
    tokens: int
    tokens_per_hour: int
    joules: float
    joules_per_hour: float


def worker(paths: Paths, rules: Rules) -> Worker:
    """Return the daemon's current state and its last step. Raises NotWritable."""
    running, status = is_running(paths.daemon_lock), read_status(paths)
    tokens, joules = spent_within_the_hour(all_spent(paths, status), time.monotonic())
    pid, state, why = (status.pid, status.state, status.why) if status and running else (None, "stopped", None)
    return Worker(
        running=running,
        pid=pid,
        state=state,
        why=why,
        paused=paths.daemon_paused.exists(),
        last=status.last if status else None,
        seen_at=_changed_at(paths.daemon_status),
        tokens=tokens,
        tokens_per_hour=rules.tokens_per_hour,
        joules=joules,
        joules_per_hour=rules.joules_per_hour,
    )


def _changed_at(file: Path) -> str | None:
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat()
    except OSError:
        return None
