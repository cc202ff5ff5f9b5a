"""The results of a search in files and conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from device_app.english.searching import Search

if TYPE_CHECKING:
    from device_app.english.spelling import Correction
    from device_app.knowledge.matches import Count, Snippet
    from shared.types import StoredPassage
    from storage.conversations import Turn


class Sort(StrEnum):
    """The order of a search's results: by relevance or by date."""

    RELEVANCE = "relevance"
    DATE = "date"


class Side(StrEnum):
    """Where to search: in files, in conversations, or in both."""

    BOTH = "both"
    FILES = "files"
    CONVERSATIONS = "conversations"


@dataclass(frozen=True, slots=True)
class FileResult:
    """A document among the results, with its best passage, a part of that passage's text, and its score.

    `number` is its place in the list, from 1; `others` counts the document's other matching passages.
    """

    number: int
    passage: StoredPassage
    snippet: Snippet
    score: float
    others: int


@dataclass(frozen=True, slots=True)
class TurnResult:
    """A question and its answer among the results, numbered after the files."""

    number: int
    turn: Turn
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a search. `corrections` are the words searched for in place of others, `notes` are for the person.

    `documents` counts the matching documents; it is a lower bound unless `is_counted`. `has_all` says whether the
    counted documents have all words, or only some of them. `facets` counts them by person, date, kind and folder.
    """

    search: Search
    corrections: tuple[Correction, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[FileResult, ...] = ()
    documents: int = 0
    is_counted: bool = True
    has_all: bool = True
    facets: Mapping[str, tuple[Count, ...]] = field(default_factory=dict)
    turns: tuple[TurnResult, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there are no results."""
        return not self.files and not self.turns
