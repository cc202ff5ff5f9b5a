"""Which sentence or row of the passages proves an answer: one that holds it and what was asked about.

A sentence that only comes near an answer looks like proof where it is shown below a wrong one: another person's row of
the same table, a sentence that says not to. So all of this has to hold: it is no question; the answer's own words stand
in it; so do the words of the question, in it or in what it is understood with, rare ones weighing most; every name and
number of the question is among them; the part that holds the answer does not say no; and it is of the day that was
asked about.
"""

import math
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property, lru_cache
from typing import Final

from device_app.english import dates, words
from device_app.english.query import Query
from device_app.english.units import SPEAKER, Unit, units
from device_app.question.evidence import Evidence
from shared.types import StoredPassage

HOLDS: Final = 0.35
"""Share of what was asked about from which a sentence proves an answer that stands in it."""

_FARTHER = 0.3
"""Words of the question for which a passage that was found one place later has to make up."""

_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_WHETHER = re.compile(
    r"(?:^|,\s+)(?:(?:and|so|but|then) )?(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|shall"
    r"|should|may|might|must)(?:n['’]t)?\s",
    re.IGNORECASE,
)
_WHO = re.compile(r"\bwho(?:se|m)?\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:()–—]|\b(?:but|because|although|though|while)\b")


def asks_whether(question: str) -> bool:
    """Whether the question is to be answered by yes or no: "Is it Monday or Tuesday?" is not."""
    return _WHETHER.search(question) is not None and not re.search(r"\bor\b", question, re.IGNORECASE)


def decision(answer: str) -> str:
    """ "yes" or "no" where the answer begins so, else ""."""
    match = _YES_NO.match(answer.strip())
    return match[1].lower() if match else ""


