"""Value types that several packages share: documents, passages, search results."""

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Self

from shared.side import Side


@dataclass(frozen=True, slots=True)
class Block:
    """A contiguous run of text in a file: a paragraph, a chat message, a page.

    `line` and `page` count from 1; None if the format has none.
    """

    text: str
    line: int | None = None
    page: int | None = None


Moment = datetime | date
"""A day, or a local time in a time zone that is given separately (a naive datetime)."""


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """The times of a calendar entry (RFC 5545).

    All moments are days, or local times in `zone`: the name of a time zone, the text of a VTIMEZONE, or "" for the
    device's current zone. `lasts` is the duration. `rules` are recurrence rules (3.3.10) with or without an end, never
    with a number of occurrences (COUNT); `added` and `left_out` are single occurrences. `last` is the day on which the
    last occurrence begins, None if they never end. `replaces` is the occurrence of the event with this `uid` that this
    entry replaces. Of two versions the one with the higher `revision` counts, then the later `stamped` (ISO 8601, UTC).
    `status` is lower-case: "", "tentative", "cancelled", "completed" …
    """

    uid: str
    start: Moment
    lasts: timedelta = timedelta()
    zone: str = ""
    rules: tuple[str, ...] = ()
    added: tuple[Moment, ...] = ()
    left_out: tuple[Moment, ...] = ()
    last: date | None = None
    replaces: Moment | None = None
    revision: int = 0
    stamped: str = ""
    status: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class TableRow(Block):
    """A row of a table. `cells` are the texts of its cells, in order; `columns` the names of the columns.

    A column may have no name, "", and a row more or fewer cells than there are columns.
    """

    columns: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A unit with a name of its own: a note, a mail, a chat, an event. A file holds one or many.

    `key` identifies a document within its file across changes to the file (a Message-ID, a UID, a row's id); "" if the
    file is the document. `date` is aware or naive, as in the source. `people` are a mail's sender, then its recipients;
    a chat's senders, an event's organiser and guests, a file's author. `event` holds the times of a calendar entry.
    """

    key: str
    kind: str
    title: str
    blocks: tuple[Block, ...]
    date: datetime | None = None
    people: tuple[str, ...] = ()
    event: CalendarEvent | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Passage:
    """About 100 words of one document, split at sentence borders. `ordinal` counts from 0 within the document.

    `line` and `page`, at which it begins, count from 1; None if the format has none.
    """

    text: str
    ordinal: int
    line: int | None = None
    page: int | None = None


PUBLIC = "public"
"""The value of `kind` for a passage retrieved by a server, which is not in the device's store."""


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with its document and file. `path` is printable; `date` is ISO 8601 or None."""

    id: int
    text: str
    ordinal: int
    line: int | None
    page: int | None
    document_id: int
    title: str
    kind: str
    date: str | None
    people: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage retrieved for a question.

    `score` is the estimated relevance from the fused rankings (0..1); `similarity` is the cosine of question and
    passage embeddings (-1..1), the only number comparable across sides. `copies` are near-duplicates of the passage.
    `side` is where the passage is stored.
    """

    passage: StoredPassage
    score: float
    similarity: float
    copies: tuple[StoredPassage, ...] = ()
    side: Side = "device"


@dataclass(frozen=True, slots=True)
class Filters:
    """The documents that may answer a question. Empty filters allow all documents.

    Several values of one filter allow more documents, several filters fewer. `people` and `places` match parts of names
    and of paths, `kinds` whole kinds, all case-insensitively; dates are inclusive.
    """

    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None

    def within(self, first: date, last: date) -> Self:
        """Return these filters, further limited to the days from `first` to `last`."""
        return replace(
            self,
            after=max(filter(None, (self.after, first))),
            before=min(filter(None, (self.before, last))),
        )


@dataclass(frozen=True, slots=True)
class SearchFilters(Filters):
    """The filters of a search. `people` match anybody in a document. `senders` match the first person of a mail,
    `recipients` its other persons; in documents other than mails, both match anybody. `titles` match parts of titles,
    case-insensitively.
    """

    senders: tuple[str, ...] = ()
    recipients: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
