"""Puts events into words: days, times, titles and places, with citations."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final

from device_app.everyday.agenda_notices import Notices, quoted
from device_app.knowledge.event_notices import key
from shared.printable import counted, safe_line

if TYPE_CHECKING:
    from device_app.english.windows import Window
    from device_app.knowledge.recurrence import Occurrence

SHOWN: Final = 40
"""The most events that a text lists; the records in `items` have them all."""

_CITED: Final = 20
_LIMITED: Final = "as far as your calendars say"
"""Words of an answer that says itself from where it is."""

_VERDICT: Final = re.compile(r"^(?:Yes|No)\b")
_NEAR: Final = {-1: "yesterday", 0: "today", 1: "tomorrow"}


@dataclass(slots=True)
class Citations:
    """The ids of the passages that a text cites, in order, the events that it shows, and the `notices` about them."""

    today: date
    notices: Notices = field(default_factory=dict)
    passages: list[int] = field(default_factory=list)
    shown: list[Occurrence] = field(default_factory=list)
    _noted: set[Hashable] = field(default_factory=set)

    def mark(self, occurrence: Occurrence) -> str:
        """Return the mark that cites an event's passage, such as " [1]"; "" once a text has many citations."""
        self.shown.append(occurrence)
        return self._cited(occurrence.stored.passage, _CITED)

    def notes(self, occurrence: Occurrence) -> str:
        """Return quotes of the notices about an event, which a text quotes once; "" if there are none."""
        event = key(occurrence)
        if event in self._noted or occurrence.is_cancelled or not (messages := self.notices.get(event, ())):
            return ""
        self._noted.add(event)
        return quoted(messages, self.today, lambda message: self._cited(message.passage.id, 2 * _CITED))

    def noted(self, text: str, moved: Sequence[Occurrence]) -> str:
        """Return an answer with the notices that are not beside their events below it, and with events that a message
        has `moved` to the days of the answer. "Yes" and "No" are then what the calendar says.
        """
        shown = {*map(key, self.shown)}
        below = [notes for each in [*self.shown] if (notes := self.notes(each))]
        others = [each for each in moved if key(each) not in shown]
        below += [f"Moved: {in_words(each, self.today, self)}\n{self.notes(each)}" for each in others]
        if self._noted and _LIMITED not in text:
            text = _VERDICT.sub(lambda match: f"Your calendar says {match[0].lower()}", text)
        return "\n\n".join((text, *below))

    def _cited(self, passage: int, most: int) -> str:
        if passage not in self.passages:
            if len(self.passages) >= most:
                return ""
            self.passages.append(passage)
        return f" [{self.passages.index(passage) + 1}]"


def day_name(day: date, today: date) -> str:
    """Return a day in words, "Thursday, 26 November", with the year if it is not this year."""
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if day.year != today.year else "")


def near_name(day: date, today: date) -> str:
    """Return a day in words, preceded by "today", "tomorrow" or "yesterday" if it is one of these."""
    near = _NEAR.get((day - today).days)
    return f"{near}, {day_name(day, today)}" if near else f"on {day_name(day, today)}"


def window_name(window: Window, today: date) -> str:
    """Return the days of a window in words, for use in a sentence: "tomorrow, Thursday, 26 November"."""
    if not window.is_one_day:
        return f"from {day_name(window.first, today)} to {day_name(window.last, today)}"
    hours = _hours(window)
    return near_name(window.first, today) + (f", {hours}" if hours else "")


def understood(window: Window | None, subject: str) -> str:
    """Return how a question was read: "agenda · Friday, 27 November 2026, from 12:00 to 18:00 · “rowing”"."""
    parts = ["agenda"]
    if window:
        first, last = (f"{day:%A}, {day.day} {day:%B} {day.year}" for day in (window.first, window.last))
        hours = _hours(window)
        parts.append((f"{first}, {hours}" if hours else first) if window.is_one_day else f"{first} to {last}")
    return " · ".join([*parts, *([f"“{safe_line(subject)}”"] if subject else [])])


