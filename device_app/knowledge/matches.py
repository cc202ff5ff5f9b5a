"""Ranks, groups and counts the passages that a search returns, and cuts snippets from them: pure functions.

The score combines the rank by BM25 and, as in `fusion`, the shares of the query's words in the passage and in its
document: these raise passages that BM25 alone ranks too low.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from device_app.english import naming
from device_app.english.searching import written
from device_app.knowledge.fusion import coverage
from shared.printable import safe_line
from shared.types import StoredPassage
from storage.documents import Facts
from storage.passages import show
from storage.search import CLOSING, OPENING

SNIPPET_CHARACTERS = 200

_OWN, _DOCUMENT, _BY_RANK, _HALF = 1.0, 2.0, 1.0, 5
"""The weights of a score's three parts: the query's words in the passage, those in its document, and the BM25 rank.

The part for the rank falls to half of its value at rank _HALF. They are the best values of a grid search on the first
200 questions of each set of `scripts/bench retrieval`.
"""

_MOST_MONTHS = 12
"""The most months by which matches are counted; matches spread over more months are counted by year."""

_MOST_CACHED = 1 << 14
"""The number of cached lists of people with the names to show, as the same lists are counted at every key press."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text on one line, with its marked matches as pairs of start and end."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Count:
    """A value of a facet, the number of documents with it, and the filter that narrows a search to them."""

    value: str
    count: int
    filter: str


def ranked(words: Sequence[str], passages: Sequence[StoredPassage]) -> list[float]:
    """Return a score from 0 to 1 for each passage; `passages` are in the order of their BM25 rank."""
    if not passages:
        return []
    own, of_document = coverage(words, passages)
    return [
        (_OWN * here + _DOCUMENT * nearby + _BY_RANK * _HALF / (_HALF + place)) / (_OWN + _DOCUMENT + _BY_RANK)
        for place, (here, nearby) in enumerate(zip(own, of_document, strict=True))
    ]


def snippet(marked: str, most: int = SNIPPET_CHARACTERS) -> Snippet:
    """Return the part of a marked text, about `most` characters long, that has most different matches.

    A match is enclosed in OPENING and CLOSING. Line breaks become spaces, and an ellipsis replaces the text cut off.
    """
    text, spans = _unmarked(safe_line(marked))
    start = _densest(text, spans, most)
    if start:
        start = text.find(" ", start, start + 20) + 1 or start
    end = min(len(text), start + most)
    if end < len(text):
        end = text.rfind(" ", end - 20, end) if text.rfind(" ", end - 20, end) > start else end
    before, behind = "… " if start else "", " …" if end < len(text) else ""
    moved = len(before) - start
    marks = tuple((first + moved, min(last, end) + moved) for first, last in spans if start <= first < end)
    return Snippet(f"{before}{text[start:end]}{behind}", marks)


def facets(documents: Iterable[Facts], most: int = 6) -> dict[str, tuple[Count, ...]]:
    """Count the documents, each once, by "who", "when", "kind" and "folder"; keep each one's `most` frequent values."""
    each = list({document.document: document for document in documents}.values())
    days = [document.date for document in each if document.date]
    length = 7 if len({day[:7] for day in days}) <= _MOST_MONTHS else 4
    folders = Counter(os.path.dirname(document.path) for document in each)  # noqa: PTH120 (bytes)
    return {
        "who": _counts(_people(each), "who", most),
        "when": _counts(Counter(day[:length] for day in days), "on", most),
        "kind": _counts(Counter(document.kind for document in each), "kind", most),
        "folder": _counts({show(folder): count for folder, count in folders.items()}, "in", most),
    }


def _people(documents: Sequence[Facts]) -> Counter[str]:
    """Count, for each person, the documents that name them."""
    counts: Counter[str] = Counter()
    for people, count in Counter(document.people for document in documents).items():
        for person in _shown(people):
            counts[person] += count
    return counts


@lru_cache(_MOST_CACHED)
def _shown(people: str) -> frozenset[str]:
    return frozenset(map(naming.shown, json.loads(people)))


def _counts(counts: Mapping[str, int], name: str, most: int) -> tuple[Count, ...]:
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return tuple(Count(safe_line(value), count, f"{name}:{written(value)}") for value, count in frequent if value)


def _unmarked(marked: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text without the marks around matches, and the spans of the matches."""
    parts, spans, place, opened = [], [], 0, 0
    for part in re.split(f"([{OPENING}{CLOSING}])", marked):
        if part == OPENING:
            opened = place
        elif part == CLOSING:
            spans.append((opened, place))
        else:
            parts.append(part)
            place += len(part)
    return "".join(parts), spans


def _densest(text: str, spans: Sequence[tuple[int, int]], most: int) -> int:
    """Return the start of the window of `most` characters that has most different matches."""
    if len(text) <= most or not spans:
        return 0

    def worth(first: int) -> int:
        return len({text[start:end].lower() for start, end in spans if first <= start and end <= first + most - 20})

    start = max((start for start, _ in spans), key=lambda first: (worth(first), -first))
    return max(0, min(start - 20, len(text) - most))
