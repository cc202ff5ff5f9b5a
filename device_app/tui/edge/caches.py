"""Reads and controls the caches, in a thread of its own.

Work that needs the models runs between questions, in the thread that has the models loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

from device_app.tui.edge.answers import Answers, Weighed
from device_app.tui.edge.overview import Overview, read_overview
from device_app.tui.edge.thread import DeviceThread

if TYPE_CHECKING:
    from device_app.commands.caches import Layer
    from device_app.commands.work import Worker
    from device_app.device import Device
    from storage.cache_records import PassageStates
    from storage.qa_entries import Entry

SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class States:
    """The kept attention states of one passage, the passage's text, and the questions answered from it."""

    kept: PassageStates
    text: str
    questions: Sequence[str]


class Caches:
    """The caches of one person.

    Every method raises StoreError. `working` is true while this process fills the caches.
    """

    def __init__(self, environment: Mapping[str, str], open_device: Callable[[], Device], answers: Answers) -> None:
        self._environment = environment
        self._thread = DeviceThread("caches", open_device)
        self._answers = answers
        self._stop = Event()
        self.working = False

    async def overview(self, today: date, days: int) -> Overview:
        """Return the state of the caches, with statistics of the last `days` days."""
        return await self._thread.run(lambda device: read_overview(device, today, days))

    async def worker(self) -> Worker:
        """Return the state of the background process that fills the caches (the daemon)."""

        def read(device: Device) -> Worker:
            from device_app.commands.work import worker

            return worker(device.paths, device.settings.daemon)

        return await self._thread.run(read)

    async def suggestions(self, now: datetime) -> Sequence[str]:
        """Return questions that are answered at once: predicted ones, the likeliest first, then questions for rules.

        `now` has the person's time zone.
        """

        def suggested(device: Device) -> Sequence[str]:
            from device_app.ahead.outlook import suggested

            return suggested(device, SUGGESTIONS, now)

        return await self._thread.run(suggested)

    async def entries(self, words: str) -> Sequence[int]:
        """Return the ids of the kept questions that contain all the words, the most used first."""
        return await self._thread.run(lambda device: _records(device).entries(words))

    async def some_entries(self, ids: Sequence[int]) -> Sequence[Entry]:
        """Return the kept questions with these ids, in that order; ids that no longer exist are left out."""

        def some(device: Device) -> Sequence[Entry]:
            from storage.qa_entries import QAEntries

            by_id = QAEntries(device.database).get(ids)
            return [by_id[identity] for identity in ids if identity in by_id]

        return await self._thread.run(some)

    async def passages(self, words: str) -> Sequence[int]:
        """Return the ids of the passages with kept attention states that contain all the words, the most used first.

        The id 0 stands for the instructions in every prompt.
        """
        return await self._thread.run(lambda device: _records(device).passages(words))

    async def some_states(self, passages: Sequence[int]) -> Sequence[PassageStates]:
        """Return the kept attention states of the given passages, in that order; passages that no longer exist are left
        out.
        """

        def some(device: Device) -> Sequence[PassageStates]:
            by_id = _records(device).states(passages)
            return [by_id[identity] for identity in passages if identity in by_id]

        return await self._thread.run(some)

    async def states(self, passage: int) -> States | None:
        """Return a passage's kept attention states; None if they no longer exist."""
        return await self._thread.run(lambda device: _states(device, passage))

    async def weigh(self, entry: int) -> Sequence[Weighed]:
        """Return the kept answers that would be compared if the question of an entry were asked now, the entry's own
        first.

        Return [] if the entry was deleted.
        """
        return await self._answers.lend(partial(_weigh, entry))

    async def limit(self, layer: Layer, megabytes: float) -> int:
        """Set the limit of one cache, effective at once; return how many of its entries were evicted.

        Raises SettingError, NotWritable.
        """

        def set_limit(device: Device) -> int:
            from device_app.commands.caches import set_limit

            return set_limit(device, self._environment, layer, megabytes)

        evicted = await self._thread.run(set_limit)
        cache = await self._thread.run(lambda device: device.settings.cache)
        self._answers.begin(lambda device: device.go_on_under(cache))  # takes effect after the current answer
        return evicted

    async def clear(self, *, answers: bool, states: bool) -> tuple[int, int]:
        """Delete kept answers, kept attention states or both; return how many of each. Raises NotWritable."""

        def clear(device: Device) -> tuple[int, int]:
            from device_app.commands.caches import clear

            return clear(device, answers=answers, states=states)

        return await self._thread.run(clear)

    async def pause(self, *, paused: bool) -> None:
        """Pause or resume the background work that fills the caches. Raises NotWritable."""

        def pause(device: Device) -> None:
            from device_app.ahead.daemon import pause

            pause(device.paths, paused=paused)

        await self._thread.run(pause)

    async def work(self) -> str | None:
        """Fill the caches with the model loaded in this process.

        The work ends when everything is done, the user types or `stop` is called. Return why it ended early, or None.
        Raises UsageError if another process fills the caches, and errors of the work.
        """
        self._stop.clear()
        self.working = True
        try:
            return await asyncio.wrap_future(self._answers.begin(self._work))
        finally:
            self.working = False

    def stop(self) -> None:
        """Stop filling the caches, within one batch of the model."""
        self._stop.set()

    def reopen(self) -> None:
        """Load the settings again."""
        self._thread.reopen()

    def close(self) -> None:
        """Stop filling the caches, and close the store."""
        self.stop()
        self._thread.close()

    def _work(self, device: Device) -> str | None:
        from device_app.ahead.daemon import Daemon

        daemon = Daemon(device.paths, lambda: nullcontext(device))
        typed_at = self._answers.typed_at
        also = (
            lambda: "you stopped it" if self._stop.is_set() else None,
            lambda: "you asked something" if self._answers.is_awaited else None,
            lambda: "you are typing" if self._answers.typed_at != typed_at else None,
        )
        return daemon.once(force=True, also=also).stopped


def _records(device: Device) -> Any:
    from storage.cache_records import CacheRecords

    return CacheRecords(device.database)


def _states(device: Device, passage: int) -> States | None:
    records = _records(device)
    kept = records.states([passage]).get(passage)
    if kept is None:
        return None
    known = device.knowledge.passages([passage]).get(passage)
    return States(kept, known.text if known else "", records.served(passage, 5))


def _weigh(entry: int, device: Device) -> Sequence[Weighed]:
    from device_app.cache.answers.bank import asked

    bank = device.qa_bank
    kept = bank.entries.get([entry]).get(entry)
    if kept is None:
        return []
    query = asked(kept)
    vector = device.embedder.embed([query.text])[0]
    options = device.options()
    similar = bank.consider(query, vector, options.fingerprint, more=device.assistant.may_fetch(options))
    return [
        Weighed(candidate.entry.question, candidate.similarity, candidate.serves, candidate.reason)
        for candidate in sorted(similar, key=lambda candidate: candidate.entry.id != entry)
    ]
