"""Finds the sentence or row of the passages that proves an answer: it contains the answer and the question's subject.

A sentence that is merely similar could seem to prove a wrong answer: another person's row of the same table, or a
sentence with "not". A proof therefore meets all these conditions: the sentence is no question and, for yes or no, no
title; it contains the answer's own words, which are no part of a longer number; the sentence or its context has the
question's words, weighted by rarity, and all of the question's names and numbers; the clause with the answer is not
negated; and its date is the one that the question asks about.
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
"""The share of the question's content that a sentence with the answer needs in order to prove the answer."""

_FARTHER = 0.3
"""How much a sentence's or row's score is lowered for each rank that its passage is below the best passage."""

_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_WHETHER = re.compile(
    r"(?:^|,\s+)(?:(?:and|so|but|then) )?(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|shall"
    r"|should|may|might|must)(?:n['’]t)?\s",
    re.IGNORECASE,
)
_WHO = re.compile(r"\bwho(?:se|m)?\b", re.IGNORECASE)
_ENDS_IN_DIGIT = re.compile(r"\d $")
_GROUPS = re.compile(r"[A-Z]{0,4}\d+(?: \d+)*")
_LEAST_DIGITS = 3  # of a group of a longer number; "12" may well follow another number
_CLAUSE = re.compile(r"[,;:()–—]|\b(?:but|because|although|though|while)\b")


def asks_whether(question: str) -> bool:
    """Return whether the question asks for yes or no; "Is it Monday or Tuesday?" does not."""
    return _WHETHER.search(question) is not None and not re.search(r"\bor\b", question, re.IGNORECASE)


def decision(answer: str) -> str:
    """Return "yes" or "no" if the answer begins with that word, else ""."""
    match = _YES_NO.match(answer.strip())
    return match[1].lower() if match else ""


