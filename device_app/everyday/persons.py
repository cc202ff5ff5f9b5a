"""Answers who somebody is, and how to reach them, from what files say beside the name: quoted, not summed up."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import holding, naming, persons, speech
from device_app.english.contacts import MAIL, PHONE, entry
from device_app.english.mentioned import is_of_other, is_reached
from device_app.english.persons import PersonQuestion
from device_app.english.stop_words import STOP_WORDS
from device_app.english.terms import without_accents
from device_app.everyday import person_cards
from device_app.everyday.person_cards import PersonItem
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.showing import noted
from device_app.everyday.signatures import numbers_below_mails
from device_app.knowledge.directory import several, whole
from shared.printable import safe_line
from shared.text import sentences
from shared.types import SearchFilters, StoredPassage
from storage.keywords import quoted
from storage.search import FullText, all_of

if TYPE_CHECKING:
    from device_app.knowledge.known_people import KnownPeople
    from device_app.knowledge.people import Person
    from storage.knowledge import KnowledgeStore

_MOST_PASSAGES, _MOST_LINES, _MOST_CHARACTERS = 200, 4, 300
_LEAST_WORDS: Final = 3
_DESCRIBING: Final = 3
"""The score of a line from which the line counts as a description of the person."""

_FIRST_MESSAGES: Final = 2
"""How many of a person's first chat messages are quoted, as introductions, if no line describes the person."""

_MONTHS: Final = "|".join(calendar.month_name[1:])
_DATE: Final = rf"\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_MONTHS})|(?:{_MONTHS}) \d|\d{{4}}-\d\d-\d\d"
_OF_OTHER: Final = r"['’](?:s\b|\s)|\b(?:my|your|his|her|our|their)\b"
_THEIRS: Final = r"['’]s(?= (?:[a-z]+ )?(?:number|(?:tele)?phone|tel|mobile|cell|e-?mail|mail|address|landline)\b)"
"""Matches the genitive of a name whose number follows: "Ivo's new number", not "Ivo's doctor"."""

_NEAR, _NEARER = rf"(?:(?!{_OF_OTHER}).){{0,12}}", rf"(?:(?!{_OF_OTHER})[^:]){{0,12}}"
"""Match the few characters between words that belong together: without another possessive, `_NEARER` without ":"."""
_PAST: Final = r"\b(?:not (?!before|after|between|on|at|in )|no longer|never|wrong|old|former)"
"""Matches words that say that a number is no longer the person's, or never was."""

_FULL_NAME: Final = r"\b(?:[A-Z]\w+|Dr\.?|Mr\.?|Mrs\.?|Ms\.?) [A-Z]\w+"
_SURNAME: Final = r"(?-i:(?: [A-Z][\w-]+){0,2})"
_NEAR_NUMBER: Final = 60
"""The most characters between a name and the number that is said to be the person's."""

_OWN: Final = frozenset(["note", "table", "data", "event"])
"""The kinds of documents that the person writes: "builder" in them means somebody whom the person knows."""

