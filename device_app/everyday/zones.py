"""Answers what time it is at another place, and what a time of day is there."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta, tzinfo
from typing import Final

from device_app.english.moments import Question
from device_app.english.places import zone
from device_app.everyday.moments import day_in_words, ruled
from device_app.everyday.rule import Ruled

_AT = re.compile(r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s*(?P<half>[ap]\.?m\.?)?")
_NAMED_TIMES: Final = {"noon": time(12), "midday": time(12), "midnight": time(0)}


def time_in(question: Question, now: datetime) -> Ruled | None:
    elsewhere = zone(question.parts["place"])
    if elsewhere is None:
        return None
    at, name = now.astimezone(elsewhere), _place(question.parts["place"])
    return ruled(
        f"It is {at:%H:%M} in {name}, {day_in_words(at.date())}.",
        f"the time in {name}",
        at.isoformat(timespec="minutes"),
    )


def at_there(question: Question, now: datetime) -> Ruled | None:
    said, origin = question.parts.get("time", ""), question.parts.get("from", "")
    if zoned := question.parts.get("zoned"):
        match = re.match(r"(noon|midday|midnight|\d{1,2}(?:[:.]\d\d)?\s*(?:[ap]\.?m\.?)?)\s+(?:in |at )?(.+)", zoned)
        if match is None:
            return None
        said, origin = match[1], match[2]
    at, elsewhere = _clock(said), zone(question.parts["place"])
    here: tzinfo | None = zone(origin) if origin and origin != "here" else now.tzinfo
    if at is None or elsewhere is None or here is None:
        return None
    then = datetime.combine(now.astimezone(here).date(), at, here)
    moved = then.astimezone(elsewhere)
    names = (_place(origin) if origin and origin != "here" else "here"), _place(question.parts["place"])
    other = {1: ", the next day", -1: ", the day before"}.get((moved.date() - then.date()).days, "")
    place_here = names[0] if names[0] == "here" else f"in {names[0]}"
    text = f"{then:%H:%M} {place_here} is {moved:%H:%M} in {names[1]}{other} (on {day_in_words(then.date())})."
    return ruled(text, f"time zones · {then:%H:%M} {place_here} → {names[1]}", moved.isoformat(timespec="minutes"))


def difference(question: Question, now: datetime) -> Ruled | None:
    elsewhere, origin = zone(question.parts["place"]), question.parts.get("from", "here")
    origin = "here" if origin in ("us", "me", "here") else origin
    here: tzinfo | None = now.tzinfo if origin == "here" else zone(origin)
    if elsewhere is None or here is None:
        return None
    offsets = [(now.astimezone(each).utcoffset() or timedelta()).total_seconds() / 3600 for each in (here, elsewhere)]
    hours = offsets[1] - offsets[0]
    base = "your time" if origin == "here" else _place(origin)
    relation = "as" if not hours else "ahead of" if hours > 0 else "behind"
    name = _place(question.parts["place"])
    text = (
        f"{name} has the same time {relation} {base} now."
        if not hours
        else f"{name} is {abs(hours):g} hours {relation} {base} now."
    )
    return ruled(text, f"time zones · {base} → {name}", f"{hours:g}", "hours")


def _place(name: str) -> str:
    name = name.removeprefix("the ").removesuffix(" time").removesuffix("'s")
    return (
        name.upper()
        if len(name) <= 4 and zone(name) and name in ("utc", "gmt", "cet", "est", "pst", "uk", "nyc", "la")
        else name.title()
    )


def _clock(said: str) -> time | None:
    """Return the time in a text such as "8 am", "15:00", "noon" or "9 in the morning"."""
    if said in _NAMED_TIMES:
        return _NAMED_TIMES[said]
    match = _AT.fullmatch(said.strip())
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    half = (match["half"] or "")[:1]
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    return time(hour, minute) if hour < 24 and minute < 60 else None