class Subject:
    """A question's subject: its words, with their rarity among the passages `near` the question, and its names."""

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
        """Return the `count` sentences and rows that share most words with the question,
        each as (passage index, unit).
        """
        scored = [
            (self._held(unit) - _FARTHER * place, place, unit)
            for place, passage in enumerate(passages)
            for unit in units(passage)
        ]
        return [(place, unit) for _, place, unit in sorted(scored, key=lambda entry: -entry[0])[:count]]

    def proof(self, answer: str, passages: Sequence[StoredPassage]) -> Evidence | None:
        """Return the sentence or row of the passages that proves the answer best; None if no sentence does."""
        weighted = [
            (says_no, Evidence(number, unit.text, round(share, 3)))
            for number, passage in enumerate(passages, 1)
            for unit, share, says_no in self._proofs(answer, passage)
        ]
        return max(weighted, key=lambda candidate: (candidate[0], candidate[1].share), default=(False, None))[1]

    def stands_in(self, answer: str, passages: Sequence[StoredPassage]) -> bool:
        """Return whether a sentence, or a row about the right subject, contains the answer's own words.

        The answer's own words are those that are not in the question.
        """
        own = self._own(answer)
        supporting = [unit for passage in passages for unit in units(passage) if self._states_answer(own, unit)]
        return any(not unit.is_row or (self._share(unit) >= HOLDS and self._is_about(unit)) for unit in supporting)

    def contradicts(self, answer: str, passages: Sequence[StoredPassage]) -> bool:
        """Return whether a sentence about the subject forbids what the answer says is allowed, or the other way round.

        Of a question for a permission alone; False if the sentences about the subject differ.
        """
        from device_app.english.permission import asks_permission, permission  # few answers say yes or no

        decided = decision(answer)
        if not decided or not asks_permission(self.asked.text):
            return False
        own = [word for word in self._words if word not in self._names]
        said = {
            permission(unit.text, own)
            for passage in passages
            for unit in units(passage)
            if not unit.text.endswith("?") and any(word in _words_of(unit)[0] for word in own)
        } - {""}
        return len(said) == 1 and decided not in said

    def _proofs(self, answer: str, passage: StoredPassage) -> Iterator[tuple[Unit, float, bool]]:
        """Yield each sentence or row that proves the answer, with the share of the question's words that it has, and
        whether both it and the answer say "no".
        """
        decided = decision(answer) if asks_whether(self.asked.text) else ""
        own = [] if decided else self._own(answer)
        for unit in units(passage):
            share = self._share(unit)
            if (
                share >= HOLDS
                and not unit.text.endswith("?")
                and not (decided and unit.text == passage.title)
                and self._states_answer(own, unit)
                and self._is_about(unit, by_name=not decided)
                and self._is_of_the_day(unit, passage)
                and not self._is_denied(own, unit, answer)
                and not _is_cut_out(answer, unit.text)
            ):
                says_no = decided == "no" and words.denies(unit.text)
                yield unit, share, says_no

    def _own(self, answer: str) -> list[str]:
        """Return the answer's words that are not in the question; all its words if the question has them all."""
        claimed = words.content_words(answer) or words.said(answer)
        return [word for word in claimed if word not in self._words] or claimed

    def _held(self, unit: Unit) -> float:
        inside, beside = _words_of(unit)
        return sum(word in beside for word in self._words) + sum(word in inside for word in self._words) / 2

    def _share(self, unit: Unit) -> float:
        """Return the share of the question's words in the sentence or row, weighted by rarity; words in its context
        count half.
        """
        whole = sum(self._rarity.values()) or 1.0
        return sum(rare for held in _words_of(unit) for word, rare in self._rarity.items() if word in held) / whole / 2

    def _is_about(self, unit: Unit, *, by_name: bool = True) -> bool:
        """Return whether the sentence or row is about the question's subject.

        It has to contain all names in the question, for a sentence perhaps in its context, and another word of the
        question. With `by_name`, a sentence that contains all the names is enough.
        """
        inside, beside = _words_of(unit)
        subject = [word for word in self._words if word not in self._names and not words.is_measure(word)]
        named = self._names <= (inside if unit.is_row else beside)
        if by_name and not unit.is_row and self._names and self._names <= inside:
            return True
        return named and any(word in inside for word in subject)

    def _states_answer(self, own: Sequence[str], unit: Unit) -> bool:
        """Return whether the sentence or row states the answer, whose `own` words are those that are not in the
        question.

        The answer must not be the speaker's name, unless the question asks who; and if several clauses have numbers,
        the answer must be in the clause that shares words with the question.
        """
        if not _holds(own, unit.text):
            return False
        speaker = SPEAKER.match(unit.text)
        if speaker and not _holds(own, unit.text[speaker.end() :]) and not _WHO.search(self.asked.text):
            return False
        parts = [(part, set(words.said(part))) for part in _CLAUSE.split(unit.text)]
        shares_words = [any(word in held for word in self._words) for part, held in parts if _holds(own, part)]
        others = [held for part, held in parts if not _holds(own, part)]
        rival = any(any(word in held for word in self._words) and any(map(str.isdigit, held)) for held in others)
        return not (rival and shares_words and not any(shares_words) and any(map(str.isdigit, own)))

    def _is_of_the_day(self, unit: Unit, passage: StoredPassage) -> bool:
        if not self.asked.days:
            return True
        spans = dates.named(unit.text, date.fromisoformat(passage.date[:10]) if passage.date else date.today())
        if not spans and passage.date:
            day = date.fromisoformat(passage.date[:10])
            spans = [(day, day)]
        return any(first <= end and start <= last for first, last in spans for start, end in self.asked.days)

    def _is_denied(self, own: Sequence[str], unit: Unit, answer: str) -> bool:
        """Return whether the clause with the answer is negated, although neither the answer nor the question is."""
        if words.denies(answer) or words.denies(self.asked.text):
            return False
        parts = [part for part in _CLAUSE.split(unit.text) if _holds(own, part)] or [unit.text]
        return all(words.denies(part) for part in parts)


def _is_cut_out(answer: str, text: str) -> bool:
    """Return whether the answer is a part of a number in groups, such as the last digits of an account's number."""
    groups = " ".join(answer.split()).rstrip(".")
    if not _GROUPS.fullmatch(groups) or sum(map(str.isdigit, groups)) < _LEAST_DIGITS:
        return False
    uses = list(re.finditer(rf"(?<!\w){re.escape(groups)}(?!\w)(?P<behind> \w{{0,9}}\d)?", text))
    return bool(uses) and all(use["behind"] or _ENDS_IN_DIGIT.search(text[: use.start()][-2:]) for use in uses)


@lru_cache(maxsize=512)
def _words_of(unit: Unit) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of the sentence or row alone, and the words of it together with its context."""
    inside = frozenset(words.said(unit.text))
    return inside, inside | frozenset(words.said(unit.around))


def _holds(own: Sequence[str], text: str) -> bool:
    """Return whether all the words occur in the text; a long word may be part of another word."""
    held = set(words.said(text))
    long = [word for word in held if len(word) > 3]
    return all(
        word in held or (len(word) > 3 and not word.isdigit() and any(word in other or other in word for other in long))
        for word in own
    )
