"""Generates fictional personal lives: passages in the form in which the store returns them, and questions about them.

The facts are random, so that they cannot be memorised: only reading helps. Unanswerable questions are mostly near
misses: the same question about another person or thing, or about a detail that the text omits.
"""

import random
from collections.abc import Collection, Iterator, Sequence

from scripts.answerer.lessons import Lesson, Pair
from scripts.answerer.lives_asked import answerable_question, joined, unanswerable_question
from scripts.answerer.lives_facts import Fact, distinct_fact
from scripts.answerer.lives_kinds import kinds
from scripts.answerer.lives_wording import rough
from scripts.answerer.slots import Person, person
from shared.prompt import NOT_FOUND, Exchange

SOURCE = "lives"
_TRIES = 30
_PASSAGES = {1: 50, 2: 10, 3: 40}
_SORTS = {"answerable": 60, "unanswerable": 27, "follow": 10, "both": 10}


def lives(seed: int, count: int) -> Iterator[Lesson]:
    """Yield `count` lessons about fictional lives; the same seed gives the same lessons."""
    for number in range(count):
        yield _lesson(random.Random(f"{seed} {number}"))


def _lesson(chance: random.Random) -> Lesson:
    cast = [person(chance) for _ in range(5)]
    facts = _passages(chance, cast)
    pairs: list[Pair] = []
    count = chance.randrange(2, 7)
    for _ in range(count * _TRIES):
        pair = _pair(chance, facts, cast)
        if pair and _is_new(pair, pairs):
            pairs.append(pair)
        if len(pairs) == count:
            break
    passages = tuple(fact.passage for fact in facts)
    return Lesson(SOURCE, passages, tuple(pairs), _asked(chance, facts[0]) if len(facts) == 1 else ())


def _is_new(pair: Pair, known: Collection[Pair]) -> bool:
    """Return whether neither the question nor its answer is in the lesson yet; the answers `NOT_FOUND`, "Yes" and "No"
    may be repeated.
    """
    if pair.answer not in (NOT_FOUND, "Yes", "No") and any(pair.answer == other.answer for other in known):
        return False
    return all(pair.question.lower() != other.question.lower() for other in known)


def _passages(chance: random.Random, cast: Sequence[Person]) -> list[Fact]:
    """Return one to three passages, either of different topics or some of the same kind."""
    (count,) = chance.choices(list(_PASSAGES), list(_PASSAGES.values()))
    chosen = [chance.choice(kinds())]
    alike = 0.6 if chance.random() < 0.5 else 0.0
    while len(chosen) < count:
        new = chosen[0] if chance.random() < alike else chance.choice(kinds())
        if (new is chosen[0] and alike) or new.topic not in {kind.topic for kind in chosen}:
            chosen.append(new)
    facts: list[Fact] = []
    for kind in chance.sample(chosen, count):
        if fact := distinct_fact(chance, kind, cast, facts):
            facts.append(fact)
    return facts


def _pair(chance: random.Random, facts: Sequence[Fact], cast: Sequence[Person]) -> Pair | None:
    """Return a question of a random sort about one or two of the passages, with its answer; None if the attempt
    fails.
    """
    fact = chance.choice(facts)
    (sort,) = chance.choices(list(_SORTS), list(_SORTS.values()))
    if sort == "follow":
        return _follow(chance, fact, facts)
    if sort == "both":
        asked = joined(chance, facts)
    elif sort == "unanswerable":
        asked = unanswerable_question(chance, fact, facts, cast)
    else:
        asked = answerable_question(chance, fact, facts)
    return Pair(rough(chance, asked.question), asked.answer) if asked else None


def _follow(chance: random.Random, fact: Fact, facts: Sequence[Fact]) -> Pair | None:
    """Return a follow-up question to an earlier question about the same passage, with its answer."""
    row = chance.choice(fact.rows) if fact.rows else 1
    before = answerable_question(chance, fact, facts, row=row, keyed=True)
    then = fact.wording(chance, fact.kind.follow, row)
    if before is None or then is None or not then.asked <= fact.slots.written:
        return None
    if then.vague and not then.answers <= fact.slots.written:
        return None
    answer = fact.slots.fill(then.answer) if then.answers <= fact.slots.written else NOT_FOUND
    if answer == before.answer:
        return None
    return Pair(fact.slots.fill(then.text), answer, (Exchange(before.question, before.answer),))


def _asked(chance: random.Random, fact: Fact) -> tuple[str, ...]:
    """Return questions that a user would ask about the only passage; each names its subject."""
    questions = (
        answerable_question(chance, fact, [fact], keyed=True, plain=True) for _ in range(chance.randrange(2, 5))
    )
    return tuple(dict.fromkeys(asked.question for asked in questions if asked))[:3]
