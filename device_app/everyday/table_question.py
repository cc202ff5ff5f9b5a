"""Parses a question about a table: which words belong to a date, a figure or a comparison, and which are counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from device_app.english import dates
from device_app.english.cells import WORD, word_key
from device_app.english.table_words import AMOUNT, COMPARISON, COSTS, COUNTED, FIGURES, PAYER, PERSON_DOES, Figure


@dataclass(frozen=True, slots=True)
class Words:
    """A question's words, as written (`forms`) and in comparable form (`keys`), and the indexes of words with a role.

    `dated`, `figures` and `compared` belong to a date, a figure or a comparison. `amount` is the noun after "how many";
    no part of a cell matches it. `counted` are nouns for people or times that are counted, `verbs` are what people do:
    no cell matches these. `payers` are words that ask who paid; `costs` is the verb of "what did it cost".
    """

    text: str
    forms: tuple[str, ...]
    keys: tuple[str, ...]
    dated: frozenset[int]
    figures: Mapping[Figure, frozenset[int]]
    compared: frozenset[int]
    comparisons: tuple[re.Match[str], ...]
    amount: frozenset[int]
    counted: frozenset[int]
    verbs: frozenset[int]
    payers: frozenset[int]
    costs: frozenset[int]


def parsed(text: str) -> Words:
    """Return the parsed words of a question in lower case."""
    matches = list(WORD.finditer(text))

    def within(spans: Iterable[tuple[int, int]]) -> frozenset[int]:
        letters = {letter for start, end in spans for letter in range(start, end)}
        return frozenset(place for place, word in enumerate(matches) if word.start() in letters)

    dated = within(dates.places(text))
    comparisons = [match for match in COMPARISON.finditer(text) if not within([match.span("number")]) & dated]
    compared = within(match.span() for match in comparisons)
    figures = {name: within(match.span() for match in pattern.finditer(text)) for name, pattern in FIGURES.items()}
    figures = {name: left for name, places in figures.items() if (left := places - dated - compared)}
    forms = tuple(match[0] for match in matches)
    return Words(
        text,
        forms,
        tuple(map(word_key, forms)),
        dated,
        figures,
        compared,
        tuple(comparisons),
        within(match.span("noun") for match in AMOUNT.finditer(text)),
        within(match.span("noun") for match in COUNTED.finditer(text)),
        within(match.span("verb") for match in PERSON_DOES.finditer(text)),
        within(match.span("who") for match in PAYER.finditer(text)),
        within(match.span("verb") for match in COSTS.finditer(text)),
    )
