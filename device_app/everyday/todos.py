"""Lists what is still to do, from the lists in notes and the tasks in calendars, the newest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import todos
from device_app.english.todos import Todo, TodoQuestion
from device_app.english.words import content_words
from device_app.everyday.rule import Asked, Item, Ruled
from device_app.everyday.showing import moment
from shared.printable import safe_line
from shared.types import StoredPassage
from storage.passages import show
from storage.search import FullText, any_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

_MOST_SHOWN: Final = 40
_MOST_CHARACTERS: Final = 200
_BOXES: Final = ("*[[][ xX-][]]*", "*[[][]]*", "*[☐☑☒✅]*")
_WORDS: Final = ("todo", "to do", "fixme")
_STATUS: Final = re.compile(r"^Status: (?P<status>[a-z-]+)$", re.MULTILINE)
_OVER: Final = frozenset(["completed", "cancelled"])


@dataclass(frozen=True, slots=True)
class TodoItem(Item):
    """An item of a list. `date` is the day of its document in ISO 8601, or None."""

    TYPE: ClassVar[str] = "todo"
    text: str
    done: bool
    title: str
    date: str | None
    path: str


@dataclass(frozen=True, slots=True)
class Todos:
    """Lists open and finished items."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = False

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the open items, or the finished ones; None if the files have no such list."""
        question = None if asked.query.is_limited or asked.before else todos.read(asked.text)
        if question is None:
            return None
        held = [(passage, todo) for passage in self._passages(question, asked) for todo in _items(passage)]
        meant = [(passage, todo) for passage, todo in held if _is_about(question.topic, passage, todo)]
        return _answer(question, meant) if meant else None

    def _passages(self, question: TodoQuestion, asked: Asked) -> list[StoredPassage]:
        """Return the passages of notes and tasks that may have items, by day, the newest first.

        A document without a date counts by the day on which its file was last changed.
        """
        words = any_of((*_WORDS, *(["done"] if question.done else [])))
        ids = {*self.store.fitting(_BOXES, ("note",)), *self.store.fitting(["*"], ("task",))}
        ids |= {*FullText(self.store.database).matches(words).tolist()}
        passages = asked.present(self.store.passages(sorted(ids)).values())
        some = [passage for passage in passages if passage.kind in ("note", "task")]
        changed = {show(state.path): state.mtime_ns / 1e9 for state in self.store.files_of([each.id for each in some])}

        def day(passage: StoredPassage) -> str:
            return (passage.date or datetime.fromtimestamp(changed.get(passage.path, 0), UTC).isoformat())[:10]

        in_order = sorted(some, key=lambda each: (each.path, each.document_id, each.ordinal))
        return sorted(in_order, key=day, reverse=True)


def _items(passage: StoredPassage) -> Iterator[Todo]:
    if passage.kind != "task":
        yield from todos.items(passage.text)
    elif passage.ordinal == 0:
        status = _STATUS.search(passage.text)
        due = next((line for line in passage.text.splitlines() if line.startswith("Due: ")), "")
        text = f"{passage.title} ({due[:1].lower()}{due[1:]})" if due else passage.title
        yield Todo(text, is_done=status is not None and status["status"] in _OVER)


def _is_about(topic: str, passage: StoredPassage, todo: Todo) -> bool:
    if not (words := {*content_words(topic)}):
        return True
    name = re.sub(r"[\W_]+", " ", " ".join(passage.path.split("/")[-2:]))
    return words <= {*content_words(todo.text)} or words <= {*content_words(f"{passage.title} {name}")}


def _answer(question: TodoQuestion, held: Sequence[tuple[StoredPassage, Todo]]) -> Ruled:
    """Return the items under the titles of their documents."""
    meant = [(passage, todo) for passage, todo in held if todo.is_done == question.done]
    what, other = ("finished", "open") if question.done else ("open", "finished")
    about = f" about “{safe_line(question.topic)}”" if question.topic else ""
    parts = [f"{_counted(len(meant), what)}{about}{':' if meant else '.'}"]
    sources: list[StoredPassage] = []
    documents: dict[int, list[str]] = {}
    for passage, todo in meant[:_MOST_SHOWN]:
        if passage.document_id not in documents:
            sources.append(passage)
            day = moment(passage.date[:10]) if passage.date else ""
            heading = " · ".join(filter(None, (day, safe_line(passage.title))))
            documents[passage.document_id] = [f"{heading} [{len(sources)}]"]
        text = todo.text if len(todo.text) <= _MOST_CHARACTERS else f"{todo.text[:_MOST_CHARACTERS]}…"
        documents[passage.document_id].append(f"- {safe_line(text)}")
    parts += ["\n".join(lines) for lines in documents.values()]
    if len(meant) > _MOST_SHOWN:
        parts.append(f"… and {len(meant) - _MOST_SHOWN} more.")
    if len(held) > len(meant):
        parts.append(f"{_counted(len(held) - len(meant), other)}{'' if meant else about}.")
    items = [TodoItem(todo.text, todo.is_done, each.title, each.date, each.path) for each, todo in meant]
    return Ruled("\n\n".join(parts), f"{what} items of lists{about}", items, sources)


def _counted(count: int, what: str) -> str:
    return f"{count} {what} {'item' if count == 1 else 'items'}"
