"""Recognises what a question about an agenda names that is no event: seasons, feasts, regular days, and "it"."""

from __future__ import annotations

import re
from typing import Final

from device_app.english.stop_words import word_set

_POINTS: Final = word_set(
    """anything nothing something anybody anyone it that this those these he they she his her their him them there one
    ones"""
)
_SEASONS: Final = word_set("spring summer autumn fall winter season the a this next of astronomical meteorological")
_FEAST: Final = (
    r"(?:good friday|easter|christmas|xmas|boxing day|halloween|pentecost|whitsun|epiphany|ascension|corpus christi|"
    r"carnival|thanksgiving|mardi gras|(?:palm|easter|whit|shrove|ash|maundy|holy|ascension|black|christmas|"
    r"new year['’]?s?|valentine['’]?s|all saints['’]?|all souls['’]?|labou?r|mother['’]?s|father['’]?s|independence) "
    r"(?:sunday|monday|tuesday|wednesday|thursday|friday|saturday|eve|day))"
)
_MEANING: Final = re.compile(rf"what(?: is|['’]?s| are| does)? (?:an? |the )?{_FEAST}(?: mean| about)?\W*")
"""Matches a question for what a feast is: "what is Good Friday", not "what is on Good Friday"."""

_REGULAR: Final = re.compile(
    r"\b(?:(?:every|each) (?:other|second|third|fourth|2nd|3rd|4th|two|three|four|few)|alternat(?:e|ing)|fortnightly)\b"
)
"""Matches days of a rhythm, of which one day is not all: "every other Monday"."""


def asks_of_calendar_days(text: str) -> bool:
    """Return whether a question in lower case asks what a feast is, or names days of a rhythm."""
    return bool(_MEANING.fullmatch(text) or _REGULAR.search(text))


def names_no_event(subject: str) -> bool:
    """Return whether a subject points at something said before, or is only a season, which begins in no calendar."""
    words = {*subject.split()}
    return bool(_POINTS & words) or (bool(words) and words <= _SEASONS)
