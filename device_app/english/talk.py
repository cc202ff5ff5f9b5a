"""Recognises small talk, and questions about the program itself, by their words in any order.

All words of a text have to be in one of the vocabularies `talk.txt` and `about.txt`: "Hi, when is the dentist?" has
others. Only requests to remind somebody and to change a calendar may have any. Each vocabulary lists words by kind; the
first kind of which the text has a word is its topic.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from device_app.english.slots import Vocabulary, in_full

_MOST_CHARACTERS: Final = 160
_FEW: Final = 3

_EMOTICON: Final = re.compile(r"(?<!\w)[:;]-?[()DPp](?!\w)|<3")
_SIGNS: Final = re.compile(r"[^\w\s']+")
_ASKS: Final = re.compile(
    r"(?:who|whom|whose|what|which|when|where|why|how|is|am i|are|was|were|do|does|did|can|could|will|should|"
    r"ha(?:s|ve|d)(?! a\b))\b"
)
_NEWS: Final = re.compile(r"\bnew (?:since|this|today|in|on|from)\b")
"""Matches what asks for news of a period or a person, unlike "What's new?"."""

_ADDRESSED: Final = re.compile(r"\b(?:you|your|u|ur|i|im|i've|that|this|it|jackdaw|me|my)\b")
_TO_IT: Final = re.compile(
    r"\b(?:you|your|yours|yourself|u|ur|jackdaw|program|app|assistant|tool|how (?:do|can|could|should|to) i|"
    r"where (?:do|can) i|(?:can|could|should) i ask|am i talking to|this thing)\b"
)
"""Matches words that address the program, or that ask how to use it."""

_TO_YOU: Final = re.compile(r"\b(?:you|your|yours|yourself|u|ur|jackdaw)\b")
_OWNED: Final = re.compile(r"\b(?:my|our) (?:own |private |personal |last |old |whole )*([\w'-]+)")
_THIS: Final = re.compile(r"\b(?:this|my (?:data|information|privacy))\b(?! (?:is )?\w*day\b)")
"""Matches words for the program and for what it has read, which only some topics are about: "is this private?"."""

_LEAVES: Final = re.compile(
    r"\b(?:leaves?|leaving|sent (?:out|off|anywhere|from)|uploaded)\b.*"
    r"\b(?:device|computer|phone|laptop|machine|tablet)\b"
)
"""Matches what asks whether data leave the device, whose words say nothing else."""

_SAID_WRONG: Final = re.compile(r"(?:that|this|it|no that)(?:'s| is| was| isn't| is not| wasn't| was not)\b")
_OF_THIS: Final = frozenset(["private", "offline", "who are you", "languages", "which model", "files safe"])
_OF_ITSELF: Final = frozenset(["help", "examples", "joke", "version", "which model", "not in files"])
"""Topics about the program even if the question does not address it."""

_WHEN: Final = (
    r"(?:to|that|in|at|on|by|before|after|today|tonight|tomorrow|next|every|each|later|(?:mon|tues|wednes|thurs|fri|"
    r"satur|sun)day)\b(?! (?:what|which|whom?|whose|when|where|how)\b)"
)
_OTHERS: Final = r"(?:(?!(?:of|for|about|from|to)\b)[\w'-]+ ){0,2}"
_ACT: Final = re.compile(
    r"(?:(?:hey|hi|hello|jackdaw|please|pls|(?:can|could|would|will) you|i (?:want|need) you to)[\s,]+)*"
    rf"(?:remind me {_WHEN}|(?:wake|ring|notify) me (?:up )?{_WHEN}|"
    rf"set (?:an?|the|my|another) {_OTHERS}(?:alarm|timer|reminder)\b|"
    r"(?:add|create|schedule|arrange|set up|enter|cancel|move|reschedule|postpone) (?:an?|the|my|our|another) "
    rf"{_OTHERS}(?:meeting|appointment|event|reminder)\b(?! (?:costs?|fees?|notes?|minutes)\b))",
    re.IGNORECASE,
)
"""Matches requests to remind somebody, and to change a calendar, whatever other words they have."""

_NO_TOPICS: Final = frozenset(["filler", "address", "thing", "device"])
_SAME: Final = {"use": "help", "examples": "what can you do"}
"""Kinds of words that count as a different topic, by kind."""


def topic(text: str) -> str | None:
    """Return the topic of small talk or of a question about the program, a kind of words; None for anything else."""
    if len(text) > _MOST_CHARACTERS or not text.strip():
        return None
    if not re.search(r"\w", text):
        is_emoji = any(unicodedata.category(character) == "So" for character in text)
        return "help" if "?" in text else "greeting" if is_emoji else None
    if _ACT.match(" ".join(text.split())):
        return "cannot"
    said = " ".join(_SIGNS.sub(" ", in_full(_EMOTICON.sub(" ", re.sub(r"[’`´]", "'", text)))).split())
    is_to_it = _TO_IT.search(said)
    return _small_talk(said) or _about_it(said) or (_about_it(_ABOUT.corrected(said)) if is_to_it else None)


def _small_talk(said: str) -> str | None:
    slots = _SMALL.read(said)
    kinds = {slot.kind for slot in slots} - {"filler"}
    is_short = len(slots) <= _FEW
    if "" in kinds or not kinds or (kinds == {"agreement"} and not is_short):
        return None
    if _NEWS.search(said) or (_ASKS.match(said) and "how are you" not in kinds):
        return None
    if kinds <= {"low", "glad", "insult", "praise"} and not is_short and not _ADDRESSED.search(said):
        return None
    return _first(_SMALL, kinds)


def _about_it(said: str) -> str | None:
    """Return the topic of a question that addresses the program, and so asks for nothing in the files."""
    slots = _ABOUT.read(said)
    kinds = {slot.kind for slot in slots}
    asked = _first(_ABOUT, kinds)
    is_of_leaving = asked == "private" and _LEAVES.search(said)
    if "device" in kinds and not _TO_YOU.search(said) and not is_of_leaving:
        return None  # "how do I reset my phone"
    is_to_it = (
        _TO_IT.search(said)
        or (asked in _OF_ITSELF and "thing" not in kinds)
        or (asked in _OF_THIS and _THIS.search(said))
        or is_of_leaving
        or (asked == "wrong" and _SAID_WRONG.match(said))
    )
    if not asked or not is_to_it or "" in kinds or not {*_OWNED.findall(said)} <= _THINGS:
        return None
    return _SAME.get(asked, asked)


def _first(vocabulary: Vocabulary, kinds: set[str]) -> str | None:
    return next((kind for kind in vocabulary.order if kind in kinds - _NO_TOPICS), None)


_SMALL: Final = Vocabulary.load("talk")
_ABOUT: Final = Vocabulary.load("about")
_THINGS: Final = frozenset(["questions", "question", "searches", "search", "name", "password"]) | frozenset(
    word for entry, kind in _ABOUT.kinds.items() if kind in ("thing", "device", "how to add") for word in entry.split()
)
