"""Generates the questions about a fictional life: answerable and unanswerable ones."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.answerer.lives_facts import Fact, Wording, is_key, mentioned, stands, written
from scripts.answerer.lives_kinds import kinds
from scripts.answerer.slots import Person, Value, person, spun
from shared.prompt import NOT_FOUND

_YES_OR_NO = 0.12
_UNANSWERABLE = {"other": 32, "left out": 36, "never": 10, "elsewhere": 22}
_NO_SUBJECT = {"date", "past", "time", "clock", "price", "cost", "sum", "weekday"}
"""The names of placeholders whose values do not depend on a subject: if another text of the lesson mentions a person, a
question about such a value does not become answerable.
"""
_JOINS = re.compile(r"^(What|When|Where|Who|Whom|Whose|Which|Why|How)\b.*\?$")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as text, and its answer."""

    question: str
    answer: str


def answerable_question(
    chance: random.Random, fact: Fact, facts: Sequence[Fact], row: int = 0, keyed: bool = False, plain: bool = False
) -> Asked | None:
    """Return a question that the passage answers. If the lesson has other passages of the same kind, or with `keyed`,
    the question says which one it is about. With `plain`, it is not a yes-or-no question.
    """
    if not plain and not row and chance.random() < _YES_OR_NO and (asked := _yes_or_no(chance, fact, facts)):
        return asked
    wording = fact.wording(chance, fact.kind.ask, row)
    if (
        wording is None
        or not wording.asked | wording.answers <= fact.slots.written
        or not _clear(fact, facts, wording, keyed)
    ):
        return None
    answer = fact.slots.fill(wording.answer)
    return Asked(fact.slots.fill(wording.text), answer) if answer in fact.words else None


def _clear(fact: Fact, facts: Sequence[Fact], wording: Wording, keyed: bool = False) -> bool:
    """Return whether the question itself says clearly which text it is about."""
    alone = sum(other.kind is fact.kind for other in facts) == 1
    return (alone and not keyed) or any(is_key(fact.kind, name) for name in wording.asked)


def _yes_or_no(chance: random.Random, fact: Fact, facts: Sequence[Fact]) -> Asked | None:
    kind = fact.kind
    if kind.check and chance.random() < 0.7:
        wording = fact.wording(chance, kind.check)
        if (
            wording is None
            or not wording.asked | wording.answers <= fact.slots.written
            or not _clear(fact, facts, wording)
        ):
            return None
        if chance.random() < 0.5:
            return Asked(fact.slots.fill(wording.text), "Yes")
        (name,) = wording.answers
        other = fact.slots.other(name)
        wrong = {name: other}
        return None if mentioned(other.text, fact.words) else Asked(fact.slots.fill(wording.text, wrong), "No")
    for table, answer in chance.sample([(kind.yes, "Yes"), (kind.no, "No")], 2):
        wording = fact.wording(chance, table)
        if wording and wording.asked | {wording.answer} <= fact.slots.written and _clear(fact, facts, wording):
            return Asked(fact.slots.fill(wording.text), answer)
    return None


def unanswerable_question(
    chance: random.Random, fact: Fact, facts: Sequence[Fact], cast: Sequence[Person]
) -> Asked | None:
    """Return a plausible question that the passages do not answer."""
    (sort,) = chance.choices(list(_UNANSWERABLE), list(_UNANSWERABLE.values()))
    if sort == "other":
        question = _of_another(chance, fact, facts, cast)
    elif sort == "left out":
        question = _left_out(chance, fact, facts)
    elif sort == "never":
        question = _never_mentioned(chance, fact, facts)
    else:
        question = _elsewhere(chance, facts, cast)
    return Asked(question, NOT_FOUND) if question else None


def _of_another(chance: random.Random, fact: Fact, facts: Sequence[Fact], cast: Sequence[Person]) -> str | None:
    """Return a question like one that the passage answers, but about another person or thing."""
    wording = fact.wording(chance, fact.kind.ask)
    if wording is None or not wording.asked | wording.answers <= fact.slots.written:
        return None
    keys = sorted(name for name in wording.asked if is_key(fact.kind, name))
    if not keys or any(name in wording.answers for name in keys):
        return None
    # All keys are replaced: with a single key left, the question might still be answerable.
    others = {name: _another(chance, fact, name, cast) for name in keys}
    subjects = {re.sub(r"\d+$", "", answer) for answer in wording.answers} - _NO_SUBJECT
    texts = [away.words for away in facts if subjects or away.kind is fact.kind]
    parts = [part for other in others.values() for part in (other.text, other.forms.get("last", "")) if part]
    if any(mentioned(part, words) for part in parts for words in texts):
        return None
    return fact.slots.fill(wording.text, others)


