"""What the caches hold, saved and will do, and what a person does to them; reads in a thread of its own.

What needs the models goes through the thread that has them, between questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from device_app.tui.edge.answers import Answers, Weighed
from device_app.tui.edge.thread import DeviceThread

if TYPE_CHECKING:
    from device_app.build import Device
    from device_app.cache.control import Layer
    from device_app.cache.outlook import Ahead
    from device_app.work import Step
    from storage.cache_records import Day, PassageStates, StatesTotals
    from storage.qa_entries import Entry, Totals

SUGGESTIONS = 3


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
    """Everything about the caches at one moment, with every one of the last days.

    Limits are in bytes; `counted` are totals by name, since the start.
    """

    days: Sequence[Day]
    answers: Totals
    states: StatesTotals
    counted: Mapping[str, float]
    qa_limit: int
    kv_limit: int
    threshold: float
    ahead: Ahead
    worker: Worker


@dataclass(frozen=True, slots=True)
class States:
    """What is kept of one passage, its text, and questions answered from it."""

    kept: PassageStates
    text: str
    questions: Sequence[str]


class Caches:
    """The caches of one person. Every method raises StoreError. `working` while work ahead is done here."""

    def __init__(self, environment: Mapping[str, str], answers: Answers) -> None:
        self._environment = environment
        self._thread = DeviceThread("caches", environment)
        self._answers = answers
        self._stop = Event()
        self.working = False

    async def overview(self, today: date, days: int) -> Overview:
        """How things stand, with the last so many days."""
        return await self._thread.run(lambda device: _overview(device, today, days))

    async def worker(self) -> Worker:
        """What the process that works ahead does."""
        return await self._thread.run(_worker)

    async def suggestions(self, today: date, count: int = SUGGESTIONS) -> Sequence[str]:
        """Questions that may be asked and would be answered at once, the likeliest first."""

        def likely(device: Device) -> Sequence[str]:
            from device_app.cache.outlook import likely

            return likely(device, count, today)

        return await self._thread.run(likely)

    async def entries(self, words: str) -> Sequence[int]:
        """Ids of the kept questions that hold all the words, the most used first."""
        return await self._thread.run(lambda device: _records(device).entries(words))

    async def some_entries(self, ids: Sequence[int]) -> Sequence[Entry]:
        """Those of the kept questions that are still there, in that order."""

        def some(device: Device) -> Sequence[Entry]:
            from storage.qa_entries import QAEntries

            found = QAEntries(device.database).get(ids)
            return [found[one] for one in ids if one in found]

        return await self._thread.run(some)

    async def passages(self, words: str) -> Sequence[int]:
        """Passages whose states are kept and that hold all the words, the most used first; 0 are the instructions."""
        return await self._thread.run(lambda device: _records(device).passages(words))

    async def some_states(self, passages: Sequence[int]) -> Sequence[PassageStates]:
        """What is kept of each that still is, in that order."""

        def some(device: Device) -> Sequence[PassageStates]:
            found = _records(device).states(passages)
            return [found[one] for one in passages if one in found]

        return await self._thread.run(some)

    async def states(self, passage: int) -> States | None:
        """What is kept of a passage; None where nothing is any more."""
        return await self._thread.run(lambda device: _states(device, passage))

    async def weigh(self, entry: int) -> Sequence[Weighed]:
        """Kept answers as they would be weighed if the entry's question were asked now, its own first."""
        return await self._answers.lend(partial(_weigh, entry))

    async def limit(self, layer: Layer, megabytes: float) -> int:
        """Set a limit, in force at once; how much was evicted. Raises SettingError, NotWritable."""

        def set_limit(device: Device) -> int:
            from device_app.cache.control import set_limit

            return set_limit(device, self._environment, layer, megabytes)

        evicted = await self._thread.run(set_limit)
        settings = await self._thread.run(lambda device: device.settings)
        self._answers.begin(lambda device: device.go_on_under(settings))  # when the answer at hand is written
        return evicted

    async def clear(self, *, answers: bool, states: bool) -> tuple[int, int]:
        """Drop answers, states or both; how many of each. Raises NotWritable."""

        def clear(device: Device) -> tuple[int, int]:
            from device_app.cache.control import clear

            return clear(device, answers=answers, states=states)

        return await self._thread.run(clear)

    async def pause(self, *, paused: bool) -> None:
        """Let nothing be worked ahead, or let it go on. Raises NotWritable."""

        def pause(device: Device) -> None:
            from device_app.daemon import pause

            pause(device.paths, paused=paused)

        await self._thread.run(pause)

    async def work(self) -> str | None:
        """Work ahead now with the model that is loaded here, until all is done, somebody types or it is stopped.

        Why it ended before all was done. Raises UsageError where another process works ahead, and what the work raises.
        """
        self._stop.clear()
        self.working = True
        try:
            return await asyncio.wrap_future(self._answers.begin(self._work))
        finally:
            self.working = False

    def stop(self) -> None:
        """Stop working ahead, within a batch of the model."""
        self._stop.set()

    def reopen(self) -> None:
        """Read under the settings in force from now on."""
        self._thread.reopen()

    def close(self) -> None:
        """Stop, and close the store."""
        self.stop()
        self._thread.close()

    def _work(self, device: Device) -> str | None:
        from device_app.daemon import Daemon

        daemon = Daemon(device.paths, lambda: nullcontext(device))
        typed_at = self._answers.typed_at
        also = (
            lambda: "it was stopped" if self._stop.is_set() else None,
            lambda: "you asked something" if self._answers.wanted else None,
            lambda: "you are typing" if self._answers.typed_at != typed_at else None,
        )
        return daemon.once(force=True, also=also).stopped


