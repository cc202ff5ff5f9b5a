"""Rules: each answers questions of one sort without a model, from the clock and the store, or steps aside.

A rule reads English by `device_app/english` and looks up the store itself. It never loads a model, opens no socket and
writes nothing. Where it is unsure what was asked, it returns None, and the question goes the usual way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from device_app.english import listing
from device_app.english.following import is_follow_up
from device_app.english.query import parse

if TYPE_CHECKING:
    from device_app.english.query import Query
    from shared.types import StoredPassage
    from storage.knowledge import FileState


class _OfFile(Protocol):
    """What is from a file, such as a document, a passage or a table. `path` is printable."""

    @property
    def path(self) -> str: ...


T = TypeVar("T", bound=_OfFile)


def local_now() -> datetime:
    """Return the moment, with the time zone of this device."""
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a rule: its `query`, and the moment `now`, with the person's time zone.

    `gone` are the paths of files that were deleted since they were read: nothing of them belongs into an answer.
    `before` is the question that this one follows up on; "" if it is the first of its conversation, or stands alone.
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
        """Whether the question can be understood only with what was said before it."""
        return is_follow_up(self.query)

    def present(self, records: Iterable[T]) -> list[T]:
        """Return these records without what is from deleted files."""
        return [each for each in records if each.path not in self.gone]


@dataclass(frozen=True, slots=True)
class Item:
    """A record behind an answer, such as a mail, an event or a number. `TYPE` names its kind for scripts.

    The values of the fields must be JSON: dates and times are ISO 8601 text.
    """

    TYPE: ClassVar[str] = "item"

    def as_json(self) -> dict[str, Any]:
        """Return the record as an entry of `items` of `ask --json`."""
        return {"type": self.TYPE} | asdict(self)


@dataclass(frozen=True, slots=True)
class Ruled:
    """The answer of a rule.

    `text` is Markdown, all that a person is shown; "[1]" cites the first of the `sources`. `understood` says in words
    how the question was read, its parts joined by " · ": "mails · from Rick Moen · October 2026". `items` are the
    records behind the text, which may be more than it shows; none if the store holds nothing of what was asked for,
    which is an answer too. `files` are those that were looked through, as far as they are few: if one of them, or
    of those that the sources are from, has changed since, it is read again, and the rule is asked again.
    """

    text: str
    understood: str
    items: Sequence[Item] = ()
    sources: Sequence[StoredPassage] = ()
    files: Sequence[FileState] = ()


class Rule(Protocol):
    """Answers questions of one sort."""

    @property
    def stands_alone(self) -> bool:
        """Whether it reads questions for their subjects, so that it must not be asked for a follow-up question."""

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the answer; None if the question is of another sort, or unsure. Raises StoreError."""


@dataclass(frozen=True, slots=True)
class Everyday:
    """Answers a question by the first of its rules that understands it."""

    rules: Sequence[Rule]

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the answer of the first rule that understands the question; None if none does. Raises StoreError."""
        today = asked.now.date()
        if asked.before and (whole := listing.following(asked.text, asked.before, today)):
            asked = replace(asked, query=parse(whole, today), before="")
        follows = asked.is_follow_up
        for rule in self.rules:
            if follows and rule.stands_alone:
                continue
            if ruled := rule.answer(asked):
                return ruled
        return None
