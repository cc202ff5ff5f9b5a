"""How the caches stand at one moment, and what the process that works ahead does: read from what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from device_app.cache.outlook import Ahead
    from device_app.device import Device
    from device_app.work import Step
    from storage.cache_records import Day, StatesTotals
    from storage.qa_entries import Totals


@dataclass(frozen=True, slots=True)
class Worker:
    """The process that works ahead. `seen_at` is when it last said anything, ISO 8601, UTC."""

    pid: int | None
    state: str
    why: str | None
    paused: bool
    last: Step | None
    seen_at: str | None
    tokens: int
    tokens_per_hour: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything about the caches at one moment, with every one of the last days. Limits are in bytes."""

    days: Sequence[Day]
    answers: Totals
    states: StatesTotals
    qa_limit: int
    kv_limit: int
    threshold: float
    ahead: Ahead
    worker: Worker


def read_overview(device: Device, today: date, days: int) -> Overview:
    """How things stand, with the last so many days. Raises StoreError."""
    from device_app.cache.outlook import ahead
    from storage.cache_records import CacheRecords
    from storage.qa_entries import QAEntries

    cache, records = device.settings.cache, CacheRecords(device.database)
    names = [(today - timedelta(days=back)).isoformat() for back in reversed(range(days))]
    known = {day.day: day for day in records.days(names[0])}
    return Overview(
        days=[known.get(day) or _quiet(day) for day in names],
        answers=QAEntries(device.database).totals(),
        states=records.states_totals(),
        qa_limit=int(cache.qa_mb * 1_000_000),
        kv_limit=int(cache.kv_mb * 1_000_000),
        threshold=cache.threshold,
        ahead=ahead(device),
        worker=read_worker(device),
    )


def _quiet(day: str) -> Day:
    from storage.cache_records import Day

    return Day(day, 0, 0, 0.0, 0, 0)


def read_worker(device: Device) -> Worker:
    """What the process that works ahead does."""
    import time

    from device_app.daemon import read_status, spent_within_the_hour
    from device_app.process import is_running

    paths = device.paths
    running, last = is_running(paths.daemon_lock), read_status(paths)
    tokens = spent_within_the_hour(last, time.monotonic())[0] if last else 0
    return Worker(
        pid=last.pid if last and running else None,
        state=last.state if last and running else "stopped",
        why=last.why if last and running else None,
        paused=paths.daemon_paused.exists(),
        last=last.last if last else None,
        seen_at=_changed_at(paths.daemon_status),
        tokens=tokens,
        tokens_per_hour=device.settings.daemon.tokens_per_hour,
    )


def _changed_at(file: Path) -> str | None:
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat()
    except OSError:
        return None
