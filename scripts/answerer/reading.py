"""Lessons from the real questions, with the passages that Jackdaw itself finds for them.

What a passage answers, and what it seems to answer but does not: the questions for which it was found all the same.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
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
_STRANGE = 2
"""Questions of others that a passage is asked, at most."""

_TOLD = 0.6
"""Share of an answer's words from which a passage tells it in other words."""

_QMSUM_SENTENCES = 2

Progress = Callable[[int, int], None]
"""Told how many questions are done, and of how many."""


def lessons(name: str, folder: Folder, room: Path, embedder: Embedder, on_progress: Progress) -> list[Lesson]:
    """Lessons from what is not held out: each passage alone, and what was found for a question as one prompt.

    The store with the documents is made in `room`, once.
    """
    retriever = store(room / f"{name}.db", folder, embedder)
    keys = [document.key for documents in folder.files.values() for document in documents]
    alone: dict[int, list[Pair]] = defaultdict(list)
    strange: dict[int, list[Pair]] = defaultdict(list)
    passages: dict[int, StoredPassage] = {}
    together = []
    asked = [one for one in folder.asked if not one.held_out]
    for number, one in enumerate(asked):
        on_progress(number, len(asked))
        found = [hit.passage for hit in among(retriever, one, FOUND)]
        passages |= {passage.id: passage for passage in found}
        telling = [p for p in found if keys[p.document_id - 1] in one.keys and tells(p, one)]
        if _is_of_the_set(one):
            continue
        if telling:
            alone[telling[0].id].append(Pair(one.question, _answer(name, one)))
        others = [p for p in found if keys[p.document_id - 1] not in one.keys and not tells(p, one)]
        for p in others[:_STRANGE] if name != "qmsum" else ():
            strange[p.id].append(Pair(one.question, NOT_FOUND))
        together.append(_in_one_prompt(name, one, found, telling, others))
    on_progress(len(asked), len(asked))
    return [*_each(name, passages, alone, strange), *(one for one in together if one)]


def store(path: Path, folder: Folder, embedder: Embedder) -> Retriever:
    """The documents of a folder, as Jackdaw searches them; filled once. Document ids count from 1 in their order."""
    if not path.exists():
        fresh = path.with_suffix(".part")
        fresh.unlink(missing_ok=True)
        filled(fresh, folder.files, embedder).database.close()
        fresh.replace(path)
    database = Database(path)
    return Retriever(KnowledgeStore(database), KeywordIndex(database), VectorIndex(database), embedder)


def among(retriever: Retriever, one: Asked, count: int) -> list[Hit]:
    """What is found for a question, in its file where it is asked of one."""
    found = retriever.search(Query(one.question), count if one.file is None else 100)
    return [hit for hit in found if one.file is None or hit.passage.path == f"/set/{one.file}"][:count]


def _each(
    name: str,
    passages: dict[int, StoredPassage],
    alone: dict[int, list[Pair]],
    strange: dict[int, list[Pair]],
) -> Iterator[Lesson]:
    rng = random.Random(name)
    for identity in sorted(passages):
        own = alone.get(identity, [])
        others = strange.get(identity, [])
        rng.shuffle(others)
        # As many that it does not answer as that it does; of one that answers none, a question now and then.
        pairs = [*own, *others[: max(1, len(own) // 2) if own else int(rng.random() < 0.2)]]
        if pairs:
            rng.shuffle(pairs)
            asked = tuple(pair.question for pair in own) if name != "qmsum" else ()
            yield Lesson(name, (passages[identity],), tuple(pairs), asked)


def _in_one_prompt(
    name: str,
    one: Asked,
    found: Sequence[StoredPassage],
    telling: Sequence[StoredPassage],
    others: Sequence[StoredPassage],
) -> Lesson | None:
    """The first of what was found, in that order; without what tells, for one question of six that it answers."""
    first = tuple(found[:_IN_PROMPT])
    if name == "qmsum":
        return Lesson(name, first, (Pair(one.question, _answer(name, one)),)) if first else None
    away = not one.answers or random.Random(one.question).random() < 1 / 6
    if away and len(others) >= _IN_PROMPT:
        return Lesson(name, tuple(others[:_IN_PROMPT]), (Pair(one.question, NOT_FOUND),))
    if any(passage in first for passage in telling):
        return Lesson(name, first, (Pair(one.question, _answer(name, one)),))
    return None


def _answer(name: str, one: Asked) -> str:
    answer = min(one.answers, key=len)
    if name == "qmsum":
        return " ".join(sentences(answer)[:_QMSUM_SENTENCES])
    return answer.strip().rstrip(".")


def _is_of_the_set(one: Asked) -> bool:
    """Whether the answer is a time that the data set alone knows: no passage shows it."""
    return any(re.fullmatch(r"\d{8}_\d\d:\d\d", answer) for answer in one.answers)


def tells(passage: StoredPassage, one: Asked) -> bool:
    """Whether the passage holds an answer: in its words, or most of them. In a meeting, whatever belongs to it."""
    held = words(f"{passage.title} {(passage.date or '')[:10].replace('-', '')} {passage.text}")
    text = f" {' '.join(held)} "
    for answer in one.answers:
        said = words(answer)
        if f" {' '.join(said)} " in text:
            return True
        if one.file or said[:1] in (["yes"], ["no"]) or (len(said) > 3 and _share(said, held) >= _TOLD):
            return True
    return False


def _share(said: Sequence[str], held: Sequence[str]) -> float:
    return len({*said} & {*held}) / len({*said})


def words(text: str) -> list[str]:
    """The words that answers are compared by."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in ("a", "an", "the")]
