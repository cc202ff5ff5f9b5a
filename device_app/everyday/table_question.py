"""Parses a question about a table: which words belong to days, a figure, a comparison, a group, an exception."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

from device_app.english.cells import WORD, word_key
from device_app.english.dates import Span
from device_app.english.table_comparisons import Comparison, comparisons
from device_app.english.table_days import days
from device_app.english.table_senses import DEGREES, Degree
from device_app.english.table_units import asked_unit
from device_app.english.table_words import (
    CHECK,
    DEGREE,
    DENIED,
    EXCEPT,
    FIGURES,
    GROUP,
    HOW,
    LIMIT,
    PERIODS,
    Figure,
    limit,
)

_COUNTED = re.compile(
    r"\bhow many (?:(?:other|different|of the|of my|of our) )?"
    r"(?P<noun>people|persons|guests|visitors|children|kids|men|women|adults|members|friends)\b"
)
_ASKING = re.compile(r"(?:^\W*|\b(?:and|with|for|to|from|at|by|tell me|know) )(?P<word>who|whom|whose|when|where)\b")
_PAYER = re.compile(r"\b(?P<who>who)(?:'s| has| have| had)?(?: [^\W\d_]+ly| all| already)? (?:paid|pays?)\b")
_HOW_LONG = re.compile(r"\bhow long (?:did|do|does|have|has|had|will)\b")


DURATION = Degree(True, ("duration",))


@dataclass(frozen=True, slots=True)
class Superlative:
    """A superlative or comparative in a question, such as "longest" or "more", with the indexes of its words."""

    degree: Degree
    places: frozenset[int]
    is_comparative: bool
    is_bare: bool
    """Whether the superlative is "most" or "least" alone, without an adjective."""


@dataclass(frozen=True, slots=True)
class Words:
    """A question's words, as written (`forms`) and in comparable form (`keys`), and the indexes of words with a role.

    `spans` are the named days, None if they are not understood. `used` are words of days, figures, comparisons and
    groups: such a word alone names no cell and no column. `denied` are words such as "not"; `excepted` is the index of
    the first word after "except".
    """

    text: str
    forms: tuple[str, ...]
    keys: tuple[str, ...]
    spans: list[Span] | None
    dated: frozenset[int]
    figures: Mapping[Figure, frozenset[int]]
    superlatives: tuple[Superlative, ...]
    how: Degree | None
    """The adjective after "how", as in "how long"."""

    comparisons: tuple[Comparison, ...]
    period: Literal["", "year", "month", "week", "day"]
    """The period of "per month"; "" for none."""

    used: frozenset[int]
    limit: int
    is_check: bool
    denied: frozenset[int]
    excepted: int | None
    counted: frozenset[int]
    asking: frozenset[int]
    """The indexes of question words for a person, a place or a day, such as "who"."""

    payers: frozenset[int]
    """The indexes of words that ask who paid, which a column of payees does not answer."""

    def places(self, start: int, end: int) -> frozenset[int]:
        """Return the indexes of the words between two character positions of the question."""
        return _within(self.text, [(start, end)])


def parsed(text: str, today: date) -> Words:
    """Return the parsed words of a question in lower case."""
    spans, dated = days(text, today)
    compared, kept = frozenset[int](), []
    for comparison in comparisons(text):
        start, end = comparison.start, comparison.end
        if _within(text, [(start, end)]) & dated:
            continue
        kept.append(comparison)
        if comparison.unit and not asked_unit(comparison.unit, behind_number=True):
            end -= len(comparison.unit)  # "above 2000 net": the word is none of a unit
        if not comparison.is_equal:
            compared |= _within(text, [(start, end)])
    taken = dated | compared
    figures = {name: _within(text, [match.span() for match in form.finditer(text)]) for name, form in FIGURES.items()}
    figures = {name: places - taken for name, places in figures.items() if places - taken}
    if kept:  # "than 10 km" is no other row
        figures.pop("difference", None)
    said = frozenset().union(*figures.values())
    superlatives = [each for each in map(_superlative, DEGREE.finditer(text)) if not each.places & (taken | said)]
    if len(superlatives) > 1:  # "the top 3 most expensive", "the biggest single"
        superlatives = [each for each in superlatives if each.degree.senses or each.is_bare] or superlatives[:1]
    groups = [match for match in GROUP.finditer(text) if match["noun"] in PERIODS]
    limits = [match for match in LIMIT.finditer(text) if not _within(text, [match.span()]) & taken]
    excepted = EXCEPT.search(text)
    denied = _within(text, [match.span() for match in DENIED.finditer(text)])
    how = next((match for match in HOW.finditer(text) if match["adjective"] in DEGREES), None)
    how = None if how and how["adjective"] in ("much", "many", "few", "little") else how
    matches = list(WORD.finditer(text))
    used = taken.union(*figures.values(), *(each.places for each in superlatives), denied)
    used |= _within(text, [match.span() for match in (*groups, *limits)])
    used |= _within(text, [match.span() for match in (excepted, how) if match])
    return Words(
        text,
        tuple(match[0] for match in matches),
        tuple(word_key(match[0]) for match in matches),
        spans,
        dated,
        figures,
        tuple(superlatives),
        DURATION if _HOW_LONG.search(text) else DEGREES[how["adjective"]] if how else None,
        tuple(kept),
        next((period for period in PERIODS if groups and groups[0]["noun"] == period), ""),
        used,
        limit(limits[0]) if limits else 1,
        CHECK.search(text) is not None,
        denied,
        min(_within(text, [(excepted.end(), len(text))]), default=None) if excepted else None,
        _within(text, [match.span("noun") for match in _COUNTED.finditer(text)]),
        _within(text, [match.span("word") for match in _ASKING.finditer(text)]),
        _within(text, [match.span("who") for match in _PAYER.finditer(text)]),
    )


def _superlative(match: re.Match[str]) -> Superlative:
    word, what = match["more"] or match["form"], match["what"] or ""
    degree, adjective = DEGREES.get(word), DEGREES.get(what)
    if match["more"]:
        is_much = word in ("most", "more")
        is_much = is_much == adjective.is_much if adjective else is_much
        degree = Degree(is_much, adjective.senses if adjective else ())
    assert degree
    end = match.end("what") if adjective else match.end("more") if match["more"] else match.end()
    return Superlative(
        degree,
        _within(match.string, [(match.start(), end)]),
        word in ("more", "less", "fewer", "worse") or word.endswith("er"),
        bool(match["more"]) and not adjective,
    )


def _within(text: str, spans: Iterable[tuple[int, int]]) -> frozenset[int]:
    spans = list(spans)
    return frozenset(
        place
        for place, word in enumerate(WORD.finditer(text))
        if any(start <= word.start() < end for start, end in spans)
    )
