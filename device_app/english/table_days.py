"""Parses the days in a question about a table: "in March and May", "in the first half of 2026", "in summer"."""

from __future__ import annotations

import calendar
import re
from datetime import date
from itertools import pairwise
from typing import Final

from device_app.english import dates, periods
from device_app.english.cells import WORD
from device_app.english.dates import Span

_ORDINALS: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 0}
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_PART: Final = re.compile(
    rf"\b(?:(?:in|during|for|of) )?(?:the )?(?:(?P<ordinal>{'|'.join(_ORDINALS)}) (?P<unit>quarter|half)|"
    rf"q(?P<quarter>[1-4])|h(?P<half>[12])|(?<=in )(?P<season>{'|'.join(_SEASONS)}))"
    r"(?: (?:of )?(?:(?:the|this) year|(?P<last>last year)|(?P<year>(?:19|20)\d\d)))?(?!\w)"
)
_MONTHS: Final = "|".join([*calendar.month_name[1:], *calendar.month_abbr[1:], "sept"]).lower()
_DAY_OF: Final = re.compile(r"\d(?:st|nd|rd|th)? of $")
_BARE: Final = re.compile(
    rf"(?:\b(?:between|and|or|to|until|till|before|after|since|from|through|for|of)|,) "
    rf"(?=(?:{_MONTHS})\b(?! \d{{1,2}}\b)|\d{{1,2}}(?:st|nd|rd|th)? may\b)"
    r"|\b(?:before|after|since|until|till) (?=(?:19|20)\d\d\b(?! (?:euros?|eur|chf|usd|km|m|kg|g)\b))"
)
_THE_YEAR: Final = re.compile(r"(?<=\bof )the (year|month|week)(?!\w)")
_JOINED: Final = re.compile(r"[\s,]*(?:and|or|&|,)?(?: in| on| from)?(?: the)?\s*")


def days(text: str, today: date) -> tuple[list[Span] | None, frozenset[int]]:
    """Return the days in a text in lower case, with the indexes of their words.

    The days are None if they are not understood; open ends are `date.min` and `date.max`. A day without a year is taken
    to be past.
    """
    text, places = _with_prepositions(text)
    spans, dated = _days(text, today)
    return spans, frozenset(places[place] for place in dated) - {-1}


def _with_prepositions(text: str) -> tuple[str, list[int]]:
    """Return the text with "in" before months and years without a preposition, and each word's former index."""
    bare = [match for match in _BARE.finditer(text) if not _DAY_OF.search(text, 0, match.end())]
    inserted = {match.end() for match in bare}
    places, words = [], list(WORD.finditer(text))
    for place, word in enumerate(words):
        places += [-1, place] if word.start() in inserted else [place]
    for end in sorted(inserted, reverse=True):
        text = f"{text[:end]}in {text[end:]}"
    return text, places


def _days(text: str, today: date) -> tuple[list[Span] | None, frozenset[int]]:
    if match := _PART.search(text):
        if dates.places(text[: match.start()] + text[match.end() :]):
            return None, frozenset()
        span = _part(match, today)
        return [span], _within(text, match.start(), match.end())
    text = _THE_YEAR.sub(r"this \1", text)
    if period := periods.read(text, today):
        words, rest = WORD.findall(text), WORD.findall(period.rest)
        start = next(
            (place for place, (word, left) in enumerate(zip(words, rest, strict=False)) if word != left), len(rest)
        )
        spans = [(period.first or date.min, period.last or date.max)]
        return spans, frozenset(range(start, start + len(words) - len(rest)))
    mentions = dates.mentions(text, today)
    between = [text[before.end : behind.start] for before, behind in pairwise(mentions)]
    spans = [past[-1] for mention in mentions if (past := [span for span in mention.spans if span[0] <= today])]
    if len(spans) < len(mentions) or not all(map(_JOINED.fullmatch, between)):
        return None, frozenset()
    return spans, frozenset[int]().union(*(_within(text, mention.start, mention.end) for mention in mentions))


def _part(match: re.Match[str], today: date) -> Span:
    """Return the days of a quarter, a half or a season, by default of the last one that has started."""
    if match["season"]:
        first, months = _SEASONS[match["season"]], 3
    else:
        months = 6 if match["half"] or match["unit"] == "half" else 3
        number = int(match["quarter"] or match["half"] or _ORDINALS[match["ordinal"]]) or 12 // months
        first = (number - 1) * months + 1
    year = int(match["year"]) if match["year"] else today.year - bool(match["last"])
    if not match["year"] and date(year, first, 1) > today:
        year -= 1
    end = first + months - 1
    last_year, last = year + (end > 12), (end - 1) % 12 + 1
    return date(year, first, 1), date(last_year, last, calendar.monthrange(last_year, last)[1])


def _within(text: str, start: int, end: int) -> frozenset[int]:
    return frozenset(place for place, word in enumerate(WORD.finditer(text)) if start <= word.start() < end)
