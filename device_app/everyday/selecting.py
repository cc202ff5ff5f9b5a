"""Selects the documents that a question asks for, by their kind, people, title, date and words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final

from device_app.english import naming
from device_app.english.hearsay import KIN
from device_app.english.listing import Reading
from device_app.english.periods import Period
from device_app.english.terms import terms, with_families
from device_app.english.words import content_words
from device_app.everyday.kinds import PLURALS, counted_kind
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.showing import names_of, noted
from device_app.knowledge.directory import several, whole
from device_app.knowledge.people import Person
from shared.types import Filters, SearchFilters
from storage.documents import StoredDocument
from storage.search import FullText, all_of, any_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

ROLES: Final = {
    "who": ("from", "senders"),
    "whose": ("from", "senders"),
    "to": ("to", "recipients"),
    "with": ("with", "people"),
}
"""For each way in which a question may name a person: the preposition that reports it ("from"), and the search filter
that it sets.
"""

_FILES: Final = (("pdf", ".pdf"), ("spreadsheet", ".xls"), ("word", ".doc"))
_KINDS: Final = {"message": ("mail", "chat"), "file": ()}
"""The kinds of documents for nouns that mean several kinds; () stands for all kinds. Any other noun is a kind's name.
"""

_GENERAL: Final = frozenset(
    ["meeting", "project", "personal", "own", "short", "long", "work", "little", "written", "private"]
)
"""Adjectives that are ignored beside a topic, as they say little about a document."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents that a question asks for, with their kinds and, in words, the limits of the selection ("in May").

    `other` is the noun to use if no kinds are given; `unknown` is a name in the question that nobody has; `note` says
    which people are unclear.
    """

    kinds: tuple[str, ...]
    documents: Sequence[StoredDocument]
    limits: tuple[str, ...] = ()
    other: str = "documents"
    unknown: str = ""
    note: str = ""

    def narrowed(self) -> Selection:
        """Return the selection with only the kinds of its documents; unchanged if it has no documents."""
        held = {each.kind for each in self.documents}
        return replace(self, kinds=tuple(kind for kind in self.kinds if kind in held) or self.kinds)

    @property
    def noun(self) -> str:
        """The kinds in words, in the plural."""
        return " and ".join(PLURALS.get(kind, f"{kind}s") for kind in self.kinds) or self.other

    @property
    def understood(self) -> str:
        """How the question was interpreted, in words: the kinds and the limits."""
        return " · ".join((self.noun, *self.limits))

    def noted(self, ruled: Ruled) -> Ruled:
        """Return the answer with the note about unclear people below its text."""
        return noted(ruled, self.note)

    def counted(self, count: int) -> str:
        """Return a number of documents in words, followed by the limits: "3 mails from Rick Moen"."""
        named = self.noun.removesuffix("s") if count == 1 else self.noun
        noun = counted_kind(self.kinds[0], count) if len(self.kinds) == 1 else f"{count:,} {named}"
        return " ".join((noun, *self.limits))


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects documents of one store."""

    store: KnowledgeStore
    people: KnownPeople

    def select(self, reading: Reading, asked: Asked, *, of_any_day: bool = False) -> Selection | None:
        """Return the documents that the question asks for; None if unsure.

        If it asks for the latest, only documents dated today or earlier are returned; with `of_any_day`, also those
        with a later date or no date. "When did I last write to Petra?" means mails or chats, whichever are newer.
        """
        written = self._select(reading, asked, of_any_day=of_any_day)
        parts = dict(reading.parts)
        if not parts.keys() >= {"unsaid", "to", "mine"} or parts.get("order") != "last":
            return written
        own = {name: parts[name] for name in parts.keys() - {"unsaid", "to", "mine"}}
        chat = replace(reading, parts=own | {"with": parts["to"], "kind": "chat", "noun": "chats"})
        mine = {*self.people.directory.written("me")}
        if (talked := self._select(chat, asked, of_any_day=of_any_day)) and mine:
            talked = replace(talked, documents=[each for each in talked.documents if mine & {*each.people}])
        if not talked or not talked.documents:
            return written
        return talked if not written or _newest(talked) > _newest(written) else written

    def _select(self, reading: Reading, asked: Asked, *, of_any_day: bool) -> Selection | None:
        held = self.store.kinds()
        kinds = _kinds(reading)
        if kinds == _KINDS["message"] and "mail" not in held:
            kinds = ("chat",)
        if (
            "unsaid" in reading.parts
            and kinds
            and not held.keys() & {*kinds, *(["note"] if kinds == ("chat",) else [])}
        ):
            return None
        is_of_people = kinds == ("chat",) and "chat" not in held and "note" in held  # a chat that was saved as notes
        kinds = ("note",) if is_of_people else tuple(kind for kind in kinds if kind in held) or kinds[:1]
        people = self.people.directory
        given = self.people.widened(asked.query.filters)
        filters = _limited(SearchFilters(kinds=kinds), reading, given, None if of_any_day else asked.now.date())
        limits: list[str] = []
        notes = list(self.people.notes(asked.query.filters))
        unknown = ""
        parts = dict(reading.parts)
        for name, (before, field) in ROLES.items():
            if not (said := parts.get(name)):
                continue
            meant = people.meant(said)
            here = [person for person in meant if not kinds or person.is_named_in(kinds)]
            is_topic = name == "whose" and "topic" not in parts and not _is_counted(reading)
            if is_topic and not here and not meant and not said.endswith("'s"):
                parts["topic"] = parts.pop(name)
                continue
            if (
                not here
                and not (here := [each for each in people.partly(said, kinds) if not _is_other(said, each, asked)])
                and (_is_vague(said, asked) or name == "whose" or "kind" not in parts)
            ):
                return None
            meant = here or meant
            limits.append(f"{before} {names_of(meant) or f'“{said}”'}")
            unknown = "" if meant else said
            notes.append(several(said, meant))
            some = tuple(whole(people.written_as(said, meant))) or ("\0",)
            filters = replace(filters, **{field: some})  # type: ignore[arg-type]
        is_oldest = reading.parts.get("order") == "first"
        documents = asked.present(self.store.latest(filters, oldest=is_oldest))
        if is_of_people:
            documents = [each for each in documents if len(each.people) > 1]
        if (
            not ROLES.keys() & parts.keys() - {"to"}
            and (reading.form == "most" or {"me", "mine"} & parts.keys())
            and kinds == ("mail",)
        ):
            mine, is_mine = frozenset(people.written("me")), "mine" in parts
            if is_mine and people.me is None:
                return None
            documents = [each for each in documents if (not mine.isdisjoint(each.people[:1])) == is_mine]
            limits.append("that you sent" if is_mine else "that you received")
        if reading.period:
            limits.append(_in_period(reading.period))
        topics = [parts[name] for name in ("adjective", "topic") if name in parts]
        noun = "days of chat" if is_of_people else parts.get("noun", "documents")
        note = "; ".join(filter(None, notes))
        return self._about(
            Selection(() if is_of_people else kinds, documents, tuple(limits), noun, unknown, note), topics
        )

    def _about(self, selection: Selection, topics: Sequence[str]) -> Selection | None:
        """Keep the documents about the given topics: those with the topic's words in title or path, else in the text.

        For "the last boathouse note on the roof", the notes about the roof are kept, and of those only the ones with
        "boathouse" if there are any. Return None if the topic has no content words.
        """
        *adjectives, topic = topics or ("",)
        if not topic:
            return selection.narrowed()
        if not content_words(topic):
            return None
        documents = self._named(selection.documents, topic) or self._holding(selection.documents, topic)
        for adjective in [each for each in adjectives if each not in _GENERAL]:
            narrower = {each.id for find in (self._named, self._holding) for each in find(documents, adjective)}
            documents = [each for each in documents if each.id in narrower] or documents
        limits = (*selection.limits, f"about “{' '.join(topics)}”")
        return replace(selection, documents=documents, limits=limits).narrowed()

    def _named(self, documents: Sequence[StoredDocument], topic: str) -> list[StoredDocument]:
        words = set(content_words(topic))
        return [each for each in documents if words <= set(content_words(f"{each.title} {_file(each)}"))]

    def _holding(self, documents: Sequence[StoredDocument], topic: str) -> list[StoredDocument]:
        passages = FullText(self.store.database).matches(
            all_of([any_of(with_families([word])) for word in terms(topic)])
        )
        held = {fact.document for fact in self.store.facts(passages.tolist())}
        return [each for each in documents if each.id in held]


