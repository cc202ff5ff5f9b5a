"""Finds the times of day that a text names: "15:00", "at 4", "half past three", "noon". Pure.

A time without "am" and "pm" may be either: "at 4" is 04:00 or 16:00. A bare hour counts only beside other times.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from device_app.english import dates
from device_app.english.lexicon import NUMBERS

_NUMBER: Final = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_CLOCK: Final = re.compile(
    rf"""(?<![\w.:/,-])(?:
        (?P<named>noon|midday|midnight)
        | (?P<part>half\ past|quarter\ past|quarter\ to)\ (?P<hour___>{_NUMBER})
        | (?P<hour>\d{{1,2}})[:.h](?P<minute>[0-5]\d)(?![\d.:]\d)(?:\ ?(?P<half>[ap])\.?m\b)?
        | (?P<hour_>{_NUMBER})\ ?(?:(?P<half_>[ap])\.?m\b|o'?clock\b)
        | (?<=\bat\ )(?P<hour__>{_NUMBER})(?![\w.:%€$])
    )(?!\w)""",
    re.VERBOSE,
)
_BESIDE: Final = re.compile(
    rf"\b(?:from|to|until|till|than|of|by|not|but)\ (?P<hour>{_NUMBER})(?![\w.:%€$])(?!\ (?:of|people|euros?|weeks?"
    r"|days?|hours?|minutes?|months?|[a-z]+s)\b)"
)
"""Matches a bare hour, which is a time only in a text with another sign of a time: "at 4 instead of 3"."""

_ALONE: Final = re.compile(rf"\s*(?:about |around )?(?P<hour>{_NUMBER})\s*")
"""Matches a bare hour that is the whole text, such as what stands behind "instead of"."""

_SHORT_DAYS: Final = {
    **{"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "weds": "wednesday"},
    **{"thu": "thursday", "thur": "thursday", "thurs": "thursday", "fri": "friday"},
}
_SHORT: Final = re.compile(
    rf"\b(?P<day>{'|'.join(sorted(_SHORT_DAYS, key=len, reverse=True))})\b\.?|\b(?<=on )(?P<end>sat|sun)\b"
)
_ENDS: Final = {"sat": "saturday", "sun": "sunday"}
_NAMED: Final = {"noon": 720, "midday": 720, "midnight": 0}
_PARTS: Final = {"half past": 30, "quarter past": 15, "quarter to": -15}
_STARTS: Final = re.compile(r"\b(?:start|begin|began|meet|o'?clock|instead|earlier|later)")
_DAY: Final = 24 * 60
_KEPT: Final = 4096
"""The number of texts whose times are kept, as the same ones are compared with many events."""


def in_full(text: str) -> str:
    """Return a text in lower case with the names of weekdays in full: "thu 26 november" names a Thursday."""
    return _SHORT.sub(lambda match: _SHORT_DAYS.get(match["day"] or "") or _ENDS[match["end"]], text)


@lru_cache(_KEPT)
def named(text: str) -> tuple[frozenset[int], ...]:
    """Return the times that a text in lower case names, in order; each as the minutes of the day that it may mean."""
    return tuple(minutes for _, _, minutes in _mentions(text))


def without(text: str) -> str:
    """Return a text in lower case without the times that it names."""
    for start, end, _ in reversed(list(_mentions(text))):
        text = f"{text[:start]} {text[end:]}"
    return text


def _mentions(text: str) -> Iterator[tuple[int, int, frozenset[int]]]:
    """Yield where each time begins and ends, and its minutes; numbers that belong to a day are no times."""
    matches = [*_CLOCK.finditer(text)] or [*filter(None, [_ALONE.fullmatch(text)])]
    if matches or _STARTS.search(text):
        matches += _BESIDE.finditer(text)
    days = dates.places(text) if matches else []
    end = 0
    for match in sorted(matches, key=lambda match: match.end()):
        start = match.start("hour") if match.re is _BESIDE else match.start()
        if start >= end and not any(first < match.end() and start < last for first, last in days):
            yield start, match.end(), _minutes(match)
            end = match.end()


def _minutes(match: re.Match[str]) -> frozenset[int]:
    part = {name.rstrip("_"): text for name, text in match.groupdict().items() if text}
    if "named" in part:
        return frozenset([_NAMED[part["named"]]])
    hour = int(NUMBERS.get(part["hour"], part["hour"]))
    minutes = hour * 60 + int(part.get("minute", 0)) + _PARTS.get(part.get("part", ""), 0)
    if half := part.get("half"):
        return frozenset([minutes % (_DAY // 2) + (_DAY // 2 if half == "p" else 0)])
    is_either = hour <= 12 and not match[0].startswith("0")
    return frozenset([minutes % _DAY, (minutes + _DAY // 2) % _DAY]) if is_either else frozenset([minutes % _DAY])
