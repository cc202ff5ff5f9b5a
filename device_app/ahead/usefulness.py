"""Learns which predicted questions are asked: forms of questions that are rarely asked are predicted less often.

Pure except for `tallies`, which reads the kept answers. Predicted and asked questions are compared by their form alone
("when", "how much", "said").
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    from storage.cache_records import CacheRecords

CHANCES: Final = 10
"""A prediction counts as not asked once the person has asked this many other questions."""

HALF_LIFE: Final = timedelta(days=30)
"""The time after which a prediction counts half."""

PRIOR: Final = 20.0
"""The number of predictions assumed for each form before any was made, of which the share USEFUL was asked."""

USEFUL: Final = 0.05
"""The share of a form's predictions that has to be asked for the form to be predicted without a limit."""

LEAST: Final = 0.1
"""The smallest share of a form's questions that is predicted, so that the form can prove useful again."""

_SAID = re.compile(
    r"what (?:did|do|does|has|have|had) .+? (?:say|said|write|wrote|written|tell|told|think|thought|suggest|mention)\b"
)
_MEASURE = re.compile(r"how (?:much|many|long|old|far|often)\b")
_WORD = re.compile(r"(?:who|whom|whose|what|when|where|which|why|how)\b")
_WHETHER = re.compile(r"(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must)\b")


@dataclass(frozen=True, slots=True)
class Prediction:
    """A question that was predicted and answered in the background, when it was answered, and whether it was ever
    asked.
    """

    question: str
    made_at: datetime
    was_asked: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """How many questions of a form were predicted and could be asked, and how many were asked; old ones count less."""

    predicted: float = 0.0
    asked: float = 0.0

    @property
    def share(self) -> float:
        """The share of the questions of this form that is predicted, from LEAST to 1.

        It falls if few of the predicted questions were asked.
        """
        expected = (self.asked + PRIOR * USEFUL) / (self.predicted + PRIOR)
        return max(LEAST, min(1.0, expected / USEFUL))


def form(question: str) -> str:
    """Return the form of a question: "said", its question word, "whether", or "other"."""
    text = question.strip().lower()
    if _SAID.match(text):
        return "said"
    if match := _MEASURE.match(text) or _WORD.match(text):
        return {"whom": "who", "whose": "who"}.get(match[0], match[0])
    return "whether" if _WHETHER.match(text) else "other"


def tally(predictions: Iterable[Prediction], asked_at: Sequence[datetime], now: datetime) -> dict[str, Tally]:
    """Return the tally of each form; `asked_at` are the times of the person's questions, in order.

    A prediction counts once it was asked, or once CHANCES questions were asked after it was made.
    """
    tallies: dict[str, Tally] = {}
    for each in predictions:
        chances = len(asked_at) - bisect_right(asked_at, each.made_at)
        if not each.was_asked and chances < CHANCES:
            continue
        weight = 0.5 ** (max(timedelta(0), now - each.made_at) / HALF_LIFE)
        before = tallies.get(kind := form(each.question), Tally())
        tallies[kind] = Tally(before.predicted + weight, before.asked + weight * each.was_asked)
    return tallies


def is_worth(question: str, tallies: Mapping[str, Tally]) -> bool:
    """Return whether to predict a question: always or, if its form is asked too rarely, for a share of its form's
    questions.

    A checksum of the text selects that share, so that the same question always gets the same decision.
    """
    return crc32(question.encode()) / 2**32 < tallies.get(form(question), Tally()).share


def liking(questions: Sequence[str], asked: Sequence[str]) -> list[float]:
    """Return for each question the share of the asked questions that have its form, 0..1."""
    forms = [form(text) for text in asked]
    return [forms.count(form(question)) / max(1, len(forms)) for question in questions]


def tallies(records: CacheRecords, now: datetime) -> dict[str, Tally]:
    """Return the tally of each form, from the kept predicted questions. Raises StoreError."""
    kept = (
        Prediction(question, datetime.fromisoformat(made_at), bool(uses))
        for question, made_at, uses in records.predictions()
    )
    return tally(kept, [datetime.fromisoformat(moment) for moment in records.asked_at()], now)