def _records(device: Device) -> Any:
    from storage.cache_records import CacheRecords

    return CacheRecords(device.database)


def _overview(device: Device, today: date, days: int) -> Overview:
    from device_app.cache.outlook import ahead
    from storage.qa_entries import QAEntries

    cache, records = device.settings.cache, _records(device)
    first = datetime.combine(today - timedelta(days=days - 1), time()).astimezone(UTC)
    known = {day.day: day for day in records.days(first.isoformat(timespec="microseconds"))}
    names = [(today - timedelta(days=back)).isoformat() for back in reversed(range(days))]
    return Overview(
        days=[known.get(day) or _quiet(day) for day in names],
        answers=QAEntries(device.database).totals(),
        states=records.states_totals(),
        counted=device.counters.all(),
        qa_limit=int(cache.qa_mb * 1_000_000),
        kv_limit=int(cache.kv_mb * 1_000_000),
        threshold=cache.threshold,
        ahead=ahead(device),
        worker=_worker(device),
    )


def _quiet(day: str) -> Day:
    from storage.cache_records import Day

    return Day(day, 0, 0, 0.0, 0, 0)


def _worker(device: Device) -> Worker:
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


def _changed_at(file: Any) -> str | None:
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat()
    except OSError:
        return None


def _states(device: Device, passage: int) -> States | None:
    records = _records(device)
    kept = records.states([passage]).get(passage)
    if kept is None:
        return None
    found = device.knowledge.passages([passage]).get(passage)
    return States(kept, found.text if found else "", records.served(passage, 5))


def _weigh(entry: int, device: Device) -> Sequence[Weighed]:
    from device_app.cache.qa_bank import asked

    bank = device.qa_bank
    found = bank.entries.get([entry]).get(entry)
    if found is None:
        return []
    query = asked(found)
    vector = device.embedder.embed([query.text])[0]
    similar = bank.consider(query, vector, device.options().recipe)
    return [
        Weighed(one.entry.question, one.similarity, one.serves, one.reason)
        for one in sorted(similar, key=lambda one: one.entry.id != entry)
    ]
