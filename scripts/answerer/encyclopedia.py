"""Generates, by rules, questions with short answers from an encyclopedia passage."""

from collections.abc import Iterator, Sequence

from scripts.answerer.encyclopedia_careers import CAREERS
from scripts.answerer.encyclopedia_clauses import of_definition, of_sentence, of_topic
from scripts.answerer.encyclopedia_general import GENERAL
from scripts.answerer.encyclopedia_lives import LIVES
from scripts.answerer.encyclopedia_misses import left_open
from scripts.answerer.encyclopedia_places import PLACES
from scripts.answerer.encyclopedia_rules import Asked, fits
from scripts.answerer.encyclopedia_text import Statement, Topic, sentences, statements, topic
from scripts.answerer.encyclopedia_works import WORKS
from scripts.answerer.lessons import Pair
from shared.prompt import NOT_FOUND

RULES = (*LIVES, *CAREERS, *WORKS, *PLACES)


def made(title: str, text: str) -> list[Pair]:
    """Return questions that the passage answers, each with a span of its text as the answer. Duplicates and questions
    with conflicting answers are left out.
    """
    about = topic(title, text)
    return _settled([asked for asked in _asked(title, text, about) if fits(asked.pair, text)])


def near_misses(title: str, text: str, others: Sequence[Pair]) -> list[Pair]:
    """Return plausible questions that the passage does not answer, with the answer `NOT_FOUND`.

    They ask for a missing fact, for a year that is not in the passage, or, as in `others`, about another subject.
    `others` are pairs generated from passages with other titles.
    """
    return [Pair(question, NOT_FOUND) for question in left_open(title, text, made(title, text), others)]


def _asked(title: str, text: str, about: Topic) -> Iterator[Asked]:
    for statement in statements(title, text, about):
        for rule in RULES:
            yield from rule.asked(about, statement)
        yield from of_topic(about, statement)
        yield from of_definition(about, statement)
    for sentence in sentences(text):
        for rule in GENERAL:
            yield from rule.asked(about, Statement(sentence, "", "", ""))
        yield from of_sentence(sentence)


def _settled(answered: Sequence[Asked]) -> list[Pair]:
    """Return one question per fact; none for a fact whose answers conflict, i.e. if no answer contains the other."""
    groups: dict[tuple[str, ...], list[Pair]] = {}
    for asked in answered:
        groups.setdefault(asked.about, []).append(asked.pair)
    pairs: dict[str, Pair] = {}
    for group in groups.values():
        fullest = max(group, key=lambda pair: len(pair.answer))
        if all(pair.answer in fullest.answer for pair in group):
            pairs.setdefault(fullest.question, fullest)
    return list(pairs.values())
