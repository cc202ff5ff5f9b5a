"""A passage of a fictional life, with the values from which it was generated."""

import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.answerer.lessons import passage
from scripts.answerer.lives_kinds import Kind, Wordings
from scripts.answerer.slots import Person, Slots, gaps, spun
from shared.prompt import passage_text
from shared.types import StoredPassage

_ROWS = 8
"""The number of rows that are generated for a list; only some of them appear in its text."""
_TRIES = 20
_EMPTY = {"the", "and", "for", "with", "our", "new", "old", "from"}


@dataclass(frozen=True, slots=True)
class Wording:
    """A question and its answer, as templates with placeholders for values. A `vague` question may be answerable even
    if its values are not in the text.
    """

    text: str
    answer: str
    vague: bool = False

    @property
    def asked(self) -> set[str]:
        """The names of the placeholders in the question."""
        return set(gaps(self.text))

    @property
    def answers(self) -> set[str]:
        """The names of the placeholders in the answer."""
        return set(gaps(self.answer))


@dataclass(frozen=True, slots=True)
class Fact:
    """A passage with its kind and its values. `rows` are the numbers of the list rows that appear in its text."""

    kind: Kind
    slots: Slots
    passage: StoredPassage
    rows: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """The text of the passage as the model reads it."""
        return passage_text(self.passage)

    def written_keys(self) -> set[str]:
        """Return the names of the values in the text that distinguish it from other texts of its kind."""
        return {name for name in self.slots.written if is_key(self.kind, name)}

    def wording(self, chance: random.Random, table: Wordings, row: int = 0) -> Wording | None:
        """Return a random wording from the table, for the given row or a random one; None if the table is empty."""
        if not table:
            return None
        answer = chance.choice(list(table))
        text = spun(chance, chance.choice(table[answer]))
        number = str(row or chance.randrange(1, _ROWS + 1))
        return Wording(text.replace("#", number), answer.replace("#", number), answer in self.kind.vague)


def is_key(kind: Kind, name: str) -> bool:
    """Return whether a value with the given name distinguishes texts of this kind; the key `item#` matches the item of
    any row.
    """
    return name in kind.keys or re.sub(r"\d+$", "", name) + "#" in kind.keys


def stands(text: str, words: str) -> bool:
    """Return whether `words` contains the text as whole words, ignoring case. A name also counts if it is written
    together with other words, as in chats ("AnnaSmith").
    """
    escaped = re.escape(text)
    return bool(re.search(rf"(?<!\w)(?i:{escaped})(?!\w)|(?<!\w){escaped}(?=[A-Z])|(?<=[a-z]){escaped}(?!\w)", words))


def mentioned(text: str, words: str) -> bool:
    """Return whether `words` contains any significant word of the text."""
    said = [word for word in re.findall(r"\w{3,}", text) if word.lower() not in _EMPTY]
    return any(stands(word, words) for word in [*said, text])


def distinct_fact(chance: random.Random, kind: Kind, cast: Sequence[Person], others: Sequence[Fact]) -> Fact | None:
    """Return a passage of the given kind that shares no identifying value with the others of the kind; None if all
    attempts fail.
    """
    alike = [other for other in others if other.kind is kind]
    for _ in range(_TRIES):
        fact = written(chance, kind, cast)
        if not any(_shared(fact, other) or _shared(other, fact) for other in alike):
            return fact
    return None


def _shared(fact: Fact, other: Fact) -> bool:
    return any(stands(fact.slots.value(key).text, other.words) for key in fact.written_keys())


def written(chance: random.Random, kind: Kind, cast: Sequence[Person]) -> Fact:
    """Return a new passage of the given kind with random values."""
    slots = Slots(chance, cast, kind.picks)
    slots.put("title", slots.write(chance.choice(kind.title)))
    shown: tuple[int, ...] = ()
    if kind.rows:
        row = chance.choice(kind.rows)
        shown = tuple(chance.sample(range(1, _ROWS + 1), chance.randrange(3, _ROWS - 1)))
        slots.put("rows", "\n".join(slots.write(row.replace("#", str(number))) for number in shown))
    lines = list(_tidy(slots.write(chance.choice(kind.text))))
    asides = _asides(kind.form)
    for number, aside in enumerate(chance.sample(asides, chance.choice((0, 0, 1, 2)) if asides else 0)):
        renumbered = re.sub(r"1(?=\d\W)", str(number + 1), aside)
        lines.insert(chance.randrange(1, len(lines) + 1), _beside(chance, slots, renumbered, kind))
    undated = kind.form == "undated"
    dated = None if undated else slots.day.isoformat()
    people = [person.full for person in slots.people()]
    made = passage("\n".join(lines), slots.value("title").text, dated, "note" if undated else kind.form, people)
    return Fact(kind, slots, made, shown)


@cache
def _asides(form: str) -> tuple[str, ...]:
    """Return asides (side remarks) that may be added to a text of this form; none for events and tables."""
    asides = tomllib.loads(Path(__file__).with_name("slots_asides.toml").read_text("utf-8"))
    return tuple(asides.get(form, ()))


def _beside(chance: random.Random, slots: Slots, aside: str, kind: Kind) -> str:
    """Return a line with an aside (a side remark); in a chat, one of the people says it."""
    speaker = chance.choice(("{person.tag}: ", "{person2.tag}: ")) if kind.form == "chat" else ""
    return slots.write(speaker + aside)


def _tidy(text: str) -> Iterator[str]:
    """Yield the lines of a text, without spaces and punctuation left over where parts were omitted."""
    for line in text.strip().split("\n"):
        kept = re.sub(r" +([.,;?!])(?=\s|$)", r"\1", " ".join(line.split()))
        if kept:
            yield kept
