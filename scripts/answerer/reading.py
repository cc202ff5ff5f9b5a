"""Builds lessons from the real questions, with the passages that Jackdaw retrieves for them.

A passage is trained with questions that it answers, and with questions for which it was retrieved but which it does not
answer.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from device_app.knowledge.retriever import Retriever
from scripts.answerer.lessons import Lesson, Pair
from scripts.datasets.answering import tells
from scripts.datasets.folders import Asked, Folder
from scripts.datasets.stores import FOUND, among
from shared.prompt import NOT_FOUND
from shared.text import sentences
from shared.types import StoredPassage

_IN_PROMPT = 3
_STRANGE = 2
"""The most unanswerable questions for a passage, per answerable question for which it was retrieved."""

_SUMMARY_SENTENCES = 2
_SUMMARISED = 4
"""The number of a meeting's passages that are each trained to answer a summary question, as any of them may be
retrieved.
"""

Progress = Callable[[int, int], None]
"""A callback that gets the number of questions done and their total."""

_Pairs = Mapping[int, list[Pair]]
"""Question and answer pairs by passage id."""


@dataclass(frozen=True, slots=True)
class _Passages:
    """The passages retrieved for a question, best first: those that contain the answer, and those that are
    irrelevant.
    """

    passages: tuple[StoredPassage, ...]
    answering: tuple[StoredPassage, ...]
    others: tuple[StoredPassage, ...]


def lessons(name: str, folder: Folder, retriever: Retriever, on_progress: Progress) -> list[Lesson]:
    """Return lessons from the training questions: each retrieved passage alone, and several retrieved passages as one
    prompt.

    `name` names the source; `retriever` searches the folder's documents, as in `stores.searched`.
    """
    keys = folder.keys
    alone, strange = defaultdict[int, list[Pair]](list), defaultdict[int, list[Pair]](list)
    passages: dict[int, StoredPassage] = {}
    together: list[Lesson] = []
    asked = [question for question in folder.asked if question.taught]
    for number, question in enumerate(asked):
        on_progress(number, len(asked))
        hits = _searched(retriever, question, keys)
        passages |= {passage.id: passage for passage in hits.passages}
        if _is_of_the_set(question):
            continue
        for passage in hits.answering[: _SUMMARISED if folder.summaries else 1]:
            alone[passage.id].append(Pair(question.question, _answer(folder, question)))
        for passage in hits.others[:_STRANGE] if not folder.summaries else ():
            strange[passage.id].append(Pair(question.question, NOT_FOUND))
        together += _in_one_prompt(name, folder, question, hits)
    on_progress(len(asked), len(asked))
    return [*_each(name, folder, passages, alone, strange), *together]


def _searched(retriever: Retriever, question: Asked, keys: Sequence[str]) -> _Passages:
    passages = tuple(hit.passage for hit in among(retriever, question, FOUND))
    relevant = {passage.id for passage in passages if keys[passage.document_id - 1] in question.keys}
    tells_answer = {passage.id for passage in passages if tells(passage, question)}
    return _Passages(
        passages,
        tuple(passage for passage in passages if passage.id in relevant & tells_answer),
        tuple(passage for passage in passages if passage.id not in relevant | tells_answer),
    )


def _each(
    name: str, folder: Folder, passages: Mapping[int, StoredPassage], alone: _Pairs, strange: _Pairs
) -> Iterator[Lesson]:
    rng = random.Random(name)
    for identity in sorted(passages):
        own = alone.get(identity, [])
        others = list(strange.get(identity, []))
        rng.shuffle(others)
        # Half as many unanswerable as answerable questions; one, for one in five of the passages that answer none.
        pairs = [*own, *others[: max(1, len(own) // 2) if own else int(rng.random() < 0.2)]]
        if pairs:
            rng.shuffle(pairs)
            asked = tuple(pair.question for pair in own) if not folder.summaries else ()
            yield Lesson(name, (passages[identity],), tuple(pairs), asked)


def _in_one_prompt(name: str, folder: Folder, question: Asked, hits: _Passages) -> Iterator[Lesson]:
    """Yield a lesson with the first retrieved passages, in order. One of six answerable questions gets irrelevant
    passages instead, and an abstention as its answer.
    """
    first = hits.passages[:_IN_PROMPT]
    away = not question.answers or random.Random(question.question).random() < 1 / 6
    if away and len(hits.others) >= _IN_PROMPT and not folder.summaries:
        yield Lesson(name, hits.others[:_IN_PROMPT], (Pair(question.question, NOT_FOUND),))
    elif first if folder.summaries else any(passage in first for passage in hits.answering):
        yield Lesson(name, first, (Pair(question.question, _answer(folder, question)),))


def _answer(folder: Folder, question: Asked) -> str:
    answer = min(question.answers, key=len)
    if folder.summaries:
        return " ".join(sentences(answer)[:_SUMMARY_SENTENCES])
    return answer.strip().rstrip(".")


def _is_of_the_set(question: Asked) -> bool:
    """Return whether the answer is a timestamp in the data set's own format, which no passage contains."""
    return any(re.fullmatch(r"\d{8}_\d\d:\d\d", answer) for answer in question.answers)
