"""Answers a question about an agenda, once it has been interpreted: by events, a count, or whether there is time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from device_app.english.agenda import AgendaQuestion, names_meeting, read
from device_app.english.stemming import stemmed
from device_app.english.terms import plain, terms
from device_app.english.windows import Window
from device_app.everyday import agenda_wording as wording
from device_app.everyday.agenda_events import on_days, zone
from device_app.everyday.agenda_items import item
from device_app.everyday.agenda_notices import find, items
from device_app.everyday.agenda_times import has_begun, is_in_part, may_be_due, to_come
from device_app.everyday.agenda_wording import Citations
from device_app.everyday.mentions import has_words, is_mentioned_after, stems_of_things
from device_app.everyday.rule import Asked, Ruled
from device_app.knowledge.event_notices import is_moved_to
from shared.printable import counted
from storage.events import EventStore, StoredEvent

if TYPE_CHECKING:
    from device_app.knowledge.directory import Directory
    from device_app.knowledge.recurrence import Occurrence
    from storage.knowledge import FileState, KnowledgeStore

_AHEAD: Final = timedelta(days=400)
_STEPS: Final = (timedelta(days=7), timedelta(days=31), _AHEAD)
"""The periods in which the next event is searched for: a longer one only if the shorter ones have none."""

_BACK: Final = timedelta(days=5 * 366)
"""How far back the last event is searched for. `_STEP` is the length of each step of that search."""
_STEP: Final = timedelta(days=90)

_MOVED: Final = timedelta(days=14)
"""How far from the days asked about events are searched for that a message moves to these days."""

_NEARBY: Final = timedelta(days=60)
"""The days before and after today for which cancelled events are listed beside the next event."""


def answer(
    store: KnowledgeStore, people: Directory, asked: Asked, question: AgendaQuestion, files: Sequence[FileState]
) -> Ruled | None:
    """Return the answer from the calendars in `files`; None if they lack the event that the question names."""
    today = asked.now.date()
    cites = Citations(today)
    answering = _Answering(store, people, asked, question, cites)
    if answering.has_nothing() and (passed := read(asked.text, today, is_past=True)):
        past = _Answering(store, people, asked, passed, cites)
        answering, question = (answering, question) if past.has_nothing() else (past, passed)
    if answering.is_outdated() or not (said := answering.said()):
        return None
    (text, occurrences), cites = answering.with_notices() or (said, cites)
    passages = store.passages(cites.passages)
    understood = wording.understood(question.window, question.subject if question.words else "")
    changes = [*items(cites.shown, cites.notices)]
    return Ruled(
        text[:1].upper() + text[1:],
        f"{understood} · with {counted(len(changes), 'newer message')}" if changes else understood,
        [*map(item, occurrences), *changes],
        [passages[passage] for passage in cites.passages],
        files,
        may_be_empty=True,
    )


@dataclass(frozen=True, slots=True)
class _Answering:
    """The work of answering one question about the agenda."""

    store: KnowledgeStore
    people: Directory
    asked: Asked
    question: AgendaQuestion
    cites: Citations

    @property
    def today(self) -> date:
        return self.asked.now.date()

    def said(self) -> tuple[str, Sequence[Occurrence]] | None:
        """Return the answer's text and the events that it is based on; None if the calendars lack the event named."""
        question = self.question
        if question.ask in ("next", "last") or question.window is None:
            return self._at_any_time()
        within = self._within(question.window)
        is_held = not question.words or within or self._beside(question.window) or self._last()
        if not is_held or (question.of_due and not within):
            return None
        if question.ask == "count":
            return self._count(question.window, within)
        taking_place = [each for each in within if not each.is_cancelled]
        if question.ask in ("free", "busy"):
            return self._free(question.window, taking_place)
        days = wording.window_name(question.window, self.today)
        if not taking_place:
            return self._nothing(question.window, days, within)
        count = counted(len(taking_place), "event")
        begin = {"any": f"Yes, {count} {days}:", "whether": f"Yes, {days}:"}.get(
            question.ask, f"{days}:" if question.window.is_one_day else f"{count} {days}:"
        )
        return f"{begin}\n\n{wording.listed(within, question.window, self.today, self.cites)}", within

    def with_notices(self) -> tuple[tuple[str, Sequence[Occurrence]], Citations] | None:
        """Return the answer with the messages and notes that change its events, or that move others to the days asked
        about; None if there are none.
        """
        window = self.question.window
        others = self._on(window.first - _MOVED, window.last + _MOVED) if window else []
        notices = find(self.store, self.people, self.asked.now, self.asked.gone, [*self.cites.shown, *others])
        again = replace(self, cites=Citations(self.today, notices))
        if not notices or not (said := again.said()):
            return None
        moved = [each for each in others if window and is_moved_to(each, window.first, window.last, notices)]
        text, occurrences = said
        return (again.cites.noted(text, moved), occurrences), again.cites

    def _at_any_time(self) -> tuple[str, Sequence[Occurrence]] | None:
        """Say when the next or the last event of the subject is."""
        if self.question.ask == "last":
            last = self._last()
            return (f"{wording.in_words(last, self.today, self.cites)}.", [last]) if last else None
        if self.question.ask == "next" or self.question.window:
            return self._next(self.question.window)
        when = self._when()
        if when and self.question.ask == "until" and not (event := when[1][0]).is_cancelled:
            days = (event.day - self.today).days
            return (f"{when[0]}\n\nThat is in {counted(days, 'day')}.", when[1]) if days > 1 else when
        return when

    def _count(self, window: Window, within: Sequence[Occurrence]) -> tuple[str, Sequence[Occurrence]] | None:
        """Count the events of the window, or those until now; None for meetings if no title names a meeting."""
        question = self.question
        if question.is_past:
            window = replace(window, last=max(min(window.last, self.today), window.first))
            within = [each for each in within if has_begun(each, self.asked.now)]
        if question.of_meetings and not (within := [each for each in within if names_meeting(each.stored.title)]):
            return None
        days = wording.window_name(window, self.today)
        if not (counts := [each for each in within if not each.is_cancelled]):
            return self._nothing(window, days, within)[0], ()
        head = f"{counted(len(counts), 'meeting' if question.of_meetings else 'event')} {days}"
        return f"{head}:\n\n{wording.listed(within, window, self.today, self.cites)}", counts

    def _nothing(self, window: Window, days: str, cancelled: Sequence[Occurrence]) -> tuple[str, Sequence[Occurrence]]:
        """Say that nothing is on, which events were cancelled, and which event is next."""
        verb = "was" if window.last < self.today else "is"
        what = f"“{self.question.subject}” {verb} not" if self.question.words else f"nothing {verb}"
        no = "No, " if self.question.ask in ("any", "whether") else ""
        parts = [f"{no}{what} planned {days}."]
        if cancelled:
            parts.append(wording.listed(cancelled, window, self.today, self.cites))
        if window.last >= self.today and (beside := self._beside(window)):
            parts.append(f"{beside[0]}: {wording.in_words(beside[1], self.today, self.cites)}.")
        elif self.question.words and (last := self._last()):
            parts.append(f"The last was {wording.in_words(last, self.today, self.cites)}.")
        return "\n\n".join(parts), cancelled

    def _free(self, window: Window, taking_place: Sequence[Occurrence]) -> tuple[str, Sequence[Occurrence]]:
        """Say whether the window is free of events with a time: all-day events and tasks do not count."""
        days = wording.window_name(window, self.today)
        taken = [each for each in taking_place if isinstance(each.begins, datetime) and each.stored.kind != "task"]
        is_free = self.question.ask == "free"
        if taken:
            partly = "" if window.begins else ", not all day" if window.is_one_day else ", not all the time"
            begin = f"No{partly}" if is_free else "Yes"
        else:
            begin = f"Yes, you are free {days}" if is_free else f"No, you are not busy {days}"
            begin += ", as far as your calendars say" + ("; but there is" if taking_place else ".")
        if not taking_place:
            return begin, taking_place
        return f"{begin}:\n\n{wording.listed(taking_place, window, self.today, self.cites)}", taking_place

    def _when(self) -> tuple[str, Sequence[Occurrence]] | None:
        """Say when the subject's next event is, and which of its events around today were cancelled."""
        upcoming = self._following(self.asked.now)
        if not upcoming:
            return self._last_or_cancelled()
        near = self._on(self.today - _NEARBY, self.today + _NEARBY)
        occurrences = [upcoming[0], *(each for each in near if each.is_cancelled)]
        first, *others = (wording.in_words(each, self.today, self.cites) for each in occurrences)
        return "\n".join((f"{first}.", *(f"\nCancelled: {other}." for other in others))), occurrences

    def _last_or_cancelled(self) -> tuple[str, Sequence[Occurrence]] | None:
        """Say that the subject's coming events are cancelled, or else when its last event was; None without events."""
        if (cancelled := self._cancelled()) or not (last := self._last()):
            return cancelled
        said = wording.in_words(last, self.today, self.cites)
        if not isinstance(last.ends, datetime) and last.ends > self.today:
            return f"{said}.", [last]
        return f"No more “{self.question.subject}” is planned; the last was {said}.", [last]

    def _cancelled(self) -> tuple[str, Sequence[Occurrence]] | None:
        """Say which coming events of the subject are cancelled; None if none is."""
        cancelled = [each for each in self._on(self.today, self.today + _AHEAD) if each.is_cancelled]
        text = " ".join(f"{wording.as_cancelled(each)}{self.cites.mark(each)}." for each in cancelled)
        return (text, cancelled) if cancelled else None

    def _next(self, window: Window | None) -> tuple[str, Sequence[Occurrence]] | None:
        """Say when the subject's next event is; else which ones are cancelled, or when the last one was."""
        upcoming = to_come(self._within(window), self.asked.now) if window else self._following(self.asked.now)
        if upcoming:
            return f"{wording.in_words(upcoming[0], self.today, self.cites)}.", upcoming[:1]
        what = f"I found no “{self.question.subject}” that" if self.question.words else "Nothing"
        none = f"{what} is coming up in your calendars."
        if self.question.words and window is None and (cancelled := self._cancelled()):
            return cancelled
        if self.question.words and (last := self._last()):
            return f"{none} The last was {wording.in_words(last, self.today, self.cites)}.", [last]
        return None if self.question.words else (none, ())

    def has_nothing(self) -> bool:
        """Return whether all days that are asked for are more than a month ahead, and nothing takes place then."""
        window = self.question.window
        return window is not None and window.first - self.today > _NEARBY and not self._within(window)

    def is_outdated(self) -> bool:
        """Return whether the subject has no coming event, but a text about it that is newer than its last event."""
        window = self.question.window
        if not self.question.words or self._on(self.today, self.today + _AHEAD) or (window and self._within(window)):
            return False
        last = self._last()
        words = [word for word in terms(self.question.subject) if stemmed(word) in self.question.words]
        return last is not None and is_mentioned_after(self.store, words, last.day)

    def _last(self) -> Occurrence | None:
        """Return the subject's last event that started before now; None if there was none for five years."""
        held = EventStore(self.store.database).between(self.today - _BACK, self.today)
        if not any(map(self._is_meant, held)):
            return None
        for days in range(0, _BACK.days, _STEP.days):
            last = self.today - timedelta(days)
            if past := [each for each in self._on(last - _STEP, last) if not each.is_cancelled]:
                return past[-1]
        return None

    def _after(self, window: Window) -> list[Occurrence]:
        """Return the subject's events that begin after the window and after now."""
        end = time.max if window.ends is None else window.ends
        return self._following(max(self.asked.now, datetime.combine(window.last, end, self.asked.now.tzinfo)))

    def _beside(self, window: Window) -> tuple[str, Occurrence] | None:
        """Return the event nearest to a window in which there is none, of those to come, and a word for it.

        It is the next one after the window or, of a named subject, the one before it if that is nearer.
        """
        after = self._after(window)[:1]
        before = to_come(self._on(self.today, window.first), self.asked.now)[-1:] if self.question.words else []
        if before and not (after and after[0].day - window.last < window.first - before[0].day):
            return "Nearest", before[0]
        return ("Next", after[0]) if after else None

    def _following(self, moment: datetime) -> list[Occurrence]:
        """Return the subject's events that begin after a moment; all-day events count from the next day on."""
        day = moment.date()
        for far in _STEPS:
            if following := to_come(self._on(day, day + far), moment):
                return following
        return []

    def _within(self, window: Window) -> list[Occurrence]:
        """Return the subject's events in the window; all-day events belong to any part of their day."""
        within = [each for each in self._on(window.first, window.last) if is_in_part(each, window)]
        return [each for each in within if not self.question.of_due or may_be_due(each)]

    def _on(self, first: date, last: date) -> list[Occurrence]:
        return on_days(self.store, first, last, self.asked.gone, self._is_meant, zone(self.asked.now))

    def _is_meant(self, stored: StoredEvent) -> bool:
        """Return whether the event's title, place and people, under all their names, have every word of the subject."""
        if not self.question.words:
            return True
        people = (name for each in stored.people for name in (each, self.people.name(each)))
        words = terms(plain(" ".join((stored.title, stored.event.place, *people))))
        held, is_name = set(map(stemmed, words)), self.people.is_part_of_name
        only_exact = held.issuperset(self.question.words) or any(map(is_name, terms(self.question.subject)))
        longer = frozenset[str]() if only_exact else stems_of_things(stored.title, is_name)
        return has_words(held, longer, self.question.words)
