"""Answers who has a thing that was lent, by what a message says: "Tom, I have your drill" means its speaker, not Tom.

It answers only from sentences that say it plainly on a known day, and steps aside where a later line may say that the
thing was passed on, was lost, or came back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import holding, naming, speech
from device_app.english.holding import Held, HoldingQuestion
from device_app.english.naming import shown
from device_app.english.stemming import stemmed
from device_app.english.terms import terms, with_families
from device_app.english.words import content_words, denies
from device_app.everyday.hearsay import MessageItem
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.showing import moment
from shared.printable import safe_line
from shared.text import sentences
from shared.types import StoredPassage
from storage.search import FullText, all_of, any_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from storage.knowledge import KnowledgeStore

_MOST_PASSAGES, _MOST_SHOWN, _MOST_QUOTED = 200, 3, 300
_KINDS: Final = frozenset(["chat", "mail", "note"])
_MESSAGES: Final = frozenset(["chat", "mail"])
"""Kinds in which somebody speaks to somebody; what a note says is left to the model, but may say that a thing moved."""

_IT: Final = re.compile(r"\b(?:it|them)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a passage, with its speaker, and its place among the lines that speak of the thing, oldest first."""

    speaker: str
    text: str
    passage: StoredPassage
    at: tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class _Said:
    """A line that says who has the thing."""

    line: _Line
    holder: str


@dataclass(frozen=True, slots=True)
class Holders:
    """Says who has a thing, with the message that says so."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return who has the thing, the newest message first; None if no line says it plainly."""
        question = None if asked.query.is_limited else holding.read(asked.text)
        if question is None:
            return None
        lines = sorted(self._lines(question, asked), key=lambda line: line.at)
        said = [each for line in lines for each in self._of_line(line, question)]
        if not said or self._may_have_moved(said[-1].line, lines, question):
            return None
        if any(not each.line.passage.date for each in said):
            return None  # how long ago it was said is not known
        newest = {each.holder: each for each in said}
        return _answer(question, sorted(newest.values(), key=lambda each: each.line.at, reverse=True)[:_MOST_SHOWN])

    def _lines(self, question: HoldingQuestion, asked: Asked) -> Iterator[_Line]:
        """Yield the lines of messages and notes in passages that name the thing by its last word."""
        head = terms(question.item)[-1]
        ids = FullText(self.store.database).matches(any_of(with_families([head])), _MOST_PASSAGES)
        for passage in asked.present(self.store.passages(ids.tolist()).values()):
            if passage.kind in _KINDS:
                sender = passage.people[0] if passage.kind == "mail" and passage.people else ""
                for place, (speaker, text) in enumerate(speech.spoken(passage)):
                    if not text.lstrip().startswith((">", "|")):
                        at = (passage.date or "~", passage.ordinal, place)
                        yield _Line(speaker or sender, text, passage, at)

    def _of_line(self, line: _Line, question: HoldingQuestion) -> Iterator[_Said]:
        for held in holding.held(line.text) if line.passage.kind in _MESSAGES else ():
            holder = held.holder or line.speaker
            if holder and self._is_meant(held, line, question) and self._is_owned(held, line, question):
                yield _Said(line, self._named(holder))

    def _is_meant(self, held: Held, line: _Line, question: HoldingQuestion) -> bool:
        """Return whether the sentence is about the thing: their last words are equal, and no other word contradicts.

        "My paddle" may be the canoe paddle if its document speaks of the canoe, or if no document has both words.
        """
        asked, said = content_words(question.item), content_words(held.item)
        if not said or said[-1] != asked[-1] or not ({*said} <= {*asked} or {*asked} <= {*said}):
            return False
        if not (missing := {*asked} - {*said}):
            return True
        near = {*content_words(f"{line.passage.title} {line.passage.text}")}
        both = all_of([any_of(with_families([word])) for word in terms(question.item)])
        return missing <= near or not FullText(self.store.database).held(both, 1)

    def _is_owned(self, held: Held, line: _Line, question: HoldingQuestion) -> bool:
        """Return whether the thing in the sentence may belong to the owner whom the question names."""
        if not question.owner or held.owner in ("the", "that", "this"):
            return not question.owner or question.owner == "me" or _names(question.owner, line.passage.text)
        if question.owner == "me" and not self.people.directory.written("me"):
            return held.owner not in ("my", "our")
        owners = {"my": [line.speaker], "our": [line.speaker], "your": self._addressed(held, line)}
        if held.owner == "your" and not owners["your"] and question.owner != "me":
            return _names(question.owner, line.passage.title)  # of a chat's day on which only its speaker wrote
        named = owners.get(held.owner, [re.sub(r"['’]s?$", "", held.owner)])
        return any(owner and self._is_same(question.owner, owner) for owner in named)

    def _addressed(self, held: Held, line: _Line) -> Sequence[str]:
        others = [person for person in line.passage.people if shown(person) != shown(line.speaker)]
        return [held.addressed] if held.addressed else others if len(others) == 1 else []

    def _is_same(self, asked: str, said: str) -> bool:
        """Return whether a name of the question and one of the sentence mean the same person."""
        directory = self.people.directory
        if asked == "me":
            return any(_names(said, written) or _names(written, said) for written in directory.written("me"))
        meant = directory.meant(asked)
        return _names(asked, said) or any(_names(said, shown(person.name)) for person in meant)

    def _named(self, holder: str) -> str:
        directory = self.people.directory
        return "You" if holder in directory.written("me") else directory.name(holder)

    def _may_have_moved(self, newest: _Line, lines: Sequence[_Line], question: HoldingQuestion) -> bool:
        """Return whether a later line, or one without a date, may say that the thing is elsewhere now."""
        head = stemmed(terms(question.item)[-1])
        for line in lines:
            is_later = line.at > newest.at or not line.passage.date
            is_named = head in {stemmed(word) for word in terms(line.text)}
            is_near = line.passage.document_id == newest.passage.document_id and _IT.search(line.text)
            is_moved = holding.may_have_moved(line.text) or denies(line.text)
            if line is not newest and is_later and (is_named or is_near) and is_moved:
                return True
        return any(holding.may_have_moved(behind) for behind in _behind(newest))


def _behind(line: _Line) -> Sequence[str]:
    """Return the sentences of a line behind the last that says who has something."""
    parts = sentences(line.text)
    last = max((place for place, each in enumerate(parts) if any(True for _ in holding.held(each))), default=len(parts))
    return parts[last + 1 :]


def _names(name: str, text: str) -> bool:
    """Return whether a text has all words of a name."""
    return bool(words := {*naming.words(name)}) and words <= {*naming.words(text)}


def _answer(question: HoldingQuestion, said: Sequence[_Said]) -> Ruled:
    parts, items = [], []
    for number, each in enumerate(said, 1):
        line, passage = each.line, each.line.passage
        assert passage.date  # as `answer` sees to
        day = moment(passage.date[:10])
        text = line.text if len(line.text) <= _MOST_QUOTED else f"{line.text[:_MOST_QUOTED]}…"
        speaker = f"{safe_line(shown(line.speaker))}: " if line.speaker else ""
        before = "" if number == 1 else "Before: "
        parts.append(f"{before}{safe_line(each.holder)}, {day}: [{number}]\n> {speaker}{safe_line(text)}")
        items.append(MessageItem(shown(line.speaker), line.text, passage.date, passage.path))
    understood = f"who has it · “{safe_line(question.item)}”"
    return Ruled("\n\n".join(parts), understood, items, [each.line.passage for each in said])
