"""Recognises questions about an agenda: which events there are, whether the person is free, when the next event is.

The days that a question names are removed first (`windows`). Its other words may stand in any order: words that ask for
a calendar, for free time, for the next or the last time. All other words name one event; if they stand in two separate
places, or if a word asks for something else, the question is not about an agenda.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final, Literal

from device_app.english.calendar_words import asks_of_calendar_days, names_no_event
from device_app.english.following import is_bare_follow_up
from device_app.english.politeness import bare
from device_app.english.slots import Slot, Vocabulary, normal
from device_app.english.spelling import nearest
from device_app.english.stemming import stemmed
from device_app.english.stop_words import word_set
from device_app.english.terms import plain, terms
from device_app.english.windows import Window, window_in

Ask = Literal["count", "list", "any", "free", "busy", "next", "last", "when", "until", "about", "whether"]
"""What is asked about events.

"count", "list", "any", "free" and "busy" ask about the events of some days: how many, which, whether there are any, and
whether the person is free or busy. "next" and "last" ask for an event, "when" for its date, "until" for the days until
then, "about" for an event of some days by its subject, "whether" whether it exists.
"""

_MOST_CHARACTERS: Final = 160
_MOST_WORDS: Final = 6
_FEW, _MOST_FREE = 4, 31
_AHEAD: Final = timedelta(days=6)

_WORDS: Final = Vocabulary.load("agenda")
_OF_SOMEBODY: Final = re.compile(
    r"\b(?!(?:today|tomorrow|yesterday|tonight|\w+day|week|weekend|month|year|what|where|who|when|that|there)['’])"
    r"[^\W\d_]+['’]s (?:own )?(?:calendar|agenda|diary|schedule)\b",
    re.IGNORECASE,
)
"""Matches somebody else's calendar, which the files do not have: "Petra's calendar"."""

_INSIDE: Final = frozenset(["with", "filler", "free", "start", "planned", "my"])
"""The kinds of words that may stand inside the name of an event: "opening of the stairs"."""

_BEHIND_EVENT: Final = frozenset(["free", "things", "meetings"])
_CUES: Final = frozenset(["look", "planned", "calendar", "things", "meetings", "free", "busy", "any", "full", "next"])
_OF_DAYS: Final = frozenset(
    [
        "doing",
        "up to",
        "get up to",
        "look",
        "looks",
        "look like",
        "summary",
        "overview",
        "going on",
        "happening",
        "happen",
        "happens",
    ]
)
"""Words of questions that, about a past day, may ask for more than the calendar's events: "What did I do on Friday?".
"""

_TO_COME: Final = frozenset(["coming up", "scheduled", "upcoming", "in the calendar", "in my calendar", "in the diary"])
_HAPPENING: Final = frozenset(["happening", "happen", "taking place", "take place", "going ahead"])
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
"""A preposition left at the end of a text after the days that followed it were removed."""

_GOES_ON: Final = re.compile(r"^(?:ok(?:ay)? |(?:and|or|but|(?:what|how) about) )+")
_WAS: Final = re.compile(r"\b(?:was|were|did|had|yesterday)\b")
_UPCOMING: Final = re.compile(
    r"\b(?:calendar|agenda|schedule|diary|planner|upcoming|coming up|lined up|appointments|plans)\b"
)
_UNIT: Final = re.compile(r"\b(?:weekend|week|month|day)\b")
_GENERIC: Final = word_set(
    "appointment event meeting date commitment engagement calendar entry thing activity plan planned"
)
_MEETINGS: Final = word_set(
    "meeting meetings meet call calls round standup review interview conference workshop sync briefing committee board"
)
_JOINS: Final = word_set("and or")
_DUE: Final = word_set("due deadline deadlines tasks to-dos todos")
_ANY_EVENT: Final = frozenset(map(stemmed, _GENERIC))
_SOFT: Final = frozenset(map(stemmed, word_set("training lesson class workout practice session visit trip")))


