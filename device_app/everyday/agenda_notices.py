"""Looks up the messages and notes that move or cancel the events of an agenda, and quotes them beside the events."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import notices
from device_app.english.naming import shown
from device_app.english.stemming import stemmed
from device_app.english.terms import plain, terms, with_families
from device_app.everyday.agenda_events import on_days, zone
from device_app.everyday.rule import Item
from device_app.knowledge.announced import Announced, announced
from device_app.knowledge.event_notices import AHEAD, Dated, EventName, event_name, key, of_events, spans
from shared.printable import safe_line
from storage.search import FullText, all_of, any_of

if TYPE_CHECKING:
    from device_app.knowledge.directory import Directory
    from device_app.knowledge.recurrence import Occurrence
    from storage.knowledge import KnowledgeStore

Notices = Mapping[Hashable, Sequence[Announced]]
"""The messages and notes about each event, by `key`, the newest first."""

_KINDS: Final = ("mail", "note", "chat")
_MOST_PASSAGES: Final = 150
_RARE: Final = 300
"""The most passages with a word that alone may name an event whose name has several words."""

_MOST_QUOTED: Final = 2
"""The most messages that are quoted for an event."""

_MOST_CHARACTERS: Final = 400
_AROUND: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class NoticeItem(Item):
    """A message or note that moves or cancels an event. `title` and `starts` are the event's, as in `EventItem`.

    `change` is "moved" or "cancelled"; `text` is quoted from the document at `path` of the kind `kind`, which `writer`
    wrote at `date`, ISO 8601; `writer` is "" for a note.
    """

    TYPE: ClassVar[str] = "notice"
    title: str
    starts: str
    change: str
    text: str
    writer: str
    date: str
    kind: str
    path: str


def find(
    store: KnowledgeStore, people: Directory, now: datetime, gone: Collection[str], events: Sequence[Occurrence]
) -> Notices:
    """Return what messages and notes written until `now` change of the events, without those in the files `gone`.

    Only passages with a word of an event's title and a word of change are read. Raises StoreError.
    """
    to_come = [each for each in events if not each.is_cancelled]
    about = _about(store, {each.stored.title: _named(each, people) for each in to_come})
    if not about:
        return {}
    first, last = min(each.day for each in to_come), max(each.day for each in to_come)
    passages = store.dated(
        all_of([about, any_of(notices.WORDS)]), _KINDS, first - AHEAD, min(last, now.date()), _MOST_PASSAGES
    )
    me = people.me
    mine = frozenset(shown(each.written) for each in me.sightings) if me else frozenset[str]()
    said = [each for passage in passages if passage.path not in gone for each in announced(passage, mine)]
    said = [each for each in said if each.kind != "denied" or len(said) > 1]
    if all(each.kind == "denied" for each in said):
        return {}
    days = [day for each in said for span in spans(each.new, each.written) for day in span]
    begin = min(first, *(each.written for each in said))
    around = on_days(store, begin, max(last, *days, begin) + _AROUND, frozenset(gone), here=zone(now))
    dated = [Dated(each, _named(each, people)) for each in around if not each.is_cancelled]
    return of_events(dated, said)


def quoted(messages: Sequence[Announced], today: date, mark: Callable[[Announced], str]) -> str:
    """Return the newest messages about an event as a text: "(mail of 24 November from Petra: “…” [2])"."""
    lines = []
    for message in messages[:_MOST_QUOTED]:
        day = f"{message.written.day} {message.written:%B}" + (
            f" {message.written.year}" if message.written.year != today.year else ""
        )
        kind = message.passage.kind
        by = f" from {safe_line(message.writer)}" if message.writer else ""
        text = message.quote if len(message.quote) <= _MOST_CHARACTERS else f"{message.quote[:_MOST_CHARACTERS]}…"
        lines.append(f"({kind} of {day}{by}: “{safe_line(text)}”{mark(message)})")
    return "\n".join(lines)


def items(events: Sequence[Occurrence], notices_of: Notices) -> Iterator[NoticeItem]:
    """Yield the messages about the events as entries of `items`."""
    for event in events:
        for message in notices_of.get(key(event), ())[:_MOST_QUOTED]:
            yield NoticeItem(
                event.stored.title,
                event.begins.isoformat(),
                message.kind,
                message.quote,
                message.writer,
                message.passage.date or "",
                message.passage.kind,
                message.passage.path,
            )


def _about(store: KnowledgeStore, names: Mapping[str, EventName]) -> str:
    """Return an FTS5 expression for passages that may name one of the events, given by title; "" if there are none.

    A passage needs two of the words that name an event, or one that is rare, or the only one.
    """
    words = {title: [w for w in terms(plain(title)) if stemmed(w) in name.needed] for title, name in names.items()}
    forms = {word: any_of(with_families([word])) for each in words.values() for word in each}
    held = FullText(store.database).held_each(forms.values(), _RARE + 1)
    some = {form for word, form in forms.items() if held[form] <= _RARE or [word] in words.values()}
    pairs = {
        all_of([forms[first], forms[second]]) for each in words.values() for first, second in combinations(each, 2)
    }
    every = sorted(some) + sorted(f"({pair})" for pair in pairs)
    return f"({' OR '.join(every)})" if every else ""


def _named(occurrence: Occurrence, people: Directory) -> EventName:
    stored = occurrence.stored
    names = [people.name(each) for each in stored.people]
    return event_name(stored.title, stored.event.place, names, people.is_part_of_name)
