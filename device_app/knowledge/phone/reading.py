"""Updates the stored entries of a phone source: first the new ones, then older ones, back to the beginning.

Each day is stored before the progress is recorded, so that a process killed at any moment loses some minutes of work,
and the next reading continues there. The days that are read take the place of all that is stored of them, so that no
entry stands twice after it moved to another day with the phone's time zone.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Final

import msgspec

from device_app.knowledge import readers
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import KnownPeople
from device_app.knowledge.phone.days import PAGE, Day, days
from device_app.knowledge.phone.documents import Book, day_of, of_calls, of_contacts, of_messages
from device_app.knowledge.phone.entries import Entry, calls, contacts, messages
from device_app.knowledge.phone.progress import Edge, Progress, Zone, decoded, zone
from device_app.knowledge.phone.sources import CONTACTS, MESSAGES, Fetch, Source
from shared.errors import GaveWay
from shared.types import Document
from storage.knowledge import FileState
from storage.phone_sources import PhoneSources

MOST_ENTRIES: Final = 100_000
"""The most messages, and the most calls, that are read, the newest first: more would exceed a phone's memory."""

MOST_CONTACTS: Final = 20_000

_BATCH: Final = 200
"""The number of entries that are stored together."""


_APART: Final = timedelta(days=2)
"""The most days between an entry's own day and the day under which it is stored."""


@dataclass(slots=True)
class PhoneReport:
    """The counts of a reading: new or changed documents, their passages, and messages left out for one-time codes.

    `removed` counts the documents whose entries are of other days now, or were deleted on the phone.
    """

    documents: int = 0
    passages: int = 0
    codes: int = 0
    removed: int = 0


