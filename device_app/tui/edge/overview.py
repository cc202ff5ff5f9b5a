"""Reads the state of the caches at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from device_app.ahead.outlook import Ahead
    from device_app.commands.work import Worker
    from device_app.device import Device
    from storage.cache_records import Day, StatesTotals
    from storage.qa_entries import Totals


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of the caches at one moment, with an entry for each of the last days, today the last.

    `answers` are the totals of kept answers, `states` those of kept attention states; `qa_limit` and `kv_limit` are
    their limits in bytes. `threshold` is the least similarity of two questions that lets one use the other's kept
    answer. `ahead` is the work left to do ahead of questions, `passages` the number of passages in the knowledge.
    """

    days: Sequence[Day]
    answers: Totals
    states: StatesTotals
    qa_limit: int
    kv_limit: int
    threshold: float
    ahead: Ahead
    worker: Worker
    passages: int


def read_overview(device: Device, today: date, days: int) -> Overview:
    """Return the state of the caches, with the last `days` days up to `today`. Raises StoreError."""
    from device_app.ahead.outlook import ahead
    from device_app.commands.work import worker
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
        kv_limit=device.qkv_tree.limit,
        threshold=cache.threshold,
        ahead=ahead(device),
        worker=worker(device.paths, device.settings.daemon),
        passages=device.knowledge.totals().passages,
    )


def _quiet(day: str) -> Day:
    from storage.cache_records import Day

    return Day(day, 0, 0, 0.0, 0, 0)
