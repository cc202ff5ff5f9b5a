"""Answers what time it is at another place, and what a time of day is there."""

from __future__ import annotations

from datetime import datetime, time, timedelta, tzinfo

from device_app.english.moments import Question
from device_app.english.places import zone
from device_app.everyday.moments import day_in_words, ruled
from device_app.everyday.rule import Ruled


def time_in(question: Question, now: datetime) -> Ruled | None:
    """Return what time it is in a place."""
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
    """Return the answer that converts a time of day in one place ("here" is this device's) into that in another."""
    (origin, here), (name, elsewhere) = (_zoned(question.parts[part], now) for part in ("from", "place"))
    if here is None or elsewhere is None:
        return None
    then = datetime.combine(now.astimezone(here).date(), time.fromisoformat(question.parts["time"]), here)
    moved = then.astimezone(elsewhere)
    other = {1: ", the next day", -1: ", the day before"}.get((moved.date() - then.date()).days, "")
    at, to = (place if place == "here" else f"in {place}" for place in (origin, name))
    text = f"{then:%H:%M} {at} is {moved:%H:%M} {to}{other} (on {day_in_words(then.date())})."
    return ruled(text, f"time zones · {then:%H:%M} {at} → {name}", moved.isoformat(timespec="minutes"))


def _zoned(place: str, now: datetime) -> tuple[str, tzinfo | None]:
    """Return the name of a place and its zone."""
    return ("here", now.tzinfo) if place == "here" else (_place(place), zone(place))


def difference(question: Question, now: datetime) -> Ruled | None:
    """Return how many hours a place is ahead of another place, or of this device."""
    elsewhere, origin = zone(question.parts["place"]), question.parts["from"]
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
        else f"{name} is {abs(hours):g} hour{'' if abs(hours) == 1 else 's'} {relation} {base} now."
    )
    return ruled(text, f"time zones · {base} → {name}", f"{hours:g}", "hours")


def _place(name: str) -> str:
    name = name.removeprefix("the ").removesuffix(" time").removesuffix("'s")
    return (
        name.upper()
        if len(name) <= 4 and zone(name) and name in ("utc", "gmt", "cet", "est", "pst", "uk", "nyc", "la")
        else name.title()
    )