def listed(occurrences: Sequence[Occurrence], window: Window, today: date, cites: Citations) -> str:
    """Return the events as a list; if they are on several days, below a heading for each day."""
    shown = occurrences[:SHOWN]
    if window.is_one_day:
        lines = [_line(occurrence, window, today, cites) for occurrence in shown]
    else:
        lines = []
        for day, some in groupby(shown, lambda occurrence: max(occurrence.day, window.first)):
            lines += ["", f"**{day_name(day, today)}**", "", *(_line(each, window, today, cites) for each in some)]
    if more := len(occurrences) - len(shown):
        lines += ["", f"… and {counted(more, 'more event')}."]
    return "\n".join(lines).strip("\n")


def in_words(occurrence: Occurrence, today: date, cites: Citations) -> str:
    """Return an event with its day, in one line: "tomorrow, Thursday, 26 November, 20:00–22:30: Book club [1]"."""
    times = _times(occurrence, occurrence.day, today)
    return (
        f"{near_name(occurrence.day, today)}, {times.rstrip(':')}: {_what(occurrence, today)}{cites.mark(occurrence)}"
    )


def as_cancelled(occurrence: Occurrence) -> str:
    """Return that an event is cancelled: "Budget review on Friday, 27 November 2026, 13:00 is cancelled"."""
    begins, day = occurrence.begins, occurrence.day
    clock = f", {begins:%H:%M}" if isinstance(begins, datetime) else ""
    return f"{safe_line(occurrence.stored.title)} on {day:%A}, {day.day} {day:%B} {day.year}{clock} is cancelled"


def in_short(occurrence: Occurrence, day: date, today: date) -> str:
    """Return an event without its day: "20:00–22:30 Book club · Library"."""
    cancelled = "cancelled: " if occurrence.is_cancelled else ""
    return f"{cancelled}{_times(occurrence, day, today)} {_what(occurrence, today)}"


def _line(occurrence: Occurrence, window: Window, today: date, cites: Citations) -> str:
    line = f"- {in_short(occurrence, window.first, today)}{cites.mark(occurrence)}"
    return "\n  ".join((line, *cites.notes(occurrence).splitlines()))


def _what(occurrence: Occurrence, today: date) -> str:
    """Return an event's title and place, and its original time if it was moved."""
    stored, moved = occurrence.stored, occurrence.instead_of
    parts = [safe_line(stored.title), safe_line(stored.event.place)]
    if moved:
        clock = f", {moved:%H:%M}" if isinstance(moved, datetime) else ""
        parts.append(f"moved from {day_name(moved, today)}{clock}")
    return " · ".join(filter(None, parts))


def _times(occurrence: Occurrence, first: date, today: date) -> str:
    """Return an event's times on its day; if it began before the day `first`, with the day on which it began."""
    begins, ends = occurrence.begins, occurrence.ends
    if occurrence.stored.kind == "task":
        return f"due {begins:%H:%M}" if isinstance(begins, datetime) else "due"
    if not isinstance(begins, datetime) or not isinstance(ends, datetime):
        last = ends - timedelta(days=1)
        since = f"since {day_name(begins, today)}, " if begins < first else ""
        return f"{since}until {day_name(last, today)}:" if last > max(begins, first) else f"{since}all day:"
    since = f"since {day_name(begins.date(), today)}, " if begins.date() < first else ""
    if ends == begins:
        return f"{since}{begins:%H:%M}"
    if ends - begins < timedelta(days=1):
        return f"{since}{begins:%H:%M}–{ends:%H:%M}"
    return f"{since}{begins:%H:%M} until {day_name(ends.date(), today)}, {ends:%H:%M},"


def _hours(window: Window) -> str:
    if window.begins is None or window.ends is None:
        return ""
    if window.begins == window.ends:
        return f"at {window.begins:%H:%M}"
    if window.ends == time.max:
        return f"from {window.begins:%H:%M} on"
    return (
        f"before {window.ends:%H:%M}"
        if window.begins == time(0)
        else f"from {window.begins:%H:%M} to {window.ends:%H:%M}"
    )
