"""Parses questions for mails and notes that no phrase of `listing` matches: all words but a name or topic are known.

A question has to contain a word for mails or notes, and at most one run of unknown words: a name or a topic.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from device_app.english import periods
from device_app.english.listing import Reading
from device_app.english.phrases import bare
from device_app.english.stop_words import STOP_WORDS, word_set

_MOST_CHARACTERS, _MOST_WORDS = 160, 4
_WORD: Final = r"[^\W_]+(?:['’.@-][^\W_]+)*"

_MAILS: Final = word_set("mail mails email emails e-mail e-mails inbox mailbox message messages")
_SEND: Final = word_set("send sent sends write wrote written mail mailed email emailed forward forwarded")
_RECEIVE: Final = word_set("receive received get got gotten arrive arrived came come reach reached have had")
_NOTES: Final = word_set("note notes noted entry entries memo jot jotted")
_COUNT: Final = word_set("many number count often total times amount much altogether")
_LATEST: Final = word_set("last latest newest recent recently lately")
_FILLERS: Final = (
    STOP_WORDS | _MAILS | _SEND | _RECEIVE | _NOTES | _COUNT | _LATEST | word_set(
        """show list give find display tell read open bring pull print search look fetch all any every each please there
        their exactly ever since until in total overall so far most thing things down put wrote sender subject title
        titled called named entitled whose say says said check contain content contents exist exists stored know see
        want need"""
    )
)  # fmt: skip


def read(question: str, today: date) -> Reading | None:
    """Parse a question for mails or notes; return None for any other question, or if its meaning is unclear."""
    text = bare(question)
    period = periods.read(text, today) if len(text) <= _MOST_CHARACTERS else None
    words = re.findall(_WORD, (period.rest if period else text).lower())
    is_note = bool(_NOTES & {*words})
    is_mail = bool(_MAILS & {*words} or (_SEND & {*words} and (_COUNT | _LATEST) & {*words} and not is_note))
    if is_mail == is_note or len(text) > _MOST_CHARACTERS:
        return None
    name = _other(words)
    if name is None:
        return None
    if is_note:
        order = next((word for word in words if word in _LATEST), "")
        return Reading("latest", {"order": order, "topic": name}, period) if order and name else None
    form = "count" if _COUNT & {*words} else "latest" if _LATEST & {*words} else "list"
    parts = _roles(words, name)
    if form == "latest":
        parts["order"] = "last"
    if any(word.startswith("message") for word in words):
        parts["kind"] = "messages"
    return Reading(form, parts, period) if name or period or form == "count" else None


def other_words(text: str) -> list[str]:
    """Return the words of a text that do not occur in questions for mails: the words of a title."""
    return [word for word in re.findall(_WORD, text.lower()) if word not in _FILLERS]


def speaks_of_mail(text: str) -> bool:
    """Return whether a text has a word for a mail."""
    return bool(_MAILS & {*re.findall(_WORD, text.lower())})


def _other(words: list[str]) -> str | None:
    """Return the run of unknown words; "" if all words are known, None for several runs or too many words."""
    places = [place for place, word in enumerate(words) if word.removesuffix("'s") not in _FILLERS]
    if not places:
        return ""
    first, last = places[0], places[-1]
    if last - first >= _MOST_WORDS or len(places) < last - first + 1:
        return None
    return " ".join(words[first : last + 1])


def _roles(words: list[str], name: str) -> dict[str, str]:
    """Return the role of the name in the mail (such as sender), by the words before it and those beside "I"."""
    said = " ".join(words)
    i_send = re.search(rf"\b(?:i|we) (?:have |ever |had )?(?:{'|'.join(_SEND)})\b", said) is not None
    if name and re.search(rf"\b(?:about|on|regarding|concerning|mention\w*) (?:the |my )?{re.escape(name)}", said):
        return {"topic": name}
    if name:
        return {"to" if i_send or re.search(rf"\bto {re.escape(name)}", said) else "whose": name}
    return {"mine" if i_send else "me": "i"} if re.search(r"\b(?:i|we|me)\b", said) else {}
