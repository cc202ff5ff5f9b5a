"""Shows the whole list of what a dish, a trip or a job needs, as a note has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import needed
from device_app.english.needed import Needed
from device_app.english.terms import terms, with_families
from device_app.english.words import content_words
from device_app.everyday.rule import Asked, Item, Ruled
from shared.printable import safe_line
from shared.types import StoredPassage
from storage.search import FullText, all_of, any_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

_KINDS: Final = frozenset(["note", "page", "paper", "book"])
_MOST_PASSAGES, _MOST_LISTS = 50, 3


@dataclass(frozen=True, slots=True)
class NeededItem(Item):
    """A line of the list of the document `title`."""

    TYPE: ClassVar[str] = "needed"
    text: str
    title: str
    path: str


@dataclass(frozen=True, slots=True)
class _List:
    """A list, with the passage in which it begins."""

    needed: Needed
    passage: StoredPassage


@dataclass(frozen=True, slots=True)
class Needs:
    """Lists the ingredients of a dish, or what to bring."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return the lists of documents that have the subject as title, or as the name above the list; else None."""
        subject = "" if asked.query.is_limited else needed.read(asked.text)
        if not subject or not (lists := list(self._lists(subject, asked))) or len(lists) > _MOST_LISTS:
            return None
        parts, items = [], []
        for number, each in enumerate(lists, 1):
            titles = dict.fromkeys((each.passage.title, each.needed.before)) if len(lists) > 1 else [each.passage.title]
            title = safe_line(" · ".join(filter(None, titles)))
            parts.append("\n".join((f"{title} [{number}]", *(f"- {safe_line(line)}" for line in each.needed.lines))))
            items += [NeededItem(line, each.passage.title, each.passage.path) for line in each.needed.lines]
        sources = [each.passage for each in lists]
        return Ruled("\n\n".join(parts), f"what is needed · “{safe_line(subject)}”", items, sources)

    def _lists(self, subject: str, asked: Asked) -> Iterator[_List]:
        words = {*content_words(subject)}
        ids = FullText(self.store.database).matches(
            all_of([any_of(with_families([word])) for word in terms(subject)]), _MOST_PASSAGES
        )
        passages = asked.present(self.store.passages(ids.tolist()).values())
        for document in dict.fromkeys(passage.document_id for passage in passages if passage.kind in _KINDS):
            whole = self.store.passages_of_documents([document])
            lines = [(line, passage) for passage in whole for line in passage.text.splitlines()]
            held = list(needed.lists([line for line, _ in lines]))
            named = [each for each in held if words <= {*content_words(f"{each.before} {each.heading}")}]
            is_title = words <= {*content_words(f"{whole[0].title} {_file(whole[0])}")}
            for each in named or (held if is_title and len({each.before for each in held}) <= 1 else []):
                yield _List(each, next(passage for line, passage in lines if line.strip() == each.heading))


def _file(passage: StoredPassage) -> str:
    return re.sub(r"[_\W\d]+", " ", passage.path.rpartition("/")[2].rpartition(".")[0])
