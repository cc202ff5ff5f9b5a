"""Parses questions for dates and times: "How many days until 5 May?", "What time is it in Tokyo?".

Except for days, places and times of day, all words must be in the vocabulary; they may stand in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Final

from device_app.english import periods
from device_app.english.periods import Period
from device_app.english.places import zone
from device_app.english.slots import Vocabulary, normal

_MOST_CHARACTERS: Final = 160
_MOST_OF_NAME: Final = 3
"""The most words of a place."""

_PAST = re.compile(r"\b(?:was|were|did|fell|born|ago)\b")
_HALF_OF_DAY = re.compile(r"(?<=\d) (?:o'clock )?(?:in|at) (?:the )?(morning|afternoon|evening|night)\b")
_AT = re.compile(
    r"(?<![\w.:])(?:(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\b\.?)?(?: ?o'clock)?|"
    r"(?P<named>noon|midday|midnight))(?![\w:])"
)
_NAMED_TIMES: Final = {"noon": time(12), "midday": time(12), "midnight": time(0)}
_BETWEEN = re.compile(r"\b(?:between|from) (?P<first>.+?) (?:and|to|until|till|through) (?P<last>.+)$")
_IS_WEEKDAY = re.compile(
    r"(?:is|was|will|does|did) (?P<date>.+?)(?: be| fall| land)?(?: on)?(?: an?| the)? "
    r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
)
_SPAN = re.compile(
    r"\b(?P<in>in |after )?(?P<span>half an hour|\w+ (?:minute|hour)s?(?: and \w+ minutes?)?)"
    r"(?P<ago> from now| ago| later)?$"
)
_YEAR = re.compile(r"\b(?:(?:19|20|21)\d\d|(?:this|next|last) year)\b")
_FEAST = re.compile(r"\b(?:christmas|easter|good friday|halloween|new year|valentine)", re.IGNORECASE)
_TURN = re.compile(r"\b(?:next|last|previous|coming|upcoming)\b")
_OPENS: Final = (
    (re.compile(r"\b(?:until|till|til|before)\b|(?<=days |eeks |nths |long )to\b"), "until"),
    (re.compile(r"\bin (?=how many (?:days|weeks|months|nights|sleeps)\b)"), "until"),
    (re.compile(r"\bsince\b"), "since"),
)
"""Words before a day that are removed first, as `periods` would read them as part of the period."""

_AROUND_DATE: Final = frozenset(["what", "which", "is", "was", "when", "the", "day"])
_LEAST_LENGTH: Final = 28


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a date or a time: its form, its parts, in lower case, and its tense.

    Questions about time zones have the parts `place`, `from` (a place, or "here") and `time`, ISO 8601. Others have
    some of `date`, a text that names a day; `first` and `last` days; `year`; `end`, such as "year"; `turn`, such as
    "next"; `span`, a duration; and `weekday`.
    """

    form: str
    parts: Mapping[str, str]
    is_past: bool


def read(question: str, today: date) -> list[Question]:
    """Return how a question can be read, the likeliest way first: a part of it may turn out to be no date."""
    text = re.sub(r"(?<![,?!])[,?!]+(?=\s|$)", "", normal(question))
    text = re.sub(r"(?<=\w)'s\b(?= time)", "", text)
    text = _HALF_OF_DAY.sub(lambda match: "am" if match[1] == "morning" else "pm", text)
    if not text or len(text) > _MOST_CHARACTERS:
        return []
    is_past = _PAST.search(text) is not None
    said = " ".join(text.split())
    forms = (_elsewhere, _of_two_days, _of_weekday, _of_span, _of_leap_year, _of_day, _of_no_day)
    read = [(form, parts) for read_form in forms for form, parts in read_form(said, today)]
    forms_read = [form for form, _ in read]
    if "between" in forms_read:  # one of two days alone is not what was asked for
        read = read[: forms_read.index("between") + 1]
    return [Question(form, parts, is_past) for form, parts in read]


_Forms = Iterator[tuple[str, dict[str, str]]]


def _elsewhere(text: str, _: date) -> _Forms:
    """Yield the readings of a question for the time in other places."""
    at = _AT.search(text)
    is_time = at is not None and (at["named"] or at["minute"] or at["half"] or "o'clock" in at[0] or "time" in text)
    rest = f"{text[: at.start()]} @ {text[at.end() :]}" if at and is_time else text
    words, places = _without_places(rest.split())
    kinds = _kinds(" ".join(word for word in words if word not in ("@", "#")))
    if not places or kinds is None:
        return
    if "difference" in kinds and not is_time:
        first, last = (places[0], places[1]) if len(places) > 1 else ("here", places[0])
        if len(places) > 1 and "between" not in words and "from" not in words:
            first, last = last, first  # "how far is Tokyo ahead of London"
        yield "difference", {"from": first, "place": last}
    elif is_time and at and (clock := _clock(at)):
        yield from _at_there(words, places, clock)
    elif kinds & {"time", "zone", "already"} or words == ["#"] * len(words):
        yield "time in", {"place": places[0]}


def _at_there(words: list[str], places: list[str], clock: time) -> _Forms:
    """Yield the place of the stated time, and the place to convert it to: "3 pm in Tokyo" is converted from Tokyo to
    here.
    """
    behind = [word for word in words[words.index("@") + 1 :] if word not in ("in", "at", "from", "of", "for", "the")]
    is_there = behind[:1] == ["#"]
    index = [word for word in words if word in ("@", "#")].index("@")
    origin = places[index] if is_there and index < len(places) else "here"
    others = [place for place in places if place != origin]
    target = others[0] if others else "here"
    if origin != target:
        yield "at there", {"time": clock.isoformat("minutes"), "from": origin, "place": target}


