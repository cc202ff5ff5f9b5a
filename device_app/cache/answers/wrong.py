"""Which text is an answer that was marked wrong: pure, from the marks that hold for a question."""

import unicodedata
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from device_app.question.answer import Answer, Found, Wrote
from storage.wrong_answers import Mark

MARKED: Final = "The answer to this was marked wrong, and nothing has changed since, so it is not shown again."

_AROUND: Final = " \t\n.,;:!?…\"'“”‘’*_`"


def plain(text: str) -> str:
    """The text without regard to case, spaces, and the signs around it: two of one form say the same."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_AROUND)


def is_wrong(text: str, written_by: str, marks: Sequence[Mark]) -> bool:
    """Whether the text that this model wrote is marked wrong for a question of which these marks hold."""
    return any(mark.model == written_by and plain(mark.answer) == plain(text) for mark in marks)


def may_become_wrong(text: str, marks: Sequence[Mark]) -> bool:
    """Whether what is written so far is, or with more text may become, one of the marked answers."""
    begins = plain(text)[:-1]  # an accent that follows changes the last character
    return any(plain(mark.answer).startswith(begins) for mark in marks)


def withheld(
    events: Generator[Found | Wrote | Answer], marks_now: Callable[[], Sequence[Mark]]
) -> Generator[Found | Wrote | Answer]:
    """The events of an answer, none of whose text is shown while it may become one that is marked.

    In the place of such an answer stands that it is marked, above the passages it was drawn from. `marks_now` is called
    once, with the first text: files that are read again before that may end a mark. A kept answer was found with them.
    """
    text = held = ""
    marks: Sequence[Mark] | None = None
    with closing(events):
        for event in events:
            if isinstance(event, Found) or (isinstance(event, Answer) and (event.abstained or event.matched)):
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
    """What stands in the place of an answer that is marked wrong."""
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
