"""Recognises an answer that was marked wrong, by the marks that apply to its question. Pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from device_app.question.answer import Answer
from storage.wrong_answers import Mark

MARKED: Final = (
    "You marked the answer to this question as wrong, and nothing has changed since, so it is not shown again."
)

_AROUND: Final = " \t\n.,;:!?…\"'“”‘’*_`"


def plain(text: str) -> str:
    """Return the text normalised for comparison: without case, extra spaces, and the punctuation around the text."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_AROUND)


def is_wrong(text: str, written_by: str, marks: Sequence[Mark]) -> bool:
    """Return whether the text that this model wrote was marked wrong; `marks` are those that apply to the question."""
    return any(mark.model == written_by and plain(mark.answer) == plain(text) for mark in marks)


def may_become_wrong(text: str, marks: Sequence[Mark]) -> bool:
    """Return whether the text written so far is one of the marked answers, or the beginning of one."""
    begins = plain(text)[:-1]  # an accent that follows changes the last character
    return any(plain(mark.answer).startswith(begins) for mark in marks)


def unanswered(answer: Answer) -> Answer:
    """Return the notice that is shown in place of an answer marked as wrong."""
    return replace(
        answer,
        text=MARKED,
        abstained=True,
        marked_wrong=True,
        evidence=None,
        nearest=None,
        support=None,
        quoted=False,
        cut=False,
    )