@dataclass(frozen=True, slots=True)
class AgendaQuestion:
    """A question about an agenda. `words` are the stems that name the subject of the events; empty for any event.

    `window` is None only for "next", "last", "when" and "until". `is_past`: the question is about the past;
    `of_meetings`: only meetings are counted. `of_due`: what is due is asked for, of no named event.
    """

    ask: Ask
    window: Window | None
    words: tuple[str, ...] = ()
    subject: str = ""
    is_past: bool = False
    of_meetings: bool = False
    of_due: bool = False


def read(question: str, today: date, *, is_past: bool = False) -> AgendaQuestion | None:
    """Return what is asked about an agenda; None if the question asks for something else, or is ambiguous.

    A day without a year is the next one, or the last one with `is_past` or where the question says so.
    """
    text = _normal(question) if len(question) <= _MOST_CHARACTERS else ""
    if not text or asks_of_calendar_days(text):
        return None
    window: Window | None = None
    if named := window_in(text, today, is_past=is_past or bool(_WAS.search(text))):
        window, text = named
    elif window_in(f"{text} today", today) is None:  # two different days, or a time without a day
        return None
    is_asked = question.rstrip().endswith("?")
    for remainder in dict.fromkeys((text, _DANGLING.sub("", text))):
        if asked := _asked(remainder, window, today, is_asked=is_asked):
            return asked
    return None


def _asked(text: str, window: Window | None, today: date, *, is_asked: bool) -> AgendaQuestion | None:
    """Return what is asked by a text whose days were removed; None if it asks for anything else."""
    if _OF_SOMEBODY.search(text):
        return None
    slots = _WORDS.read(normal(text))
    kinds = {slot.kind for slot in slots}
    runs = [place for place, slot in enumerate(slots) if not slot.kind]
    is_past = bool(_WAS.search(text))
    inside = {slot.kind for slot in slots[runs[0] : runs[-1]]} if runs else set[str]()
    if not slots or "other" in kinds or inside - _INSIDE - {""} or ("changed" in kinds and not runs):
        return None
    subject = _subject(slots, runs) if runs else ""
    if _JOINS.intersection(subject.split()[:1] + subject.split()[-1:]):
        return None  # of "this week or next", only the first days were understood
    if subject and any(slot.text.startswith("deadline") for slot in slots):
        return None  # of all deadlines, the calendar may lack this one
    ask_of = _ask_of_event if runs else _ask
    ask = ask_of(slots, kinds, window, is_asked=is_asked)
    is_one = "last" in kinds and window and not runs  # the last event of some days is not their list
    if (
        not ask
        or is_one
        or (is_past and not runs and not kinds & {"calendar", "things", "last"} and _is_of_days(slots))
    ):
        return None
    asked = _question(ask, window, subject, text, today)
    of_meetings, of_due = ask == "count" and "meetings" in kinds, any(slot.text in _DUE for slot in slots)
    return asked and replace(asked, is_past=is_past, of_meetings=of_meetings, of_due=of_due and not subject)


def _ask(slots: Sequence[Slot], kinds: set[str], window: Window | None, *, is_asked: bool) -> Ask | None:
    """Return what a question asks about events in general, such as how many there are; None if it asks for nothing."""
    has = "i" in kinds and any(slot.text in ("have", "had", "got") for slot in slots)
    asks = bool(kinds & {"wh", "where", "when", "whether", "all"})
    is_whether = slots[0].kind in ("whether", "any") and not kinds & {"wh", "where", "when"}
    readings: tuple[tuple[object, Ask], ...] = (
        (kinds & {"many", "full"} and (kinds & {"things", "meetings", "full"} or has), "count"),
        ("free" in kinds and "many" not in kinds and (kinds - {"free", "planned", "filler"} or is_asked), "free"),
        ("busy" in kinds, "busy"),
        (window is None and "next" in kinds, "next"),
        (window is None and "last" in kinds and kinds & {"things", "meetings"}, "last"),
        (is_whether and kinds & {"any", "things", "meetings"} and (kinds & _CUES or has), "any"),
        (
            kinds & (_CUES - {"any", "free"}) and (asks or "calendar" in kinds or (window and slots[-1].text != "on")),
            "list",
        ),
        ("look" in kinds and window and "i" not in kinds, "list"),
        (kinds >= {"things", "planned"}, "list"),
        (asks and (has or ("my" in kinds and "day" in kinds) or ("day" in kinds and "all" in kinds)), "list"),
        ("where" in kinds and "i" in kinds, "list"),
        ("my" in kinds and "day" in kinds and len(slots) <= _FEW, "list"),
    )
    return next((ask for is_so, ask in readings if is_so), None)