@dataclass(slots=True)
class PhoneReading:
    """Reads phone sources into a store. `on_day` is called after each day.

    Raises PhoneSilent, StoreError; GaveWay if the consent is withdrawn or the time zone changes meanwhile.
    """

    ingestion: Ingestion
    sources: PhoneSources
    people: KnownPeople
    fetch: Fetch
    most: int = MOST_ENTRIES
    on_day: Callable[[Source, date], object] = lambda *_: None
    report: PhoneReport = field(default_factory=PhoneReport)
    _book: Book = field(default_factory=Book)
    _zone: Zone = ()
    _stored_from: date | None = None
    """The oldest day stored so far, as days are stored from the newest back; None before the first."""

    def run(self, source: Source, progress: str) -> PhoneReport:
        """Bring a source up to date, starting from its stored `progress`."""
        self._book = Book.of(self.people.directory)
        if source is CONTACTS:
            listed = self.fetch(source, 0, MOST_CONTACTS)[:MOST_CONTACTS]
            self._take(source, of_contacts(contacts(listed)), whole=True)
        else:
            self._zone = zone()
            self._log(source, decoded(progress))
        self.sources.note_reading(source.name)
        return self.report

    def _log(self, source: Source, progress: Progress) -> None:
        if progress.fingerprint != self.ingestion.fingerprint:
            progress = Progress(fingerprint=self.ingestion.fingerprint)
        if progress.recent:
            progress = self._newer(source, progress, progress.recent)
        if progress.newest is None or not progress.whole:
            progress = self._older(source, progress)
        self.ingestion.store.complete(FileState(source.path, 0, 0, "", self.ingestion.fingerprint))

    def _newer(self, source: Source, progress: Progress, recent: Edge) -> Progress:
        """Read the newest days again, from the edge `recent` on, and return the new progress.

        They may have new entries, or other entries if the phone is in another time zone now.
        """
        waiting: list[Day] = []
        newest: date | None = None
        came = 0
        self._stored_from = None
        for day in days(self._lister(source, recent), 0, self.most):
            if day.day < recent.day:
                break
            newest = newest or day.day
            came += len(day.entries) if progress.newest and day.day > progress.newest else 0
            waiting = self._collected(source, waiting, day)
        if newest is None:
            return progress
        self._store(source, waiting, recent.day)
        return self._noted(source, progress.up_to(newest, came))

    def _older(self, source: Source, progress: Progress) -> Progress:
        """Read the days before the oldest stored one, back to the beginning; return the new progress."""
        waiting: list[Day] = []
        begins = progress.begins
        self._stored_from = progress.oldest
        newest, reached = progress.newest, progress.reached
        for day in days(self._lister(source, begins), self._begin(source, progress), self.most):
            if begins and day.day >= begins.day:
                continue
            newest, reached = newest or day.day, day.reached
            waiting = self._collected(source, waiting, day)
            if not waiting:
                progress = self._noted(source, progress.back_to(day.day, newest, reached))
        if newest:
            self._store(source, waiting, date.min)
        if newest and waiting:
            progress = progress.back_to(waiting[-1].day, newest, reached)
        return self._noted(source, replace(progress, whole=True))

    def _begin(self, source: Source, progress: Progress) -> int:
        """Return the number of log entries, from the newest, to skip before the days that are not stored; fewer if
        entries were deleted since.
        """
        skip, begins = max(0, progress.reached - PAGE), progress.begins
        while skip and begins:
            page, _ = self._lister(source, begins)(skip, 1)
            if page and page[0].day >= begins.day:
                break
            skip = max(0, skip - PAGE)
        return skip

    def _lister(self, source: Source, edge: Edge | None) -> Callable[[int, int], tuple[Sequence[Entry], int]]:
        """Return a function that lists a page of a log's entries.

        With `edge`, each entry is assigned to a day on its side of that edge (`Edge.cut`). The function raises GaveWay
        if the time zone has changed meanwhile.
        """
        read = messages if source is MESSAGES else calls

        def listed(skip: int, most: int) -> tuple[Sequence[Entry], int]:
            page = self.fetch(source, skip, most)
            if zone() != self._zone:
                raise GaveWay(f"The time zone changed. To go on reading the {source.name}: jackdaw phone sources read")
            entries = read(page)
            return list(map(edge.cut, entries) if edge else entries), len(page)

        return listed

    def _collected(self, source: Source, waiting: list[Day], day: Day) -> list[Day]:
        """Add a day to the queued days, and store all of them once they have enough entries; return the days still
        queued.
        """
        self.on_day(source, day.day)
        waiting = [*waiting, day]
        if sum(len(each.entries) for each in waiting) < _BATCH:
            return waiting
        self._store(source, waiting, day.day)
        return []

    def _store(self, source: Source, waiting: Sequence[Day], first: date) -> None:
        """Store the queued days.

        They replace all that is stored from the day `first` on, up to the days that this run has stored already.
        """
        documents: list[Document] = []
        for day in waiting:
            if source is MESSAGES:
                chats, codes = of_messages(day.entries, self._book)
                documents += chats
                self.report.codes += codes
            else:
                documents += of_calls(day.entries, self._book)
        replaced = list(self._stored(source, first))
        kept = self._take(source, documents, whole=False)
        self._remove(source, [key for key in replaced if key not in kept])
        self._stored_from = first

    def _stored(self, source: Source, first: date) -> Iterator[str]:
        """Yield the keys of the documents stored from the day `first` on, up to the days that this run has stored
        already.
        """
        end = self._stored_from or date.max
        dated = max(first, date.min + _APART) - _APART, min(end, date.max - _APART) + _APART
        for key in self.ingestion.store.keys_dated(source.path, *dated):
            day = day_of(key)
            if day and first <= day < end:
                yield key

    def _remove(self, source: Source, keys: Sequence[str]) -> None:
        with self.ingestion.store.database.transaction():
            self.ingestion.store.remove_documents(source.path, keys)
        self.report.removed += len(keys)

    def _take(self, source: Source, documents: Sequence[Document], *, whole: bool) -> Collection[str]:
        """Store documents; return their keys."""
        before = replace(self.ingestion.report)
        keys = self.ingestion.take(source.path, list(filter(None, map(readers.cleaned, documents))), whole=whole)
        self.report.documents += self.ingestion.report.documents - before.documents
        self.report.passages += self.ingestion.report.passages - before.passages
        return keys

    def _noted(self, source: Source, progress: Progress) -> Progress:
        if not self.sources.note_progress(source.name, msgspec.json.encode(progress).decode()):
            raise GaveWay(f"The {source.name} may no longer be read.")
        return progress
