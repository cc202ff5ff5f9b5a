"""Decides which event of a calendar a message moves or cancels. Pure.

A wrong link is worse than none: the message has to name the event, its day has to fit, and it must fit no other event
as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from device_app.english import clocks, dates, event_names
from device_app.english.naming import words as words_of_name
from device_app.english.stemming import stemmed
from device_app.english.terms import plain, terms

if TYPE_CHECKING:
    from device_app.english.dates import Mention, Span
    from device_app.knowledge.announced import Announced
    from device_app.knowledge.recurrence import Occurrence

_WEEK: Final = timedelta(days=7)
AHEAD: Final = timedelta(days=62)
"""How long before an event a message may be written that does not name the event's day."""

_KEPT: Final = 4096
"""The number of texts whose days are kept, as the same ones are compared with many events."""

_Day = Literal["exact", "open", "other"]
_BESIDE: Final = 3
"""The most characters between the name of a weekday and its date."""

_WEEKDAY: Final = re.compile(r"(?:(?:last|this|next) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_HEAD: Final = re.compile(r"[,:;(|·–—]| - | with | at | @ ")
_CAPITAL: Final = re.compile(r"(?<!the )\b[A-Z][\w'’-]*")
_CALLED_OFF: Final = re.compile(r"^cancell?ed:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EventName:
    """What an event is called: the stems without which no message is about it, and all stems that may name it.

    `companions` are the stems of the people behind "with" in its title, `people` of those who take part.
    """

    needed: frozenset[str]
    companions: frozenset[str]
    every: frozenset[str]
    people: frozenset[str]


def event_name(title: str, place: str, people: Sequence[str], is_name: Callable[[str], bool]) -> EventName:
    """Return what an event is called. `is_name` says whether a word in lower case is part of somebody's name."""
    title_as_written, title = title, _CALLED_OFF.sub("", plain(title))
    head, *rest = _HEAD.split(title)
    needed = frozenset(event_names.stems(head))
    if not needed or all(map(is_name, terms(head))):
        needed = frozenset(event_names.stems(" ".join((head, *rest)))) or frozenset(map(stemmed, terms(title)))
    needed = needed - event_names.SOFT or needed
    behind = title_as_written.partition(" with ")[2]
    named = {plain(word) for word in _CAPITAL.findall(behind)}
    participants = frozenset(stemmed(word) for person in people for word in words_of_name(person))
    return EventName(
        needed,
        frozenset(stemmed(word) for word in terms(behind) if word in named or is_name(word)) if behind else frozenset(),
        frozenset(map(stemmed, terms(plain(f"{title} {place}")))) | participants,
        participants,
    )


@dataclass(frozen=True, slots=True)
class Dated:
    """An event at one of its times, with its name."""

    occurrence: Occurrence
    name: EventName

    @property
    def day(self) -> date:
        return self.occurrence.day


def key(occurrence: Occurrence) -> Hashable:
    """Return what identifies an event at one of its times."""
    return occurrence.stored.event.uid, occurrence.begins


@dataclass(slots=True)
class _Said:
    """The messages about one event so far, and the days to which they move it."""

    messages: list[Announced] = field(default_factory=list)
    days: list[Span] = field(default_factory=list)


def of_events(events: Sequence[Dated], messages: Iterable[Announced]) -> Mapping[Hashable, Sequence[Announced]]:
    """Return what the messages change of the events, by `key`, the newest first, without the others.

    `events` are all that take place on the days that are looked at, so that a message which fits two is of neither. A
    message counts if it is newer than what the calendar says, and says something else.
    """
    said: dict[Hashable, _Said] = {}
    for message in sorted(messages, key=lambda each: each.passage.date or ""):
        for event in _meant(message, events, said):
            known = said.setdefault(key(event.occurrence), _Said())
            if message.kind == "denied" or _agrees(message, event):
                known.messages.clear()
                known.days.clear()
            else:
                known.messages.append(message)
                known.days += spans(message.new, message.written)
    return {key: known.messages[::-1] for key, known in said.items() if known.messages}


def is_moved_to(event: Occurrence, first: date, last: date, notices: Mapping[Hashable, Sequence[Announced]]) -> bool:
    """Return whether the newest message about an event moves it to a day from `first` to `last`."""
    messages = notices.get(key(event), ())
    days = spans(messages[0].new, messages[0].written) if messages and messages[0].kind == "moved" else ()
    return bool(days) and all(begin == end and first <= begin <= last for begin, end in days)


@lru_cache(_KEPT)
def spans(text: str, written: date) -> tuple[Span, ...]:
    """Return the days from `written` on that a text in lower case names, at most a week each."""
    mentioned = dates.mentions(text, written)
    exact = [each for each in mentioned if not _WEEKDAY.fullmatch(text[each.start : each.end])]
    kept = [
        each
        for each in mentioned
        if each in exact
        or not any(0 < other.start - each.end <= _BESIDE or 0 < each.start - other.end <= _BESIDE for other in exact)
    ]
    every = (span for each in kept for span in each.spans)
    return tuple((first, last) for first, last in every if last >= written and last - first < _WEEK)


def _is_beside(mention: Mention, other: Mention) -> bool:
    return 0 < other.start - mention.end <= _BESIDE or 0 < mention.start - other.end <= _BESIDE


def _meant(message: Announced, events: Sequence[Dated], said: Mapping[Hashable, _Said]) -> list[Dated]:
    """Return the events that a message is about, all of one name; none if several names fit it equally well."""
    fitting: dict[EventName, tuple[tuple[bool, int], list[Dated]]] = {}
    for event in events:
        if not _is_newer(message, event.occurrence) or (fit := _fit(message, event.name)) is None:
            continue
        moved_to = said[key(event.occurrence)].days if key(event.occurrence) in said else []
        day = _of_day(message, event, events, moved_to)
        if day == "other" or not (fit.is_whole or day == "exact" or fit.is_linked):
            continue
        _, days = fitting.setdefault(event.name, ((fit.is_whole, fit.count), []))
        days.append(event)
    best = max((rank for rank, _ in fitting.values()), default=None)
    ranked = [days for rank, days in fitting.values() if rank == best]
    return ranked[0] if len(ranked) == 1 else []


@dataclass(frozen=True, slots=True)
class _Fit:
    """How a message names an event: how many of the needed words it says itself, and whether all of them are near.

    `is_linked`: it was written by somebody who takes part in the event.
    """

    count: int
    is_whole: bool
    is_linked: bool


def _fit(message: Announced, name: EventName) -> _Fit | None:
    """Return how a message names an event; None if it does not, or names anything else."""
    said = message.scope if message.kind == "denied" else message.words
    writer = frozenset(stemmed(word) for word in words_of_name(message.writer))
    if message.kind != "denied" and message.words - name.every - writer:
        return None
    if not name.companions <= message.scope | writer:
        return None
    if message.words and message.words <= name.people | name.companions and not message.general:
        return None  # "Petra is off on Friday"
    in_words, near = name.needed & said, name.needed & (said | message.scope)
    if message.words and message.words.isdisjoint(name.every - name.people) and not message.general:
        return None
    is_linked = bool(writer & (name.people | name.companions))
    if 2 * len(near) < len(name.needed) or not near:
        return None
    others = (name.every - name.needed) & message.scope
    return _Fit(len(in_words), len(near) + len(others) > len(name.needed) or near == name.needed, is_linked)


def _of_day(message: Announced, event: Dated, events: Sequence[Dated], moved_to: Sequence[Span]) -> _Day:
    """Return whether a message names the day of an event, "exact"; another day, "other"; or none, "open"."""
    written = message.written
    held, at, known = spans(message.held, written), _minutes(event.occurrence), clocks.named(message.held)
    days = dates.named(message.held, written)
    is_over = bool(days) and all(last < written for _, last in days)
    is_other_time = bool(known) and at is not None and not moved_to and not any(at in each for each in known)
    if is_over or is_other_time:
        return "other"
    if held:
        return "exact" if _is_in(event.day, held) or {*held} & {*moved_to} else "other"
    new = spans(message.new, written)
    if about := spans(" ; ".join(clocks.in_full(plain(text)) for text in message.near(event.name.needed)), written):
        is_new_day = message.kind == "moved" and {*new} & {*about}
        return "exact" if _is_in(event.day, about) else "open" if is_new_day else "other"
    return "open" if message.kind == "denied" or _is_next(event, events, written, new) else "other"


def _is_next(event: Dated, events: Sequence[Dated], written: date, new: Sequence[Span]) -> bool:
    """Return whether a message that does not name its event's day is about this event, of all that have its name.

    It is about the event of the week to which it moves it, else about the next one within a week. An event whose name
    no other has may be further ahead.
    """
    same = [each for each in events if each.name == event.name and each.day >= written]
    if same == [event]:
        return event.day - written <= AHEAD
    if new:
        return [each for each in same if any(_week(each.day) == _week(first) for first, _ in new)] == [event]
    return same[0] == event and event.day - written < _WEEK


def _agrees(message: Announced, event: Dated) -> bool:
    """Return whether an event has the day, the time or the place that a message moves it to."""
    if message.kind != "moved":
        return False
    days, times, at = spans(message.new, message.written), clocks.named(message.new), _minutes(event.occurrence)
    if not days and not times:
        place = frozenset(terms(plain(event.occurrence.stored.event.place)))
        return bool(place) and place <= frozenset(terms(message.new))
    is_time = not times or at is None or any(at in each for each in times)
    return (not days or _is_in(event.day, days)) and is_time


def _is_newer(message: Announced, occurrence: Occurrence) -> bool:
    """Return whether a message was written before the event, and after its entry in the calendar was last changed."""
    if message.written > occurrence.day:
        return False
    if not (stamped := occurrence.stored.event.stamped):
        return True
    changed, at = datetime.fromisoformat(stamped), datetime.fromisoformat(message.passage.date or "")
    if message.passage.kind == "mail" and at.tzinfo:
        return at >= (changed if changed.tzinfo else changed.replace(tzinfo=UTC))
    return message.written >= changed.date()


def _minutes(occurrence: Occurrence) -> int | None:
    begins = occurrence.begins
    return begins.hour * 60 + begins.minute if isinstance(begins, datetime) else None


def _is_in(day: date, days: Sequence[Span]) -> bool:
    return any(first <= day <= last for first, last in days)


def _week(day: date) -> tuple[int, int]:
    return day.isocalendar()[:2]