class Subject:
    """What a question is about, compared with passages that were `near` it."""

    def __init__(self, asked: Query, near: Sequence[StoredPassage]) -> None:
        self.asked = asked
        self._words = words.content_words(asked.text)
        self._names = words.names(asked.text)
        self._near = near

    @cached_property
    def _rarity(self) -> dict[str, float]:
        held = [frozenset(words.said(f"{passage.title} {passage.text}")) for passage in self._near]
        return {
            word: math.log1p(len(held) / (1 + sum(word in words_held for words_held in held))) for word in self._words
        }

    def likeliest(self, passages: Sequence[StoredPassage], count: int) -> list[tuple[int, Unit]]:
        """What of the passages holds most words of the question, with its passage's place from 0; the best first."""
        scored = [
            (self._held(unit) - _FARTHER * place, place, unit)
            for place, passage in enumerate(passages)
            for unit in units(passage)
        ]
        return [(place, unit) for _, place, unit in sorted(scored, key=lambda entry: -entry[0])[:count]]

    def proof(self, answer: str, passages: Sequence[StoredPassage]) -> Evidence | None:
        """The best proof of the answer in these passages; None where there is none."""
        weighted = [
            (says_no, Evidence(number, unit.text, round(share, 3)))
            for number, passage in enumerate(passages, 1)
            for unit, share, says_no in self._proofs(answer, passage)
        ]
        return max(weighted, key=lambda candidate: (candidate[0], candidate[1].share), default=(False, None))[1]

    def stands_in(self, answer: str, passages: Sequence[StoredPassage]) -> bool:
        """Whether a sentence of the passages holds the answer's own words, or a row that is about what was asked."""
        own = self._own(answer)
        supporting = [unit for passage in passages for unit in units(passage) if self._is_told(own, unit)]
        return any(not unit.is_row or (self._share(unit) >= HOLDS and self._is_about(unit)) for unit in supporting)

    def _proofs(self, answer: str, passage: StoredPassage) -> Iterator[tuple[Unit, float, bool]]:
        """Each with the share of what was asked about that it holds, and whether it says no as the answer does."""
        decided = decision(answer) if asks_whether(self.asked.text) else ""
        own = [] if decided else self._own(answer)
        for unit in units(passage):
            share = self._share(unit)
            if (
                share >= HOLDS
                and not unit.text.endswith("?")
                and self._is_told(own, unit)
                and self._is_about(unit, by_name=not decided)
                and self._is_of_the_day(unit, passage)
                and not self._is_denied(own, unit, answer)
            ):
                says_no = decided == "no" and words.denies(unit.text)
                yield unit, share, says_no

    def _own(self, answer: str) -> list[str]:
        """The answer's words that the question does not hold, or all where it holds them."""
        claimed = words.content_words(answer) or words.said(answer)
        return [word for word in claimed if word not in self._words] or claimed

    def _held(self, unit: Unit) -> float:
        inside, beside = _words_of(unit)
        return sum(word in beside for word in self._words) + sum(word in inside for word in self._words) / 2

    def _share(self, unit: Unit) -> float:
        """The share of what was asked about, by rarity: half for the unit itself, half for it with its surroundings."""
        whole = sum(self._rarity.values()) or 1.0
        return sum(rare for held in _words_of(unit) for word, rare in self._rarity.items() if word in held) / whole / 2

    def _is_about(self, unit: Unit, *, by_name: bool = True) -> bool:
        """Whether it is about what the question asks: it has every name, and itself a word besides or, where that is
        enough and it is no row, each of the names.
        """
        inside, beside = _words_of(unit)
        subject = [word for word in self._words if word not in self._names and not words.is_measure(word)]
        named = self._names <= (inside if unit.is_row else beside)
        if by_name and not unit.is_row and self._names and self._names <= inside:
            return True
        return named and any(word in inside for word in subject)

    def _is_told(self, own: Sequence[str], unit: Unit) -> bool:
        """Whether it holds the answer: not as the name of who says it, unless that is asked for; and where several
        parts of it hold numbers, in the one that the question speaks of.
        """
        if not _holds(own, unit.text):
            return False
        speaker = SPEAKER.match(unit.text)
        if speaker and not _holds(own, unit.text[speaker.end() :]) and not _WHO.search(self.asked.text):
            return False
        parts = [(part, set(words.said(part))) for part in _CLAUSE.split(unit.text)]
        is_telling = [any(word in held for word in self._words) for part, held in parts if _holds(own, part)]
        others = [held for part, held in parts if not _holds(own, part)]
        rival = any(any(word in held for word in self._words) and any(map(str.isdigit, held)) for held in others)
        return not (rival and is_telling and not any(is_telling) and any(map(str.isdigit, own)))

    def _is_of_the_day(self, unit: Unit, passage: StoredPassage) -> bool:
        if not self.asked.days:
            return True
        spans = dates.named(unit.text, date.fromisoformat(passage.date[:10]) if passage.date else date.today())
        if not spans and passage.date:
            day = date.fromisoformat(passage.date[:10])
            spans = [(day, day)]
        return any(first <= end and start <= last for first, last in spans for start, end in self.asked.days)

    def _is_denied(self, own: Sequence[str], unit: Unit, answer: str) -> bool:
        """Whether the part that holds the answer says no, and neither answer nor question does."""
        if words.denies(answer) or words.denies(self.asked.text):
            return False
        parts = [part for part in _CLAUSE.split(unit.text) if _holds(own, part)] or [unit.text]
        return all(words.denies(part) for part in parts)


@lru_cache(maxsize=512)
def _words_of(unit: Unit) -> tuple[frozenset[str], frozenset[str]]:
    """Its own, and those with what is around it."""
    inside = frozenset(words.said(unit.text))
    return inside, inside | frozenset(words.said(unit.around))


def _holds(own: Sequence[str], text: str) -> bool:
    """Whether these words all stand in the text, a long one perhaps within another."""
    held = set(words.said(text))
    long = [word for word in held if len(word) > 3]
    return all(
        word in held or (len(word) > 3 and not word.isdigit() and any(word in other or other in word for other in long))
        for word in own
    )