def _ask_of_event(slots: Sequence[Slot], kinds: set[str], window: Window | None, *, is_asked: bool) -> Ask | None:
    """Return what a question asks about an event that it names, such as when it is; None if it asks for nothing."""
    has_did = any(slot.text == "did" for slot in slots)
    is_whether, is_on = slots[0].kind == "whether", slots[-1].text in _HAPPENING
    is_on = is_on or (slots[-1].text == "on" and any(slot.text == "still" for slot in slots))
    readings: tuple[tuple[object, Ask | None], ...] = (
        ("changed" in kinds, ("about" if window else "when") if is_whether else None),  # no "yes": which is cancelled?
        (is_whether and is_on and window is None, "when"),
        ("many" in kinds, "count" if window and kinds & {"things", "meetings"} else None),
        (kinds & {"full", "busy"} or (window is None and "where" in kinds), None),
        ("next" in kinds, "next"),
        ("last" in kinds and window is None and ("i" in kinds or not has_did), "last"),
        ("when" in kinds, "when" if window or not has_did else None),
        ("until" in kinds, None if window else "until"),
        ("where" in kinds, "about"),
        (kinds & {"things", "meetings", "calendar"}, "about" if window else "when"),
        (window and is_whether, "whether"),
        (is_whether and any(slot.text in _TO_COME for slot in slots), "when"),
        (window and is_asked and len(slots) <= _FEW and "wh" not in kinds, "about"),
    )
    return next((ask for is_so, ask in readings if is_so), None)


def _subject(slots: Sequence[Slot], runs: Sequence[int]) -> str:
    """Return the name of an event, with words beside it that may belong to it: "the stairs open"."""
    last = runs[-1] + 1
    while last < len(slots) and slots[last].kind in _BEHIND_EVENT:
        last += 1
    return " ".join(slot.text for slot in slots[runs[0] : last])


def _is_of_days(slots: Sequence[Slot]) -> bool:
    texts = {slot.text for slot in slots}
    cues = {slot.text for slot in slots if slot.kind in _CUES}
    return {"did", "do"} <= texts or (
        cues - {"on"} or cues
    ) <= _OF_DAYS  # "on" may belong to the day: "up to on Friday"


def names_meeting(title: str) -> bool:
    """Return whether the title of an event says that people meet: "Call with Petra", "Design review"."""
    return not _MEETINGS.isdisjoint(terms(plain(title)))


def says_due(title: str) -> bool:
    """Return whether the title of an event says that something is due then: "Deadline of the prize"."""
    return not _DUE.isdisjoint(plain(title).split())


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
    if names_no_event(subject):
        return None
    words = _stems(subject) if subject else ()
    if len(words) > _MOST_WORDS:
        return None
    if ask in ("next", "last") or (ask in ("when", "until") and window is None and words):
        return AgendaQuestion(ask, window, words, subject)
    if window is None and ask == "list":
        window = _unnamed(text, today)
    if window is None or (ask in ("when", "about", "whether") and not words):
        return None
    is_long = (window.last - window.first).days > _MOST_FREE
    return None if is_long and ask in ("free", "busy") else AgendaQuestion(ask, window, words, subject)


def _unnamed(text: str, today: date) -> Window | None:
    """Return the days meant by a question that names none: "my week", "what is coming up?", "what is on?"."""
    if (unit := _UNIT.search(text)) and (named := window_in(f"this {unit[0]}".replace("this day", "today"), today)):
        return named[0]
    if _UPCOMING.search(text):
        return Window(today, today + _AHEAD)
    return Window(today, today) if text.endswith(" on") else None
