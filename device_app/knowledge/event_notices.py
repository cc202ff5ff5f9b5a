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
    from device_app.english.dates import Span
    from device_app.knowledge.announced import Announced, Kind
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

    `events` are all that take place on the days that are looked at, in order, so that a message which fits two is of
    neither. A message counts if it is newer than what the calendar says, and says something else.
    """
    said: dict[Hashable, _Said] = {}
    named: dict[EventName, list[Dated]] = {}
    for event in events:
        named.setdefault(event.name, []).append(event)
    for message in sorted(messages, key=lambda each: each.passage.date or ""):
        for event in _meant(message, named, said):
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


def _meant(
    message: Announced, named: Mapping[EventName, Sequence[Dated]], said: Mapping[Hashable, _Said]
) -> Sequence[Dated]:
    """Return the events that a message is about, all of one of the names; none if several names fit equally well."""
    fitting: dict[EventName, tuple[tuple[bool, int], list[Dated]]] = {}
    for name, events in named.items():
        if (fit := _fit(message, name)) is None:
            continue
        days_said = _DaysSaid.of(message, events)
        for event in events:
            if not _is_newer(message, event.occurrence):
                continue
            moved_to = said[key(event.occurrence)].days if key(event.occurrence) in said else []
            day = days_said.fit(event, moved_to)
            if day == "other" or not (fit.is_whole or day == "exact" or fit.is_linked):
                continue
            _, days = fitting.setdefault(name, ((fit.is_whole, fit.count), []))
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
    in_words, near = name.needed & said, name.needed & (said | message.scope)
    is_person = message.words <= name.people | name.companions  # "Petra is off on Friday"
    if message.words and not message.general and (is_person or message.words.isdisjoint(name.every - name.people)):
        return None
    is_linked = bool(writer & (name.people | name.companions))
    if 2 * len(near) < len(name.needed) or not near:
        return None
    if near < name.needed and near <= frozenset(map(stemmed, message.general)):
        return None  # "the meeting" may be any meeting
    others = (name.every - name.needed) & message.scope
    return _Fit(len(in_words), len(near) + len(others) > len(name.needed) or near == name.needed, is_linked)


@dataclass(frozen=True, slots=True)
class _DaysSaid:
    """The days and times by which a message may say which of the events of one name it means.

    `held` and `times` are those of what held before, `is_over` says that they are past, and `about` are the days beside
    the event's name in the sentences before. `open_to` is the event that is meant if none of them names a day.
    """

    kind: Kind
    held: Sequence[Span]
    is_over: bool
    times: Sequence[frozenset[int]]
    new: Sequence[Span]
    about: Sequence[Span]
    open_to: Dated | None

    @classmethod
    def of(cls, message: Announced, events: Sequence[Dated]) -> _DaysSaid:
        """Return the days that a message says of events of one name, which are given in order."""
        written = message.written
        days, new = dates.named(message.held, written), spans(message.new, written)
        near = " ; ".join(clocks.in_full(plain(text)) for text in message.near(events[0].name.needed))
        return cls(
            message.kind,
            spans(message.held, written),
            bool(days) and all(last < written for _, last in days),
            clocks.named(message.held),
            new,
            spans(near, written),
            _next(events, written, new),
        )

    def fit(self, event: Dated, moved_to: Sequence[Span]) -> _Day:
        """Return whether a message names the day of an event, "exact"; another day, "other"; or none, "open".

        `moved_to` are the days to which earlier messages move the event.
        """
        at = _minutes(event.occurrence)
        is_other_time = bool(self.times) and at is not None and not moved_to and all(at not in t for t in self.times)
        if self.is_over or is_other_time:
            return "other"
        if self.held:
            return "exact" if _is_in(event.day, self.held) or {*self.held} & {*moved_to} else "other"
        if self.about:
            is_new_day = self.kind == "moved" and {*self.new} & {*self.about}
            return "exact" if _is_in(event.day, self.about) else "open" if is_new_day else "other"
        return "open" if self.kind == "denied" or event is self.open_to else "other"


def _next(events: Sequence[Dated], written: date, new: Sequence[Span]) -> Dated | None:
    """Return which of the events of one name a message is about that does not name its event's day; None if unsure.

    It is about the event of the week to which it moves it, else about the next one within a week. An event whose name
    no other has may be further ahead.
    """
    same = [each for each in events if each.day >= written]
    if len(same) == 1:
        return same[0] if same[0].day - written <= AHEAD else None
    if new:
        weeks = {_week(first) for first, _ in new}
        of_weeks = [each for each in same if _week(each.day) in weeks]
        return of_weeks[0] if len(of_weeks) == 1 else None
    return same[0] if same and same[0].day - written < _WEEK else None


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
