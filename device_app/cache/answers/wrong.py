"""Recognises an answer that was marked wrong, by the marks that apply to its question. Pure."""

import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from device_app.question.answer import Answer, Events, Found, LookedUp, Wrote
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


def withheld(events: Events, marks_now: Callable[[], Sequence[Mark]]) -> Events:
    """Yield the events of an answer, but no text as long as it may still become an answer that is marked wrong.

    A marked answer is replaced by a notice, above its passages. `marks_now` is called once, with the first text: before
    that, files may have been read again, which invalidates their marks. Kept answers and those of rules are passed on:
    their marks were checked before.
    """
    text = held = ""
    marks: Sequence[Mark] | None = None
    with closing(events):
        for event in events:
            if isinstance(event, Found | LookedUp) or (
                isinstance(event, Answer) and (event.abstained or event.matched or event.origin == "rule")
            ):
                yield event
                continue
            marks = marks_now() if marks is None else marks
            if isinstance(event, Wrote):
                text, held = text + event.text, held + event.text
                if not may_become_wrong(text, marks):
                    yield Wrote(held)
                    held = ""
            elif is_wrong(event.text, event.written_by, marks):
                yield unanswered(event)
            else:
                if held:
                    yield Wrote(held)
                yield event


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
