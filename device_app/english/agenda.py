"""Recognises questions about an agenda: what is on, whether one is free, when the next one is. Reads no store.

A whole text has to match, without the days that it names (`windows`).
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import get_close_matches
from typing import Final, Literal

from device_app.english.phrases import Phrases
from device_app.english.stemming import stemmed
from device_app.english.stop_words import word_set
from device_app.english.terms import plain, terms
from device_app.english.windows import Window, window_in

Ask = Literal["list", "any", "count", "free", "busy", "next", "when", "about", "whether"]
"""What is asked: the events of some days, whether there are any, how many, whether one is free or busy then, the next
event, when an event is, an event of some days by its subject, or whether there is one.
"""

_MOST_CHARACTERS: Final = 160
_MOST_WORDS: Final = 6
_AHEAD: Final = timedelta(days=6)

_NAMES: Final = {
    "me": "i|we",
    "my": "my|the|our|your|any|all my|all the|all of my",
    "thing": "appointment|event|meeting|date|commitment|engagement|calendar entry|calendar event|activity",
    "things": "appointments|events|meetings|plans|commitments|engagements|calendar entries|calendar events|"
    "activities|dates",
    "calendar": "calendar|agenda|schedule|diary|planner|itinerary|timetable|calender",
    "where": "(in|on) [my|the|our]* <calendar>",
    "planned": "on|planned|scheduled|booked|arranged|lined up|coming up|going on|happening|up|due|in store|up next|"
    "to do|to attend|to go to|special",
    "what": "what is|what's|whats|what are|what was|what were|what will be|what all is|what else is|is there",
    "have": "do <me> have|have <me> got|do <me> got|did <me> have|will <me> have|have <me>|<me> have|am i having",
    "any": "anything|something|any <things>|any <thing>|an <thing>|a <thing>|<things>|much|anything else|a lot",
    "exists": "(is|are|was|were|will) there [be]",
    "around": "for me|for us|with me|with us|then|there|at all|already|exactly|today",
}

_PHRASES: Final[dict[Ask, str]] = {
    "count": """
        how many (<things>|things) (<have>|<exists>|are) [<planned>]* [<where>] [<around>]*
        how (busy|full) (am|are|is|will|was) (<me>|[my|the] (day|week|month|<calendar>)) [be]
        """,
    "list": """
        <what> [on] [there] [happening] <planned> [<around>]* [<where>] [<around>]*
        <what> [happening|planned|scheduled] [<around>]* <where>
        <what> [<my>] (<calendar>|<things>|day|week|weekend|month|programme|program) [for|like|looking like]*
        what <have> [<planned>]* [<around>]* [<where>]
        what (am|are|will) <me> [be] (doing|up to) [<around>]*
        what (does|do|will|did) [<my>] [day|week|weekend|month|<calendar>]* look like
        how (does|do|will|did) [<my>] [day|week|weekend|month|<calendar>]* look [like]
        (show|give|tell|list|read|display|open|check|get|see|view) [me] [<my>]*
            (<calendar>|<things>|day|week|month) [for]
        (show|tell|list|give) [me] (what is|what's|whats) <planned> [<where>]
        (show|tell|list|give) [me] (everything|all|all <things>|what is) [that is] [<planned>] [<where>] [for]
        [<my>]* (<calendar>|<things>) [for] [please]
        [<my>]* (<things>|<calendar>) (<planned>|(that|which) (are|is) <planned>) [<where>]
        (which|what) (<things>|<thing>) (<have>|<exists>|are|is|were|was) [<planned>]* [<around>]* [<where>]
        (where|when) (do|must|should) <me> (have to|need to|must) be [anywhere|somewhere]
        anything [else] [<planned>]* [<around>]* [<where>]
        """,
    "any": """
        <have> <any> [<planned>]* [<around>]* [<where>]
        <exists> <any> [<planned>]* [<around>]* [<where>]
        (is|are) (anything|something|any <things>) [<planned>]* [<around>]* [<where>]
        (am|are|will) <me> [be] doing (anything|something) [<around>]*
        (do|will) <me> (have|need) to be (anywhere|somewhere)
        (do|will) <me> have to go (anywhere|somewhere)
        (do|did|have) <me> (have|got|made|make) [any|other]* plans
        """,
    "free": """
        (am|are|will|was|were) <me> [be|still|completely|totally|all]* (free|available|off) [<around>]*
        (is|are|will) [my|the|our] [day|week|<calendar>|be|it|still]* (free|clear|empty|open|available)
        (do|will|did|would) <me> have [any|some|a]* (time|free time|spare time|room|gap|free slot|slot|nothing|
            nothing on) [free|on|off|planned]
        have <me> got [any|some]* (time|free time|spare time|a gap|a free slot|nothing on) [free]
        <have> nothing [<planned>] [<where>]
        can <me> make it
        """,
    "busy": """
        (am|are|will|was|were) <me> [be|already|very|too]* (busy|booked|booked up|occupied|engaged|taken|unavailable)
            [<around>]*
        (is|are) [my|the|our] [day|week|<calendar>|it]* (busy|full|booked|taken)
        """,
    "next": """
        when (is|are|will be|do <me> have) [my|the|our] next {subject}
        (when's|whens) [my|the|our] next {subject}
        (what is|what's|whats|where is|which is|who is) [my|the|our] next {subject}
        (show|tell|give) [me] [my|the|our] next {subject}
        [my|the|our] next {subject}
        (what is|what's|whats|what) [comes] [<planned>]* next [<where>]
        what <have> next [<where>]
        (what is|what's) the next thing <planned> [<where>]
        when do <me> have [my|the|our|a|an] {subject} next
        """,
    "when": """
        (when|what time|at what time|when exactly|which day|what day) (is|are|do <me> have|does|do) [my|the|our|a|an]
            {subject} [start|begin|take place|on|scheduled]* [<where>]
        (when's|whens) [my|the|our|a|an] {subject} [on]
        """,
    "about": """
        (when|where|what time|at what time|which day|what day) (was|were|did|is|are|does) [my|the|our|a|an] {subject}
            [start|begin|end|finish|take place|on|scheduled]* [<where>]
        (where's|wheres) [my|the|our|a|an] {subject} [on]
        (which|what) <things> (<have>|<exists>|are|is) [<planned>]* (with|about|at|for) {subject}
        (which|what) <things> (with|about|at|for) {subject} (<have>|<exists>|are|is) [<planned>]*
        [show|list] [me] [<my>]* <things> (with|about|at|for) {subject}
        """,
    "whether": """
        <have> [a|an|any|my|the] {subject} [<planned>] [<where>]
        <exists> [a|an|any|my|the] {subject} [<planned>] [<where>]
        (is|are|was|were) [my|the|our] {subject} [<planned>]* [<where>]
        """,
}
_READ: Final = {ask: Phrases.of(phrases, _NAMES) for ask, phrases in _PHRASES.items()}
_DAY_WORDS: Final = word_set(
    """today tomorrow yesterday tonight weekend morning afternoon evening monday tuesday wednesday thursday friday
        saturday sunday appointment appointments calendar schedule"""
)
_NEARLY: Final = 0.86
"""The similarity (difflib) from which a word is a day's, misspelled: one or two wrong letters."""

_OF_A_DAY: Final = re.compile(
    r"(?:today|tomorrow|tonight|yesterday|week|month|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day)'?s"
)
_WORD: Final = re.compile(r"[a-z']+")
_POLITE: Final = re.compile(
    r"^(?:(?:please|ok|okay|so|hey|hi|hello|jackdaw|well|and now|could you|can you|would you|will you|tell me"
    r"|let me know|do you know|i would like to know|i want to know|i'd like to know|remind me) )+(?:if |whether )?"
)
_AT_END: Final = re.compile(r"(?: (?:please|thanks|thank you|jackdaw|again|now))+$")
_DANGLING: Final = re.compile(
    r"(?:^| )(?:on|for|in|from|between|during|over|at|of|within|until|by|throughout)(?: (?:the|my))?(?: please)?$"
)
"""A preposition that stood before the days."""

_WAS: Final = re.compile(r"\b(?:was|were|did|had|yesterday)\b")
_UPCOMING: Final = re.compile(r"\b(?:calendar|agenda|schedule|diary|planner|coming up|lined up|appointments|plans)\b")
_UNIT: Final = re.compile(r"\b(?:weekend|week|month)\b")
_GENERIC: Final = word_set(
    "appointment event meeting date commitment engagement calendar entry thing activity session visit plan planned trip"
)
_POINTS: Final = word_set(
    """anything nothing something anybody anyone it that this those these he she they his her their him them there one
    ones"""
)
_STEMS: Final = frozenset(map(stemmed, _GENERIC))


@dataclass(frozen=True, slots=True)
class AgendaQuestion:
    """A question about an agenda. `words` are the stems that name what it is about, none for any event.

    `window` is None only for "next" and "when".
    """

    ask: Ask
    window: Window | None
    words: tuple[str, ...] = ()
    subject: str = ""


def read(question: str, today: date) -> AgendaQuestion | None:
    """Return what is asked of an agenda; None if the question is another one, or unsure."""
    if len(question) > _MOST_CHARACTERS:
        return None
    text = " ".join(plain(question).replace("’", "'").replace(",", " ").rstrip(" ?!.").split())
    text = _AT_END.sub("", _POLITE.sub("", _WORD.sub(_spelled, text)))
    window: Window | None = None
    if named := window_in(text, today, is_past=bool(_WAS.search(text))):
        window, text = named
    elif window_in(f"{text} today", today) is None:  # two different days, or a time without a day
        return None
    remainders = (_AT_END.sub("", text), _DANGLING.sub("", text))
    for ask, phrases in _READ.items():
        for remainder in remainders:
            if (groups := phrases.read(remainder)) is not None:
                return _question(ask, window, groups.get("subject", ""), remainder, today)
    return None


def _spelled(match: re.Match[str]) -> str:
    """Return a word as it is spelled, if it is nearly the name of a day, without a genitive: "tomorow", "todays"."""
    word = re.sub(r"'?s$", "", match[0]) if _OF_A_DAY.fullmatch(match[0]) else match[0]
    if len(word) < 6 or word in _DAY_WORDS:
        return word
    return next(iter(get_close_matches(word, _DAY_WORDS, 1, _NEARLY)), word)


def _question(ask: Ask, window: Window | None, subject: str, text: str, today: date) -> AgendaQuestion | None:
    if _POINTS & set(subject.split()):
        return None
    words = tuple(stem for word in terms(subject) if (stem := stemmed(word)) not in _STEMS) if subject else ()
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


def _unnamed(text: str, today: date) -> Window:
    """Return the days of a question that names none: "my week", "what is coming up?", "what is on?"."""
    if (unit := _UNIT.search(text)) and (named := window_in(f"this {unit[0]}", today)):
        return named[0]
    return Window(today, today + _AHEAD) if _UPCOMING.search(text) else Window(today, today)