def _another(chance: random.Random, fact: Fact, name: str, cast: Sequence[Person]) -> Value:
    """Return another value for a placeholder by which a text is distinguished from others. For a name, it is a name
    with the same first letters, or one that other texts of the lesson may mention.
    """
    if "full" not in fact.slots.value(name).forms:
        return fact.slots.other(name)
    if chance.random() < 0.45:
        return fact.slots.named(chance.choice(cast))
    initial = fact.slots.value(name).text[: chance.choice((0, 1, 1, 2))]
    return fact.slots.named(person(chance, initial))


def _left_out(chance: random.Random, fact: Fact, facts: Sequence[Fact]) -> str | None:
    """Return a question about a detail that texts of this kind can contain, but this text does not."""
    wording = fact.wording(chance, fact.kind.ask)
    if wording is None or wording.vague or wording.answers <= fact.slots.written or not _clear(fact, facts, wording):
        return None
    for name in sorted(wording.asked - fact.slots.written):
        if not is_key(fact.kind, name) or any(mentioned(fact.slots.value(name).text, other.words) for other in facts):
            return None
    return fact.slots.fill(wording.text)


def _never_mentioned(chance: random.Random, fact: Fact, facts: Sequence[Fact]) -> str | None:
    wording = fact.wording(chance, {"": fact.kind.none} if fact.kind.none else {})
    if wording is None or not wording.asked <= fact.slots.written or not _clear(fact, facts, wording):
        return None
    return fact.slots.fill(wording.text)


def _elsewhere(chance: random.Random, facts: Sequence[Fact], cast: Sequence[Person]) -> str | None:
    """Return a question that is answered by a text outside of the lesson."""
    kind = chance.choice(kinds())
    if kind.topic in {fact.kind.topic for fact in facts}:
        return None
    away = written(chance, kind, cast)
    asked = answerable_question(chance, away, [away], keyed=True)
    named = [away.slots.value(key).text for key in away.written_keys()]
    if asked is None or any(stands(name, fact.words) for name in named for fact in facts if name in asked.question):
        return None
    return asked.question


def joined(chance: random.Random, facts: Sequence[Fact]) -> Asked | None:
    """Return a question that needs two of the passages to be answered."""
    if len(facts) < 2:
        return None
    first, second = chance.sample(list(facts), 2)
    if first.kind is second.kind and chance.random() < 0.7:
        return _of_both(chance, first, second)
    asked = [answerable_question(chance, fact, facts, plain=True) for fact in (first, second)]
    if not all(question and _JOINS.match(question.question) for question in asked):
        return None
    before, after = (question for question in asked if question)
    begins, ends = before.question[:-1], after.question[0].lower() + after.question[1:]
    return Asked(f"{begins}{chance.choice((', and ', ' and '))}{ends}", f"{before.answer} and {after.answer}")


def _of_both(chance: random.Random, first: Fact, second: Fact) -> Asked | None:
    """Return a question about the same detail in two texts of one kind, or one that compares the two texts."""
    kind = first.kind
    key = kind.keys[0]
    if key.endswith("#"):
        return None
    named = {"x": first.slots.value(key), "y": second.slots.value(key)}
    if kind.compare and chance.random() < 0.5:
        name = chance.choice(list(kind.compare))
        return _compared(chance, first, second, name, named)
    wording = first.wording(chance, kind.both)
    if wording is None or not all(wording.answers | {key} <= fact.slots.written for fact in (first, second)):
        return None
    answers = [fact.slots.fill(wording.answer) for fact in (first, second)]
    return Asked(first.slots.fill(wording.text, named), " and ".join(answers))


def _compared(chance: random.Random, first: Fact, second: Fact, name: str, named: dict[str, Value]) -> Asked | None:
    """Return a question that compares a value of two texts, if both values are written in the same format."""
    if not all({name, first.kind.keys[0]} <= fact.slots.written for fact in (first, second)):
        return None
    values = [fact.slots.value(name) for fact in (first, second)]
    shapes = {re.sub(r"[\d.,]", "", value.text) for value in values}
    if len(shapes) > 1 or values[0].order == values[1].order:
        return None
    compare = first.kind.compare[name]
    more = chance.random() < 0.5 if compare.more and compare.less else bool(compare.more)
    text = spun(chance, chance.choice(compare.more if more else compare.less))
    won = named["x"] if (values[0].order > values[1].order) == more else named["y"]
    return Asked(first.slots.fill(text, named), won.text)
