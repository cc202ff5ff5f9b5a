"""Updates the stored entries of a phone source: first the new ones, then older ones, back to the beginning.

Each day is stored before the progress is recorded, so that a kill at any moment loses some minutes of work, and the
next reading continues there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

import msgspec

from device_app.knowledge import readers
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import KnownPeople
from device_app.knowledge.phone.days import PAGE, Day, days
from device_app.knowledge.phone.documents import Book, of_calls, of_contacts, of_messages
from device_app.knowledge.phone.entries import Entry, calls, contacts, messages
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


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress in a log: all days from `oldest` to `newest` are stored, after `reached` entries were listed.

    `whole`: no older entries remain. If the `fingerprint` (of the embedder and the passages' length) changes, reading
    starts over.
    """

    newest: date | None = None
    oldest: date | None = None
    reached: int = 0
    whole: bool = False
    fingerprint: str = ""


@dataclass(slots=True)
class PhoneReport:
    """The counts of a reading: new or changed documents, their passages, and messages left out for one-time codes."""

    documents: int = 0
    passages: int = 0
    codes: int = 0


@dataclass(slots=True)
class PhoneReading:
    """Reads phone sources into a store. `on_day` is called after each day.

    Raises PhoneSilent, StoreError; GaveWay if the consent is withdrawn meanwhile.
    """

    ingestion: Ingestion
    sources: PhoneSources
    people: KnownPeople
    fetch: Fetch
    most: int = MOST_ENTRIES
    on_day: Callable[[Source, date], object] = lambda *_: None
    report: PhoneReport = field(default_factory=PhoneReport)
    _book: Book = field(default_factory=Book)

    def run(self, source: Source, progress: str) -> PhoneReport:
        """Bring a source up to date, starting from its stored `progress`."""
        self._book = Book.of(self.people.directory)
        if source is CONTACTS:
            listed = self.fetch(source, 0, MOST_CONTACTS)[:MOST_CONTACTS]
            self._take(source, of_contacts(contacts(listed)), whole=True)
        else:
            self._log(source, _decoded(progress))
        self.sources.note_reading(source.name)
        return self.report

    def _log(self, source: Source, progress: Progress) -> None:
        if progress.fingerprint != self.ingestion.fingerprint:
            progress = Progress(fingerprint=self.ingestion.fingerprint)
        if progress.newest:
            progress = self._newer(source, progress, progress.newest)
        if not progress.whole:
            progress = self._older(source, progress)
        self.ingestion.store.complete(FileState(source.path, 0, 0, "", self.ingestion.fingerprint))

    def _newer(self, source: Source, progress: Progress, newest: date) -> Progress:
        """Read the days since the newest stored one, and that day again, as it may have new entries; return the new
        progress.
        """
        waiting: list[Day] = []
        first: date | None = None
        came = 0
        for day in days(self._lister(source), 0, self.most):
            if day.day < newest:
                break
            first = first or day.day
            came += len(day.entries) if day.day > newest else 0
            waiting = self._collected(source, waiting, day)
        self._store(source, waiting)
        return self._noted(source, replace(progress, newest=first or newest, reached=progress.reached + came))

    def _older(self, source: Source, progress: Progress) -> Progress:
        """Read the days before the oldest stored one, back to the beginning; return the new progress."""
        waiting: list[Day] = []
        skip = self._begin(source, progress)
        for day in days(self._lister(source), skip, self.most):
            if progress.oldest and day.day >= progress.oldest:
                continue
            if progress.newest is None:
                progress = replace(progress, newest=day.day)
            waiting = self._collected(source, waiting, day)
            if not waiting:
                progress = self._noted(source, replace(progress, oldest=day.day, reached=day.reached))
        self._store(source, waiting)
        oldest = waiting[-1].day if waiting else progress.oldest
        return self._noted(source, replace(progress, oldest=oldest, whole=True))

    def _begin(self, source: Source, progress: Progress) -> int:
        """Return the number of entries to skip before the oldest stored day; fewer if entries were deleted since."""
        skip = max(0, progress.reached - PAGE)
        while skip and progress.oldest:
            page, _ = self._lister(source)(skip, 1)
            if page and page[0].day >= progress.oldest:
                break
            skip = max(0, skip - PAGE)
        return skip

    def _lister(self, source: Source) -> Callable[[int, int], tuple[Sequence[Entry], int]]:
        read = messages if source is MESSAGES else calls

        def listed(skip: int, most: int) -> tuple[Sequence[Entry], int]:
            page = self.fetch(source, skip, most)
            return list(read(page)), len(page)

        return listed

    def _collected(self, source: Source, waiting: list[Day], day: Day) -> list[Day]:
        """Add a day to the queued days, and store these once they have enough entries; return the days still queued."""
        self.on_day(source, day.day)
        waiting = [*waiting, day]
        if sum(len(each.entries) for each in waiting) < _BATCH:
            return waiting
        self._store(source, waiting)
        return []

    def _store(self, source: Source, waiting: Sequence[Day]) -> None:
        documents: list[Document] = []
        for day in waiting:
            if source is MESSAGES:
                chats, codes = of_messages(day.entries, self._book)
                documents += chats
                self.report.codes += codes
            else:
                documents += of_calls(day.entries, self._book)
        self._take(source, documents, whole=False)

    def _take(self, source: Source, documents: Sequence[Document], *, whole: bool) -> None:
        before = replace(self.ingestion.report)
        self.ingestion.take(source.path, list(filter(None, map(readers.cleaned, documents))), whole=whole)
        self.report.documents += self.ingestion.report.documents - before.documents
        self.report.passages += self.ingestion.report.passages - before.passages

    def _noted(self, source: Source, progress: Progress) -> Progress:
        if not self.sources.note_progress(source.name, msgspec.json.encode(progress).decode()):
            raise GaveWay(f"The {source.name} may no longer be read.")
        return progress


def _decoded(progress: str) -> Progress:
    try:
        return msgspec.json.decode(progress, type=Progress)
    except msgspec.MsgspecError:
        return Progress()
