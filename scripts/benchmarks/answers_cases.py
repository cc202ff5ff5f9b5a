"""The questions of the benchmark `answers`, each with its retrieved passages, and with the passages that remain if
those that answer it are removed.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from device_app.answering import quoting
from device_app.english import discourse
from device_app.english.query import Query
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.retriever import Retriever
from device_app.settings import Answer
from models.engine import Embedder
from scripts.datasets import stores
from scripts.datasets.answering import tells
from scripts.datasets.folders import Asked, Folder, read
from scripts.datasets.retrieval_sets import lines
from scripts.places import step
from shared.types import Hit, StoredPassage
from storage.database import Database
from storage.knowledge import KnowledgeStore

Tells = Callable[[StoredPassage], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its accepted answers, the retrieved passages, those retrieved passages that do not answer it, and
    a function that says whether a passage contains the answer.

    `summary`: the answer is what was said about a topic; there is always one, and no passage is removed. `quoted` is
    Jackdaw's quotation for the question ("" without one), and `quoting_ms` the time to find it.
    """

    question: str
    answers: Sequence[str]
    hits: Sequence[Hit]
    away: Sequence[Hit]
    tells: Tells
    summary: bool = False
    quoted: str = ""
    quoting_ms: float = 0.0


def sets(room: Path, data: Path | None, embedder: Embedder, most: int) -> Iterator[tuple[str, list[Case]]]:
    """Yield at most `most` cases each for the sample files of a fictional person ("the sample life") and for each
    folder of questions, by name; the stores of documents are made in `room`. Raises CannotRun if the data folder
    contains none of the folders.
    """
    yield "sample_life", _sample_life(room, embedder, most)
    for name, folder in (read(data) if data else {}).items():
        step(f"reading {name}")
        with stores.searched(room, name, folder, embedder) as retriever:
            yield name, _cases(folder, retriever, most)


def _sample_life(room: Path, embedder: Embedder, most: int) -> list[Case]:
    scripts = Path(__file__).parent.parent
    asked = [
        Asked(line["question"], tuple(line["accept"]), frozenset(), frozenset())
        for line in lines(scripts.parent / "tests" / "end_to_end" / "sample_questions.jsonl")
    ]
    with closing(Database(room / "life.db")) as database:
        store = KnowledgeStore(database)
        Ingestion(store, embedder).run([scripts / "sample_life"])
        retriever = stores.retriever_over(store, embedder)
        return [_case(retriever, question, partial(tells, question=question)) for question in _spread(asked, most)]


def _cases(folder: Folder, retriever: Retriever, most: int) -> list[Case]:
    keys = folder.keys

    def is_of(passage: StoredPassage, question: Asked) -> bool:
        return keys[passage.document_id - 1] in question.keys

    return [
        _case(
            retriever, question, partial(tells, question=question), partial(is_of, question=question), folder.summaries
        )
        for question in _spread([question for question in folder.asked if question.held_out], most)
    ]


def _case(
    retriever: Retriever, question: Asked, says: Tells, is_of: Tells | None = None, summary: bool = False
) -> Case:
    """Return a case. If the documents that answer the question are known, none of their passages counts as
    irrelevant.
    """
    hits = stores.among(retriever, question, stores.FOUND)
    away = [hit for hit in hits if not (says(hit.passage) or (is_of and is_of(hit.passage)))]

    def holds(passage: StoredPassage) -> bool:
        return says(passage) and (is_of is None or is_of(passage))

    return Case(
        question.question,
        question.answers,
        hits,
        () if summary else away,
        holds,
        summary,
        *_quoted(retriever, question),
    )


def _quoted(retriever: Retriever, question: Asked) -> tuple[str, float]:
    """Return Jackdaw's quotation for the question, and the milliseconds to find it in the retrieved passages."""
    about = discourse.subject(question.question)
    if not about:
        return "", 0.0
    near = stores.among(retriever, replace(question, question=about), quoting.PASSAGES)
    relevant = [hit for hit in near if hit.score >= Answer().relevance]
    since = time.perf_counter()
    quotation = quoting.quoted(Query(question.question), Query(about), relevant, retriever.embedder, retriever.people)
    return quotation.text if quotation else "", (time.perf_counter() - since) * 1000


def _spread(asked: Sequence[Asked], most: int) -> Sequence[Asked]:
    """Return at most `most` questions, evenly spread."""
    count = min(most, len(asked))
    return [asked[place * len(asked) // count] for place in range(count)]