def _newest(selection: Selection) -> str:
    return max((each.date or "" for each in selection.documents), default="")


def _kinds(reading: Reading) -> tuple[str, ...]:
    kind = reading.parts.get("kind") or reading.parts.get("unsaid") or "mail"
    return _KINDS.get(kind, (kind,))


def _limited(filters: SearchFilters, reading: Reading, given: Filters, today: date | None) -> SearchFilters:
    """Return the filters, narrowed by the question's period and typed filters; if it asks for the latest, the period
    ends today.
    """
    period = reading.period
    first, last = (period.first, period.last) if period else (None, None)
    if reading.form == "latest" and last is None:
        last = today
    noun = reading.parts.get("noun", "")
    suffixes = tuple(suffix for name, suffix in _FILES if noun.startswith(name))
    return replace(
        filters,
        people=given.people,
        places=given.places or suffixes,
        kinds=given.kinds or filters.kinds,
        after=max(filter(None, (first, given.after)), default=None),
        before=min(filter(None, (last, given.before)), default=None),
    )


def _in_period(period: Period) -> str:
    """Return a period with its preposition: "in October 2026", "on Monday 2 March 2026"."""
    if not period.days:
        return period.words
    return f"{'on' if period.days == 1 else 'from' if ' to ' in period.words else 'in'} {period.words}"


def _is_vague(name: str, asked: Asked) -> bool:
    """Return whether an unknown name may not be a name: kin, "my accountant", several words without capitals."""
    if name in KIN or re.search(rf"(?i)\b(?:my|our|the) {re.escape(name)}\b", asked.text):
        return True
    words = content_words(name)
    capitals = re.findall(r"[A-Z][\w'’-]*", asked.text)
    return not words or len(words) > 3 or (len(words) > 1 and not {*words} <= {*content_words(" ".join(capitals))})


def _is_counted(reading: Reading) -> bool:
    """Return whether what may be a name is rather a thing, as in "how many boxes of tiles came?"."""
    return reading.form == "whether" or (reading.form == "count" and "kind" not in reading.parts)


def _is_other(name: str, person: Person, asked: Asked) -> bool:
    """Return whether a name is not this person's, though they share a word: "Livia Kowalski" is not Livia Cerne."""
    words = {*naming.words(name)}
    capitals = words & {*naming.words(" ".join(re.findall(r"[A-Z][\w'’-]*", asked.text)))}
    called = {*naming.words(naming.shown(person.name))}
    return bool(capitals) and len(called) > 1 and len(called & words) == 1


def _file(document: StoredDocument) -> str:
    return re.sub(r"[_\W\d]+", " ", "/".join(document.path.split("/")[-2:]))
