"""Facts that travel between rooms: documents, passages, search results. Plain values, no behaviour."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Self

from shared.side import Side


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text that stands together in its file: a paragraph, a chat message, a page.

    `line` and `page` count from 1 and are None where the format has none.
    """

    text: str
    line: int | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One thing a person would name: a note, a mail, a chat, an event. A file holds one or many.

    `key` tells documents of one file apart and stays the same when the file changes elsewhere (a Message-ID, a UID,
    a row's id); it is "" where the file is the document. `date` is aware or naive as the source had it.
    """

    key: str
    kind: str
    title: str
    blocks: tuple[Block, ...]
    date: datetime | None = None
    people: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """About 100 words of one document, cut at sentence borders. `ordinal` counts from 0 within the document."""

    text: str
    ordinal: int
    line: int | None = None
    page: int | None = None


PUBLIC = "public"
"""The kind of a passage that a server found: no store here has it."""


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with where it comes from. `path` is printable; `date` is ISO 8601 or None."""

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
    """A passage found for a question.

    `score` is the fused estimate that the passage is relevant (0..1); `similarity` is the cosine of question and
    passage embeddings (-1..1), the one number that sources on different sides may compare. `copies` say nearly the same
    elsewhere. `side` is where it lies.
    """

    passage: StoredPassage
    score: float
    similarity: float
    copies: tuple[StoredPassage, ...] = ()
    side: Side = "device"


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may answer. Empty means all; several of one kind widen, different kinds narrow.

    `people` and `places` match as parts of names and of paths, `kinds` as wholes, all without regard to case; dates are
    inclusive.
    """

    people: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    after: date | None = None
    before: date | None = None

    def within(self, first: date, last: date) -> Self:
        """These, and from `first` to `last` as well."""
        return replace(
            self,
            after=max(filter(None, (self.after, first))),
            before=min(filter(None, (self.before, last))),
        )
