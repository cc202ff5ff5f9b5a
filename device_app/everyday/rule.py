"""The interface of rules: each answers one sort of question without a model, from the clock and the store.

A rule reads English by `device_app/english` and searches the store itself. It never loads a language model, opens no
socket and writes nothing. If it is unsure of a question's meaning it returns None, and the question is answered without
a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from device_app.english import listing, rewording
from device_app.english.following import for_other_days, is_bare_follow_up, is_follow_up
from device_app.english.query import parse
from shared.printable import safe_line

if TYPE_CHECKING:
    from device_app.english.query import Query
    from device_app.everyday.phrasings import Phrasings
    from device_app.knowledge.known_people import KnownPeople
    from shared.types import StoredPassage
    from storage.knowledge import FileState


class _OfFile(Protocol):
    """Anything that comes from a file, such as a document, a passage or a table. `path` is printable."""

    @property
    def path(self) -> str: ...


T = TypeVar("T", bound=_OfFile)


def local_now() -> datetime:
    """Return the current time with this device's time zone."""
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a rule: its `query`, and the time `now` with the person's time zone.

    `gone` are the paths of files deleted since they were read: an answer must not use them. `before` is the question
    that a follow-up question continues; "" if the question is the first of its conversation, or is no follow-up.
    """

    query: Query
    now: datetime
    gone: frozenset[str] = frozenset()
    before: str = ""

    @property
    def text(self) -> str:
        """The question without its filters."""
        return self.query.text

    @property
    def is_follow_up(self) -> bool:
        """Whether the question can be understood only together with the conversation before it."""
        return is_follow_up(self.query)

    def present(self, records: Iterable[T]) -> list[T]:
        """Return the given records (documents, passages) without those from deleted files."""
        return [each for each in records if each.path not in self.gone]


@dataclass(frozen=True, slots=True)
class Item:
    """The base class of the facts behind an answer, such as a mail, an event or a number, for `ask --json`.

    `TYPE` names the kind of fact for scripts. The values of the fields must be JSON: dates and times are ISO 8601 text.
    """

    TYPE: ClassVar[str] = "item"

    def as_json(self) -> dict[str, Any]:
        """Return the fact as an entry of `items` of `ask --json`."""
        return {"type": self.TYPE} | asdict(self)


@dataclass(frozen=True, slots=True)
class Ruled:
    """The answer of a rule.

    `text` is the Markdown shown to the person; "[1]" cites the first of the `sources`. `understood` says how the
    question was read, its parts joined by " · ": "mails · from Rick Moen · October 2026". `items` are the records
    behind the text, perhaps more than the text shows; if empty, the store has nothing of the kind, which is an answer
    too. `files` are the files that were searched, if they are few: if one of them, or of the sources' files, has
    changed since it was read, it is read again, and the rule is asked again. With `may_be_empty`, an answer without
    items is also one to a question in other words, as nothing is on however the day is asked for.
    """

    text: str
    understood: str
    items: Sequence[Item] = ()
    sources: Sequence[StoredPassage] = ()
    files: Sequence[FileState] = ()
    may_be_empty: bool = False


class Rule(Protocol):
    """A rule, which answers one sort of question."""

    @property
    def stands_alone(self) -> bool:
        """Whether follow-up questions are not passed to the rule, as it reads the subject from the question alone."""

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the answer; None if the question is of another sort, or its meaning is unsure. Raises StoreError."""


@dataclass(frozen=True, slots=True)
class Everyday:
    """Answers a question by the first of its rules that understands the question.

    With `phrasings`, a question that no rule understands is put as the plain question that means the same.
    """

    rules: Sequence[Rule]
    people: KnownPeople | None = None
    phrasings: Phrasings | None = None

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the answer of the first rule that understands the question as it is worded, or else put more plainly.

        Return None if no rule does. Raises StoreError.
        """
        today = asked.now.date()
        if asked.before and (whole := listing.following(asked.text, asked.before, today)):
            asked = replace(asked, query=parse(whole, today), before="")
        if ruled := self._as_worded(asked):
            return ruled
        whole = for_other_days(asked.text, asked.before, today) if asked.before and not asked.query.is_limited else None
        if whole:
            return self._as_worded(replace(asked, query=parse(whole, today), before=""))
        if is_bare_follow_up(asked.text):
            return None
        is_name = self.people.directory.is_part_of_name if self.people else lambda _: False
        plain = rewording.plain(asked.text, is_name)
        if plain and plain != asked.text:
            asked = replace(asked, query=replace(asked.query, text=plain))
            if ruled := self._as_worded(asked):
                return ruled
        return self._by_meaning(asked, is_name)

    def _by_meaning(self, asked: Asked, is_name: Callable[[str], bool]) -> Ruled | None:
        """Return the answer to the plain question that means the same, and say which one was understood."""
        if self.phrasings is None or asked.is_follow_up or asked.query.is_limited:
            return None
        plain = self.phrasings.plain(asked.text, asked.now.date(), is_name)
        ruled = self._as_worded(replace(asked, query=replace(asked.query, text=plain))) if plain else None
        if plain is None or ruled is None or not (ruled.items or ruled.may_be_empty):
            return None  # "I found no mails" must be said of what was asked, in its own words
        return replace(ruled, understood=f"{ruled.understood} · read as “{safe_line(plain)}”")

    def _as_worded(self, asked: Asked) -> Ruled | None:
        follows = asked.is_follow_up
        for rule in self.rules:
            if follows and rule.stands_alone:
                continue
            if ruled := rule.answer(asked):
                return ruled
        return None
