"""Selects the documents that a question asks for, by their kind, people, title, date and words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Final

from device_app.english import naming
from device_app.english.listing import Reading
from device_app.english.periods import Period
from device_app.english.terms import terms
from device_app.english.words import content_words
from device_app.everyday.kinds import PLURALS, counted_kind
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.showing import names_of, noted
from device_app.knowledge.directory import several, whole
from device_app.knowledge.people import Person
from shared.types import Filters, SearchFilters
from storage.documents import StoredDocument
from storage.keywords import quoted
from storage.search import DocumentFacts, FullText, all_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

ROLES: Final = {
    "who": ("from", "senders"),
    "whose": ("from", "senders"),
    "to": ("to", "recipients"),
    "with": ("with", "people"),
}
"""The ways in which a question may name a person, each with its word and the filter for it."""

_FILES: Final = (("pdf", ".pdf"), ("spreadsheet", ".xls"), ("word", ".doc"))
_KINDS: Final = {"message": ("mail", "chat"), "file": ()}
"""The kinds of documents that a question means by a word, where they are not that word itself."""

_GENERAL: Final = frozenset(
    ["meeting", "project", "personal", "own", "short", "long", "work", "little", "written", "private"]
)
"""Adjectives that are ignored beside a topic, as they say little about a document."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents that a question asks for: their kinds, and the limits in words, for `understood`.

    `other` is the noun for documents of no kind; `unknown` is a name that nobody has; `note` says which people are
    unclear.
    """

    kinds: tuple[str, ...]
    documents: Sequence[StoredDocument]
    limits: tuple[str, ...] = ()
    other: str = "documents"
    unknown: str = ""
    note: str = ""

    @property
    def noun(self) -> str:
        """The kinds in words, in the plural."""
        return " and ".join(PLURALS.get(kind, f"{kind}s") for kind in self.kinds) or self.other

    @property
    def understood(self) -> str:
        """How the question was read."""
        return " · ".join((self.noun, *self.limits))

    def noted(self, ruled: Ruled) -> Ruled:
        """Return the answer with the note below its text."""
        return noted(ruled, self.note)

    def counted(self, count: int) -> str:
        """Return the number of documents in words, followed by the limits."""
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

        For the latest documents, those dated until today are returned; with `of_any_day`, those with a later date or
        none, too.
        """
        held = self.store.kinds()
        kinds = _kinds(reading)
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
        """Return the documents about these topics: those with the topic's words in title or path, else in the text.

        For "the last boathouse note on the roof", the notes about the roof are returned, only those with "boathouse" if
        there are any.
        """
        *adjectives, topic = topics or ("",)
        if not topic:
            return selection
        if not content_words(topic):
            return None
        documents = self._named(selection.documents, topic) or self._holding(selection.documents, topic)
        for adjective in [each for each in adjectives if each not in _GENERAL]:
            narrower = {each.id for find in (self._named, self._holding) for each in find(documents, adjective)}
            documents = [each for each in documents if each.id in narrower] or documents
        return replace(selection, documents=documents, limits=(*selection.limits, f"about “{' '.join(topics)}”"))

    def _named(self, documents: Sequence[StoredDocument], topic: str) -> list[StoredDocument]:
        words = set(content_words(topic))
        return [each for each in documents if words <= set(content_words(f"{each.title} {_file(each)}"))]

    def _holding(self, documents: Sequence[StoredDocument], topic: str) -> list[StoredDocument]:
        passages = FullText(self.store.database).matches(all_of([quoted(word) for word in terms(topic)]))
        held = {fact.document for fact in DocumentFacts(self.store.database).facts(passages.tolist())}
        return [each for each in documents if each.id in held]


def _kinds(reading: Reading) -> tuple[str, ...]:
    kind = reading.parts.get("kind") or reading.parts.get("unsaid") or "mail"
    return _KINDS.get(kind, (kind,))


def _limited(filters: SearchFilters, reading: Reading, given: Filters, today: date | None) -> SearchFilters:
    """Return the filters with the question's period and filters; for the latest documents, until today."""
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
    """Return whether a name that nobody has may be none: several words, not all of them with a capital."""
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
