"""Lessons from the real questions, with the passages that Jackdaw itself finds for them.

What a passage answers, and what it seems to answer but does not: the questions for which it was found all the same.
"""

import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from device_app.knowledge.query import Query
from device_app.knowledge.retriever import Retriever
from models.engine import Embedder
from scripts.answerer.folders import Asked, Folder
from scripts.answerer.lessons import Lesson, Pair
from scripts.benchmarks.retrieval import filled
from shared.prompt import NOT_FOUND
from shared.text import sentences
from shared.types import Hit, StoredPassage
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore
from storage.vectors import VectorIndex

FOUND = 8
"""Passages that are looked at for a question."""

_IN_PROMPT = 3
_IN_FILE = 100
"""Passages that are looked through for those of one file."""

_STRANGE = 2
"""Questions of others that a passage is asked, at most, for each that found it."""

_TOLD = 0.6
"""Share of an answer's words from which a passage tells it in other words."""

_SUMMARY_SENTENCES = 2
_SUMMARISED = 4
"""Passages of a meeting that are each asked what was said: whichever is found has to do."""

Progress = Callable[[int, int], None]
"""Told how many questions are done, and of how many."""

_Pairs = Mapping[int, list[Pair]]
"""Questions by the id of a passage."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The passages found for a question, best first: those that tell the answer, and those that have no part in it."""

    passages: tuple[StoredPassage, ...]
    telling: tuple[StoredPassage, ...]
    others: tuple[StoredPassage, ...]


def lessons(name: str, folder: Folder, retriever: Retriever, on_progress: Progress) -> list[Lesson]:
    """Lessons from what may be taught: each passage alone, and what was found for a question as one prompt.

    `name` names their source; `retriever` searches the folder's documents, as `store` has them.
    """
    keys = folder.keys
    alone, strange = defaultdict[int, list[Pair]](list), defaultdict[int, list[Pair]](list)
    passages: dict[int, StoredPassage] = {}
    together: list[Lesson] = []
    asked = [one for one in folder.asked if one.taught]
    for number, one in enumerate(asked):
        on_progress(number, len(asked))
        found = _found(retriever, one, keys)
        passages |= {passage.id: passage for passage in found.passages}
        if _is_of_the_set(one):
            continue
        for passage in found.telling[: _SUMMARISED if folder.summaries else 1]:
            alone[passage.id].append(Pair(one.question, _answer(folder, one)))
        for passage in found.others[:_STRANGE] if not folder.summaries else ():
            strange[passage.id].append(Pair(one.question, NOT_FOUND))
        together += _in_one_prompt(name, folder, one, found)
    on_progress(len(asked), len(asked))
    return [*_each(name, folder, passages, alone, strange), *together]


@contextmanager
def store(room: Path, name: str, folder: Folder, embedder: Embedder) -> Iterator[Retriever]:
    """The documents of a folder as Jackdaw searches them; their ids count from 1 in their order. The database in `room`
    is filled once for the same documents.
    """
    digest = hashlib.blake2b(repr(folder.files).encode(), digest_size=6).hexdigest()
    path = room / f"{name}-{digest}.db"
    if not path.exists():
        fresh = path.with_suffix(".part")
        fresh.unlink(missing_ok=True)
        filled(fresh, folder.files, embedder).database.close()
        fresh.replace(path)
    with closing(Database(path)) as database:
        yield Retriever(KnowledgeStore(database), KeywordIndex(database), VectorIndex(database), embedder)


def among(retriever: Retriever, one: Asked, count: int) -> list[Hit]:
    """What is found for a question, in its file where it is asked of one."""
    found = retriever.search(Query(one.question), count if one.file is None else _IN_FILE)
    return [hit for hit in found if one.file is None or hit.passage.path == f"/set/{one.file}"][:count]


def tells(passage: StoredPassage, one: Asked) -> bool:
    """Whether the passage holds an answer: in its words, or most of them. In a meeting, whatever belongs to it."""
    held = words(f"{passage.title} {(passage.date or '')[:10]} {passage.text}")
    text = f" {' '.join(held)} "
    for answer in one.answers:
        said = words(answer)
        if f" {' '.join(said)} " in text:
            return True
        if one.file or said[:1] in (["yes"], ["no"]) or (len(said) > 3 and _share(said, held) >= _TOLD):
            return True
    return False


def words(text: str) -> list[str]:
    """The words that answers are compared by."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in ("a", "an", "the")]


def _found(retriever: Retriever, one: Asked, keys: Sequence[str]) -> _Found:
    found = tuple(hit.passage for hit in among(retriever, one, FOUND))
    relevant = {passage.id for passage in found if keys[passage.document_id - 1] in one.keys}
    told = {passage.id for passage in found if tells(passage, one)}
    return _Found(
        found,
        tuple(passage for passage in found if passage.id in relevant & told),
        tuple(passage for passage in found if passage.id not in relevant | told),
    )


def _each(
    name: str, folder: Folder, passages: Mapping[int, StoredPassage], alone: _Pairs, strange: _Pairs
) -> Iterator[Lesson]:
    rng = random.Random(name)
    for identity in sorted(passages):
        own = alone.get(identity, [])
        others = list(strange.get(identity, []))
        rng.shuffle(others)
        # As many that it does not answer as half of what it does; of one that answers none, a question now and then.
        pairs = [*own, *others[: max(1, len(own) // 2) if own else int(rng.random() < 0.2)]]
        if pairs:
            rng.shuffle(pairs)
            asked = tuple(pair.question for pair in own) if not folder.summaries else ()
            yield Lesson(name, (passages[identity],), tuple(pairs), asked)


def _in_one_prompt(name: str, folder: Folder, one: Asked, found: _Found) -> Iterator[Lesson]:
    """The first of what was found, in that order; without what tells, for one question of six that it answers."""
    first = found.passages[:_IN_PROMPT]
    away = not one.answers or random.Random(one.question).random() < 1 / 6
    if away and len(found.others) >= _IN_PROMPT and not folder.summaries:
        yield Lesson(name, found.others[:_IN_PROMPT], (Pair(one.question, NOT_FOUND),))
    elif first if folder.summaries else any(passage in first for passage in found.telling):
        yield Lesson(name, first, (Pair(one.question, _answer(folder, one)),))


def _answer(folder: Folder, one: Asked) -> str:
    answer = min(one.answers, key=len)
    if folder.summaries:
        return " ".join(sentences(answer)[:_SUMMARY_SENTENCES])
    return answer.strip().rstrip(".")


def _is_of_the_set(one: Asked) -> bool:
    """Whether the answer is a time that the data set alone knows: no passage shows it."""
    return any(re.fullmatch(r"\d{8}_\d\d:\d\d", answer) for answer in one.answers)


def _share(said: Sequence[str], held: Sequence[str]) -> float:
    return len({*said} & {*held}) / len({*said})