_ASKED: Final = {
    "who": "who",
    "phone": "telephone number",
    "mail": "e-mail address",
    "reach": "how to reach",
    "birthday": "birthday",
}
_DESCRIBES: Final = (
    r"{name}[^,:(]{{0,12}}(?:, (?:the |our |my |his |her |a |an )?[a-z]|\s?\((?![\d@]))",
    r"(?:the |our |my )[a-z]+,? {name}",
    r"{name}\b.{{0,10}}\b(?:is|was|works|=)\b",
)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a passage, and how well it answers the question."""

    score: int
    text: str
    passage: StoredPassage


@dataclass(frozen=True, slots=True)
class Persons:
    """Says who somebody is, their telephone number, or their e-mail address."""

    store: KnowledgeStore
    people: KnownPeople
    stands_alone: ClassVar[bool] = True

    def answer(self, asked: Asked) -> Ruled | None:
        """Return what is known about the person; None if nothing is known."""
        question = None if asked.query.is_limited else persons.read(asked.text)
        if question is None or holding.read(asked.text):  # "Who has the keys?" asks for no person called Keys
            return None
        people = self.people.directory.meant(question.name)
        card = person_cards.card(question.name, people)
        if question.ask == "name":
            return noted(_whole_name(card), several(question.name, people)) if naming.is_full(card.name) else None
        lines = list(self._lines(question, people, asked))[:_MOST_LINES]
        signed = self._signed(question, people, asked)
        lines = [*lines, *((passage, line) for passage, line, _ in signed)][:_MOST_LINES]
        known = card.known(question.ask)
        if not lines and not known:
            return None
        what = _ASKED[question.ask]
        named = [safe_line(card.name)] if known or people else []
        of_mails = [safe_line(number) for _, _, number in signed] if len(lines) == len(signed) == 1 else []
        head = " · ".join((*named, *(known or of_mails or _quoted(question, people, lines))))
        if people and (known or question.ask == "who"):
            head = person_cards.heads(question, people)
        quotes = [f"- {_where(passage)} [{n}]\n  > {safe_line(line)}" for n, (passage, line) in enumerate(lines, 1)]
        items = person_cards.items(question.name, people, [line for _, line in lines])
        ruled = Ruled(
            "\n\n".join(filter(None, (head, "\n".join(quotes)))),
            f"{what} · {safe_line(card.name)}",
            items,
            [passage for passage, _ in lines],
        )
        return noted(ruled, several(question.name, people))

    def _signed(
        self, question: PersonQuestion, people: Sequence[Person], asked: Asked
    ) -> list[tuple[StoredPassage, str, str]]:
        """Return the numbers below the mails of the person; none if several are meant, or no number is asked for."""
        is_asked = question.ask in ("phone", "reach") and len(people) == 1
        return list(numbers_below_mails(self.store, people, asked)) if is_asked else []

    def _lines(
        self, question: PersonQuestion, people: Sequence[Person], asked: Asked
    ) -> Iterator[tuple[StoredPassage, str]]:
        """Yield the lines that name the person; the lines that answer the question best come first."""
        words = [word for word in naming.words(question.name) if word not in STOP_WORDS]
        lines = self._said_of(words, question, asked) if words else []
        if people and not lines and len(words) > 1:
            lines = self._said_of(words[-1:], question, asked)  # "Ms Ferluga" is Marina Ferluga
        if not people and question.ask == "who":
            lines = [each for each in lines if _is_named(each.text, words) or _has_trade(each, words)]
        if question.ask == "who" and not any(each.score >= _DESCRIBING for each in lines):
            first = list(self._first_messages(people, asked))
            yield from first
            lines = [] if first else lines
        own = lines if people else [each for each in lines if not _is_of_other(each.passage, each.text, words)]
        yield from {each.text: (each.passage, each.text) for each in own or lines}.values()

    def _said_of(self, words: Sequence[str], question: PersonQuestion, asked: Asked) -> list[_Line]:
        """Return the lines that contain all the `words` and may answer the question, the likeliest first."""
        is_named = question.ask in ("who", "birthday") or bool(self.people.directory.meant(question.name))
        ids = FullText(self.store.database).matches(all_of([quoted(word) for word in words]), _MOST_PASSAGES)
        name, lines = re.compile(_name(words), re.IGNORECASE), list[_Line]()
        for passage in asked.present(self.store.passages(ids.tolist()).values()):
            for line in _lines_of(passage, question):
                if (score := _score(line, words, question, passage)) > 0 and (is_named or is_reached(line, words)):
                    is_who = question.ask == "who"
                    said = line[:_MOST_CHARACTERS] if is_who else entry(line, name, _MOST_CHARACTERS)
                    lines.append(_Line(score, said, passage))
        return sorted(lines, key=lambda each: (-each.score, len(each.text), each.text))

    def _first_messages(self, people: Sequence[Person], asked: Asked) -> Iterator[tuple[StoredPassage, str]]:
        """Yield the first messages that the given people wrote in chats."""
        written = [each.written for person in people for each in person.sightings]
        names = speech.speakers(written)
        filters = SearchFilters(people=tuple(whole(written)))
        left = _FIRST_MESSAGES
        for document in asked.present(self.store.latest(filters, 3, oldest=True)):
            for passage in self.store.passages_of_documents([document.id]):
                for speaker, said in speech.spoken(passage) if passage.kind != "mail" else ():
                    if speaker in names and left:
                        left -= 1
                        yield passage, f"{naming.shown(speaker)}: {said[:_MOST_CHARACTERS]}"


def _is_of_other(passage: StoredPassage, line: str, words: Sequence[str]) -> bool:
    return is_of_other(line, words, is_own=passage.kind in _OWN)


def _where(passage: StoredPassage) -> str:
    """Return the source of a line in words: the day and the title of its document."""
    day = (passage.date or "")[:10]
    return " · ".join(filter(None, (day, safe_line(passage.title))))


def _whole_name(card: PersonItem) -> Ruled:
    return Ruled(f"{safe_line(card.name)}.", f"whole name · {safe_line(card.name)}", (card,))


def _lines_of(passage: StoredPassage, question: PersonQuestion) -> Iterator[str]:
    """Yield a passage's lines, or its sentences if the question is who somebody is, without the speakers' names."""
    for _, line in speech.spoken(passage):
        yield from (each.strip() for each in (sentences(line) if question.ask == "who" else [line]))


def _quoted(
    question: PersonQuestion, people: Sequence[Person], quotes: Sequence[tuple[StoredPassage, str]]
) -> list[str]:
    """Return the number or the address that is asked for, if the quotes have it behind the name, and have no other.

    The doctor of somebody else is not the person's. Behind a trade, the name of who has it may stand between:
    "Plumber: Katja Sirk, tel. 555 0126".
    """
    pattern = {"phone": PHONE, "mail": MAIL}.get(question.ask)
    lines = [line for _, line in quotes]
    words = [word for word in naming.words(question.name) if word not in STOP_WORDS]
    written = {match[0] for line in lines for match in (pattern.finditer(line) if pattern else ())}
    if pattern is None or len(written) != 1:
        return []
    if not people and any(_is_of_other(passage, line, words) for passage, line in quotes):
        return []
    name = _name(words)
    is_theirs = re.compile(
        rf"(?i:\b{name}\b)(?: [A-Z]\w+)?(?:{_THEIRS})?(?:(?!{_OF_OTHER}|{_PAST})[^A-Z]){{0,{_NEAR_NUMBER}}}?"
        rf"{re.escape(*written)}(?!\W+(?:is |was )?(?:{_PAST}))"
    )
    of_trade = re.compile(
        rf"\W*(?i:{name})s?\W*[:–-] {_FULL_NAME}(?: [A-Z]\w+)?\W{{1,4}}[a-z.: ]{{0,20}}{re.escape(*written)}"
    )
    is_said = all(is_theirs.search(line) or (not people and of_trade.match(line)) for line in lines)
    return [*map(safe_line, written)] if is_said else []


def _is_named(line: str, words: Sequence[str]) -> bool:
    """Return whether a line has the `words` as a name: capitalised; a single word also not first in its sentence."""
    name = r"\W+".join(re.escape(word.capitalize()) for word in words)
    before = r"\b" if len(words) > 1 else "(?<=[a-z,] )"
    return re.search(rf"{before}{name}\b", line) is not None


def _has_trade(line: _Line, words: Sequence[str]) -> bool:
    """Return whether a line of the person's own files names somebody with this trade: "Zoran Hrovat, builder".

    `words` are the words of the trade.
    """
    trade = rf"(?i:{_name(words)})\b"
    said = rf"{_FULL_NAME},? (?:the |our |my |an? )?{trade}|\b{trade},? (?:(?:is|was) )?{_FULL_NAME}"
    return line.passage.kind in _OWN and re.search(said, line.text) is not None


def _name(words: Sequence[str]) -> str:
    return r"\W+".join(map(re.escape, words))


def _says_birthday(line: str, words: Sequence[str]) -> bool:
    """Return whether a line has the birthday of the person called by the `words`: not that of somebody else beside it.

    "Anna: Tom's birthday is on 3 May" has Tom's birthday, not Anna's.
    """
    name = rf"\b{_name(words)}\b{_SURNAME}(?:['’]s?(?!\w))?"
    behind = rf"{name}{_NEARER}\b(?:birthday|born)\b{_NEAR}\b(?:{_DATE})"
    before = rf"^\W*(?:{_DATE})\w*(?:,? \d{{4}})?\W+{name}\W+birthday\b"
    return re.search(rf"{behind}|{before}", line, re.IGNORECASE) is not None


def _score(line: str, words: Sequence[str], question: PersonQuestion, passage: StoredPassage) -> int:
    """Return how well a line answers the question about the person; 0 if it does not."""
    held = naming.words(line)
    if not set(words) <= set(held):
        return 0
    if question.ask == "birthday":
        return 2 if _says_birthday(without_accents(line), words) else 0
    if question.ask != "who":
        patterns = {"phone": (PHONE,), "mail": (MAIL,)}.get(question.ask, (PHONE, MAIL))
        return 2 if any(pattern.search(line) for pattern in patterns) else 0
    if len(held) < _LEAST_WORDS:
        return 0
    describes = any(
        re.search(pattern.format(name=_name(words)), without_accents(line), re.IGNORECASE) for pattern in _DESCRIBES
    )
    return 1 + _DESCRIBING * describes + (passage.kind in ("note", "table", "data"))