def _without_places(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words with "#" for each place, and the places."""
    kept: list[str] = []
    places: list[str] = []
    at = 0
    while at < len(words):
        for length in range(min(_MOST_OF_NAME, len(words) - at), 0, -1):
            name = " ".join(words[at : at + length])
            if words[at] not in _NO_PLACES and _WORDS.kinds.get(name) is None and zone(name):
                kept.append("#")
                places.append(name)
                at += length
                break
        else:
            kept.append(words[at])
            at += 1
    return kept, places


def _of_two_days(text: str, _: date) -> _Forms:
    match = _BETWEEN.search(text)
    before = _kinds(text[: match.start()]) if match else None
    if match and before is not None and before & {"many", "unit", "difference", "time"}:
        year = None if _YEAR.search(match["first"]) else _YEAR.search(match["last"])
        yield "between", {"first": f"{match['first']} {year[0]}" if year else match["first"], "last": match["last"]}


def _of_weekday(text: str, today: date) -> _Forms:
    if (match := _IS_WEEKDAY.fullmatch(text)) and (period := periods.read(match["date"], today)) and not period.rest:
        yield "weekday", {"date": match["date"], "weekday": match["weekday"]}


def _of_span(text: str, _: date) -> _Forms:
    """Yield the reading of a question for the time some minutes or hours away."""
    match = _SPAN.search(text)
    if match and (match["in"] or match["ago"]) and (kinds := _kinds(text[: match.start()])) and "time" in kinds:
        yield "later", {"span": match["span"]}


def _of_leap_year(text: str, _: date) -> _Forms:
    kinds = _kinds(_YEAR.sub("", text)) or set()
    if "leap" in kinds:
        year, turn = _YEAR.search(text), _TURN.search(text)
        if not year and not turn:
            yield "leap", {"year": "this year"}
        else:
            yield ("leap", {"year": year[0]}) if year else ("next leap", {"turn": turn[0] if turn else ""})


def _of_day(text: str, today: date) -> _Forms:
    """Yield the readings of a question that names a day, a month or a year."""
    said = {kind for pattern, kind in _OPENS if pattern.search(text)}
    for pattern, _ in _OPENS:
        text = " ".join(pattern.sub(" ", text).split())
    for ahead in (False, True):
        period = periods.read(text, today, ahead=ahead) or periods.read(f"in {text}", today, ahead=ahead)
        if period and (kinds := _kinds(period.rest.removeprefix("in "))) is not None:
            is_alone = {*period.rest.split()} <= _AROUND_DATE and not re.search(r"\bon\b", text)
            yield from _by_kinds(text, kinds | said, period, today, is_alone=is_alone)
            return


def _by_kinds(text: str, kinds: set[str], period: Period, today: date, *, is_alone: bool) -> _Forms:
    is_day = period.days == 1
    if "age" in kinds and re.search(r"\b(?:old|age)\b", text):
        yield "age", {"date": text}
    elif "yearday" in kinds:
        yield "day of year", {"date": text}
    elif "week" in kinds or (not is_day and "weekday" not in kinds and re.search(r"\bweek\b.* number", text)):
        yield "week", {"date": text}
    elif kinds >= {"unit", "has"} and period.days >= _LEAST_LENGTH and kinds & {"many"} and "until" not in kinds:
        yield "length", {"date": text}
    elif kinds & {"many", "unit"} and not (is_day and kinds & {"date", "weekday"}):
        is_to_come = period.first is not None and period.first > today
        has_passed = "since" in kinds or (not is_to_come and "until" not in kinds)
        yield "since" if has_passed else "until", {"date": text}
    elif "until" in kinds and _FEAST.search(text):
        yield "until", {"date": text}
    elif "feast" in kinds and _FEAST.search(text):
        yield "until", {"feast": text}
    elif "weekday" in kinds or re.search(r"\bday is it\b", text):
        yield "weekday", {"date": text}
    elif "unit" not in kinds and ("date" in kinds or is_alone):  # not "a week from tomorrow"
        yield "then", {"date": text}


def _of_no_day(text: str, _: date) -> _Forms:
    """Yield the readings of a question for today, or for the end of something."""
    kinds = _kinds(_YEAR.sub("", text))
    if kinds is None or "birthday" in text.split():
        return
    end = next((name for name in _ENDS if re.search(rf"\b{name}\b", text)), "")
    if kinds & {"many", "unit"} and "until" in kinds and end:
        yield "until", {"end": end}
    elif "yearday" in kinds:
        yield "day of year", {}
    elif "week" in kinds:
        yield "week", {}
    elif kinds & {"date", "weekday"} and not kinds & {"many", "unit", "until", "since", "age", "turn"}:
        yield "date", {}
    elif "time" in kinds and not kinds & {"many", "until", "since", "difference", "zone", "turn", "age", "unit"}:
        yield "time", {}


def _kinds(text: str) -> set[str] | None:
    """Return the kinds of a text's words; None if one asks for something else."""
    kinds = {slot.kind for slot in _WORDS.read(text)}
    return None if "" in kinds else kinds - {"filler"}


def _clock(match: re.Match[str]) -> time | None:
    """Return the time of day of a match: "8 am", "15:00", "noon"."""
    if match["named"]:
        return _NAMED_TIMES[match["named"]]
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "")[:1]
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return time(hour, minute) if hour < 24 and minute < 60 else None


_WORDS: Final = Vocabulary.load("moments")
_NO_PLACES: Final = frozenset(["the", "in", "at", "of", "time", "here", "us", "my", "it"])
_ENDS: Final = ("new year", "weekend", "week", "month", "year", "midnight", "noon", "day", "today")
