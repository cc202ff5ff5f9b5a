"""Reads of a sentence that moves an event what held before and what is new. Pure."""

import re
from datetime import date
from functools import lru_cache
from typing import Final

from device_app.english import clocks, dates

_KEPT: Final = 4096
_ANY_DAY: Final = date(2026, 1, 1)
"""A day on which to read a text only to learn whether it names a day."""

MOVED: Final = (
    r"moved(?! in\b| out\b| into\b)|rescheduled|postponed|pushed|shifted|brought forward|put (?:off|back)|delayed|"
    r"changed|relocated|adjourned|deferred"
)
VERB: Final = (
    r"mov(?:e|ed|ing)|reschedul(?:e|ed|ing)|postpon(?:e|ed|ing)|push(?:ed|ing)?|shift(?:ed|ing)?|delay(?:ed|ing)?|"
    r"bring|brought|bringing|put(?:ting)?|chang(?:e|ed|ing)|cancel(?:l?ed|l?ing)?|call(?:ed|ing)?|defer(?:red)?"
)
_OLD_AND_NEW: Final = (
    re.compile(r"(?P<new>.*)\b(?:instead of|rather than) (?P<held>.+)"),
    re.compile(r"\b(?:no longer|not) (?P<held>(?:on|at)\b.+?)(?:,? but |[,;] )(?P<new>.+)"),
    re.compile(r"(?P<new>.+?),? (?:and )?(?:not|no longer) (?P<held>.+)"),
    re.compile(r"(?P<before>.*)\bfrom (?P<held>.+?) (?:to|until|till) (?P<new>.+)"),
    re.compile(rf"(?P<held>.*?)\b(?:{MOVED}|{VERB}|moves|shifts)\b.*?\b(?:to|until|till|for) (?P<new>.+)"),
    re.compile(r"(?P<held>.*?)\bnew \w+(?: time)?\b.*?(?:\bis\b|\bare\b|\bbe\b|:| [–-] |\bon\b|\bat\b)(?P<new>.+)"),
    re.compile(rf"(?P<held>.*?)\b(?:{MOVED}) ?[:–-] ?(?P<new>.+)"),
    re.compile(r"(?P<held>.*?)\bnow\b(?P<new>.+)"),
    re.compile(rf"(?!.*\binstead\b|correction|update)(?P<held>.*\b(?:{MOVED}|{VERB})\b.*)(?P<new>)"),
)
"""Ways to say what held before and what is new; the first that fits counts."""


def says_when(text: str) -> bool:
    """Return whether a text in lower case names a day or a time."""
    return names_day(text) or bool(clocks.named(text))


@lru_cache(_KEPT)
def names_day(text: str) -> bool:
    """Return whether a text in lower case names a day, a week, a month or a year."""
    return bool(dates.named(text, _ANY_DAY))


def old_and_new(text: str) -> tuple[str, str]:
    """Return the words about what held before, and those about what is new; all words are new if nothing says more."""
    for pattern in _OLD_AND_NEW:
        if match := pattern.search(text):
            parts = match.groupdict()
            if says_when(parts["held"]) or says_when(parts["new"]):
                return _with_days(parts["held"], parts["new"])
    return "", text


def _with_days(held: str, new: str) -> tuple[str, str]:
    """Return both texts; where only the new one has a day and the old one only a time, the day is that of both."""
    if clocks.named(held) and not names_day(held) and names_day(new):
        return f"{clocks.without(new)} at {held.removeprefix('at ')}", new
    return held, new
