"""Reads what messages and notes say of events: that they are moved, cancelled, or take place as planned. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

from device_app.english import notices
from device_app.english.naming import shown
from device_app.english.naming import words as words_of_name
from device_app.english.notice_days import says_when
from device_app.english.notices import Notice, Owner
from device_app.english.stemming import stemmed
from device_app.english.terms import plain, terms
from device_app.english.units import SPEAKER, units

if TYPE_CHECKING:
    from shared.types import StoredPassage

_NEAR: Final = {"chat": 2}
_NEAR_TEXT: Final = 4
"""How many sentences before a notice may name its event; fewer in a chat, where the subject changes sooner."""

_REPLY: Final = re.compile(r"^(?:(?:re|fwd?|aw|wg)\s*:\s*)+", re.IGNORECASE)


Kind = Literal["moved", "cancelled", "denied"]


@dataclass(frozen=True, slots=True)
class Announced:
    """What a message says of an event: the `quote`, its `writer` and day, and how it names the event and its days.

    `words`, `general`, `owner`, `held` and `new` are those of the notice. `context` are the sentences before it, and
    `scope` the stems of all that may name the event: title, context, quote and people. "denied": it is not moved.
    """

    kind: Kind
    passage: StoredPassage
    quote: str
    writer: str
    written: date
    words: frozenset[str]
    general: frozenset[str]
    owner: Owner
    held: str
    new: str
    context: Sequence[str]
    scope: frozenset[str]

    @property
    def title(self) -> str:
        """The title of the message or note, without "Re:"."""
        return _REPLY.sub("", self.passage.title)

    def near(self, needed: Collection[str]) -> list[str]:
        """Return the sentences before the quote, and the title, that name an event by one of its needed stems."""
        texts = (*self.context, self.title)
        return [text for text in texts if not {stemmed(word) for word in terms(plain(text))}.isdisjoint(needed)]


def announced(passage: StoredPassage, mine: Collection[str]) -> Iterator[Announced]:
    """Yield what a dated message or note says of events, in order. `mine` are the names of the files' owner.

    Sentences in a row that say it together are one: "We have to move it. The new time is Friday, 10:00." What the owner
    calls "my" appointment, or somebody else "your" appointment, is the owner's; somebody else's own appointment is not.
    """
    said = list(_said(passage))
    before: Announced | None = None
    place_before = -1
    for place, (writer, sentence) in enumerate(said):
        each = _read(passage, said, place)
        if each is None or (each.owner == "mine" and writer and writer not in mine) or each.owner == "others":
            continue
        if before and place == place_before + 1 and _continues(before, each):
            before = replace(
                before,
                quote=f"{before.quote} {sentence}",
                held=f"{before.held} ; {each.held}",
                new=f"{before.new} ; {each.new}" if says_when(before.new) else each.new,
                scope=before.scope | each.scope,
            )
        else:
            if before:
                yield before
            before = each
        place_before = place
    if before:
        yield before


def _said(passage: StoredPassage) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a passage, each with who says it; "" if nobody is named, as in a note."""
    writer = shown(passage.people[0]) if passage.kind == "mail" and passage.people else ""
    if passage.kind == "mail" and not _REPLY.match(passage.title) and passage.ordinal == 0:
        yield writer, passage.title
    people = {shown(person) for person in passage.people}
    for unit in units(passage):
        if unit.is_row:
            continue
        speaker = SPEAKER.match(unit.text) if passage.kind != "mail" else None
        if speaker and speaker[1] in people:
            writer = speaker[1]
        yield writer, unit.text[speaker.end() :] if speaker and speaker[1] in people else unit.text


def _read(passage: StoredPassage, said: Sequence[tuple[str, str]], place: int) -> Announced | None:
    writer, sentence = said[place]
    kind: Kind = "denied"
    if given := notices.notice(sentence):
        kind = given.kind
    elif notices.denies(sentence):
        given = Notice("moved", (), (), "", plain(sentence), "")
    else:
        return None
    near = _NEAR.get(passage.kind, _NEAR_TEXT)
    context = [text for _, text in said[max(0, place - near) : place]]
    title = _REPLY.sub("", passage.title)
    names = (passage.people[:1] if passage.kind == "mail" else passage.people) if passage.people else ()
    stems = {stemmed(word) for text in (title, *context, sentence) for word in terms(plain(text))}
    stems |= {stemmed(word) for name in names for word in words_of_name(shown(name))}
    return Announced(
        kind,
        passage,
        sentence,
        writer,
        date.fromisoformat((passage.date or "")[:10]),
        frozenset(given.words),
        frozenset(given.general),
        given.owner,
        given.held,
        given.new,
        context,
        frozenset(stems),
    )


def _continues(before: Announced, each: Announced) -> bool:
    """Return whether a notice goes on with the one before it: the same writer, and no other event named."""
    is_same = before.writer == each.writer and each.words <= before.words and before.kind != "denied" != each.kind
    return is_same and not (before.kind == each.kind and before.words and each.words and says_when(before.new))
