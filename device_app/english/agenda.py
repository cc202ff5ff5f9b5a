"""Recognises questions about an agenda: which events there are, whether the person is free, when the next event is.

A question has to match as a whole, apart from the days that it names (`windows`). Reads no store.
"""

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, Literal, get_args

from device_app.english.following import is_bare_follow_up
from device_app.english.phrases import bare, load
from device_app.english.spelling import nearest
from device_app.english.stemming import stemmed
from device_app.english.stop_words import word_set
from device_app.english.terms import plain, terms
from device_app.english.windows import Window, window_in

Ask = Literal["count", "list", "any", "free", "busy", "next", "when", "about", "whether"]
"""The kinds of questions about an agenda, in the order in which they are tried.

They ask for the number of events on some days (count), the events (list), whether there are any (any), whether the
person is free or busy, the next event, the day of an event (when), the events about a subject (about), or whether one
about a subject exists (whether).
"""

_MOST_CHARACTERS: Final = 160
_MOST_WORDS: Final = 6
_AHEAD: Final = timedelta(days=6)

_READ: Final = load("agenda")
_ASKS: Final[tuple[Ask, ...]] = get_args(Ask)
"""The kinds of questions in the order in which they are tried: phrases with any subject come last."""

_DAY_WORDS: Final = word_set(
    """today tomorrow yesterday tonight weekend morning afternoon evening monday tuesday wednesday thursday friday
        saturday sunday appointment appointments calendar"""
)
_NEARLY: Final = 0.86
"""The similarity (difflib) from which a word counts as a misspelled name of a day, with one or two wrong letters."""

_OF_A_DAY: Final = re.compile(
    r"(?:today|tomorrow|tonight|yesterday|week|month|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)'?s"
)
_WORD: Final = re.compile(r"[a-z']+")
_DANGLING: Final = re.compile(
    r"(?:^| )(?:on|for|in|from|between|during|over|at|of|within|until|by|throughout)(?: (?:the|my))?$"
)
"""A preposition left at the end of a text after the days behind it were removed."""

_GOES_ON: Final = re.compile(r"^(?:ok(?:ay)? |(?:and|or|but|(?:what|how) about) )+")
_WAS: Final = re.compile(r"\b(?:was|were|did|had|yesterday)\b")
_UPCOMING: Final = re.compile(
    r"\b(?:calendar|agenda|schedule|diary|planner|upcoming|coming up|lined up|appointments|plans)\b"
)
_UNIT: Final = re.compile(r"\b(?:weekend|week|month)\b")
_GENERIC: Final = word_set(
    "appointment event meeting date commitment engagement calendar entry thing activity plan planned"
)
_MEETINGS: Final = word_set(
    "meeting meetings meet call calls round standup review interview conference workshop sync briefing committee board"
)
_POINTS: Final = word_set(
    """anything nothing something anybody anyone it that this those these he she they his her their him them there one
    ones"""
)
_ANY_EVENT: Final = frozenset(map(stemmed, _GENERIC))
_SOFT: Final = frozenset(map(stemmed, word_set("training lesson class workout practice session visit trip")))


@dataclass(frozen=True, slots=True)
class AgendaQuestion:
    """A question about an agenda. `words` are the stems that name the subject of the events; empty for any event.

    `window` is None only for "next" and "when". `is_past`: the question is about past events; `of_meetings`: it counts
    only meetings.
    """

    ask: Ask
    window: Window | None
    words: tuple[str, ...] = ()
    subject: str = ""
    is_past: bool = False
    of_meetings: bool = False


def read(question: str, today: date) -> AgendaQuestion | None:
    """Parse a question about an agenda; return None for any other or an unclear question."""
    if len(question) > _MOST_CHARACTERS:
        return None
    text = _normal(question)
    window: Window | None = None
    if named := window_in(text, today, is_past=bool(_WAS.search(text))):
        window, text = named
    elif window_in(f"{text} today", today) is None:  # two different days, or a time without a day
        return None
    remainders = (text, _DANGLING.sub("", text))
    for ask in _ASKS:
        for remainder in remainders:
            if (groups := _READ[ask].read(remainder)) is not None:
                asked = _question(ask, window, groups.get("subject", ""), remainder, today)
                of_meetings = ask == "count" and "meetings" in remainder.split()
                return asked and replace(asked, is_past=bool(_WAS.search(remainder)), of_meetings=of_meetings)
    return None


def names_meeting(title: str) -> bool:
    """Return whether the title of an event says that people meet: "Call with Petra", "Design review"."""
    return not _MEETINGS.isdisjoint(terms(plain(title)))


def following(question: str, before: str, today: date) -> AgendaQuestion | None:
    """Parse a question that only names other days for the question `before`: "And on Friday?".

    Return None if `before` is no question about an agenda of some days, or if this question says anything else.
    """
    asked = read(before, today) if is_bare_follow_up(question) and len(question) <= _MOST_CHARACTERS else None
    if asked is None or asked.window is None:
        return None
    text = _GOES_ON.sub("", _normal(question))
    window, rest = window_in(text, today, is_past=bool(_WAS.search(_normal(before)))) or (None, text)
    return replace(asked, window=window) if window and not _DANGLING.sub("", rest) else None


def _normal(question: str) -> str:
    """Return a question in lower case, without polite words and commas, with misspelled names of days corrected."""
    return _WORD.sub(_spelled, " ".join(plain(bare(question)).replace(",", " ").split()))


def _stems(subject: str) -> tuple[str, ...]:
    """Return the stems of a subject, without generic words such as "training" in "rowing training"."""
    stems = [stem for word in terms(subject) if (stem := stemmed(word)) not in _ANY_EVENT]
    return tuple(stem for stem in stems if stem not in _SOFT) or tuple(stems)


def _spelled(match: re.Match[str]) -> str:
    """Return a word with a misspelled name of a day corrected and its genitive removed: "tomorow", "todays"."""
    word = re.sub(r"'?s$", "", match[0]) if _OF_A_DAY.fullmatch(match[0]) else match[0]
    return nearest(word, _DAY_WORDS, _NEARLY)


def _question(ask: Ask, window: Window | None, subject: str, text: str, today: date) -> AgendaQuestion | None:
    if _POINTS & set(subject.split()):
        return None
    words = _stems(subject) if subject else ()
    if len(words) > _MOST_WORDS:
        return None
    if ask == "next" or (ask == "when" and window is None and words):
        return AgendaQuestion(ask, window, words, subject)
    if window is None and ask == "list":
        window = _unnamed(text, today)
    if window is None or (ask in ("when", "about", "whether") and not words):
        return None
    if ask in ("free", "busy") and (window.last - window.first).days > 31:
        return None
    return AgendaQuestion(ask, window, words, subject)


def _unnamed(text: str, today: date) -> Window | None:
    """Return the days that a question means without naming them: "my week", "what is coming up?"; None for others."""
    if (unit := _UNIT.search(text)) and (named := window_in(f"this {unit[0]}", today)):
        return named[0]
    if _UPCOMING.search(text):
        return Window(today, today + _AHEAD)
    return Window(today, today) if text.endswith(" on") else None
