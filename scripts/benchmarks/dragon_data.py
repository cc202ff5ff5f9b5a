"""The input of the benchmark `dragon`: questions about a person's private chats, which are on the device, and the
nearest public passages, which are on the server.
"""

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.versions import Versions
from device_app.english.query import Query
from device_app.knowledge.retriever import Retriever
from models.engine import Embedder
from scripts.datasets.retrieval_sets import load
from scripts.datasets.stores import filled, retriever_over
from scripts.places import CannotRun
from shared.aggregation.weights import row_similarities
from shared.prompt import ChatTemplate, Prompt, build
from shared.types import StoredPassage

SESSIONS, PUBLIC = 60, 1500
"""The number of chats on the device in addition to those that answer the questions; the number of public passages."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its nearest private passages and their similarities, best first."""

    text: str
    passages: tuple[StoredPassage, ...]
    similarities: tuple[float, ...]

    def prompt(self, template: ChatTemplate, rows: int, passages: int) -> Prompt:
        """Return the prompt with the question's `passages` first passages, divided among `rows` separate prompts
        (rows).
        """
        return build(self.text, self.passages[:passages], template).in_rows(rows)

    def weights(self, rows: int, passages: int, level: float) -> list[float]:
        """Return one similarity for each row (each of the prompts among which passages are divided); a `level` above 0
        replaces every passage's similarity.
        """
        return row_similarities([level] * passages if level else self.similarities[:passages], rows)


@dataclass(frozen=True, slots=True)
class Private:
    """The private passages on the device, and the questions about them."""

    retriever: Retriever
    questions: tuple[Question, ...]

    def embedded_by(self, embedder: Embedder) -> "Private":
        """Return the passages and questions with a retriever that uses the given embedder."""
        return replace(self, retriever=replace(self.retriever, embedder=embedder))


def private(data: Path, room: Path, embedder: Embedder, questions: int, passages: int) -> Private:
    """Return `questions` questions of the data set lihuaworld, spread over its year, with their passages. Raises
    CannotRun.
    """
    data_set = load(data).get("lihuaworld") if (data / "lihuaworld" / "queries.jsonl").is_file() else None
    if data_set is None or not data_set.questions:
        raise CannotRun(f"{data} has no lihuaworld with docs.jsonl and queries.jsonl.")
    asked = data_set.questions[:: max(1, len(data_set.questions) // questions)][:questions]
    keys = {key for question in asked for key in question.relevant}
    sessions = [session for some in data_set.files.values() for session in some]
    others = islice((session for session in sessions if session.key not in keys), SESSIONS)
    held = [*(session for session in sessions if session.key in keys), *others]
    store = filled(room / "private.db", {"chats": held}, embedder)
    retriever = retriever_over(store, embedder)
    ready = []
    for question in asked:
        hits = retriever.search(Query(question.text), passages)
        if len(hits) == passages:
            private_ones = tuple(hit.passage for hit in hits)
            ready.append(Question(question.text, private_ones, tuple(hit.similarity for hit in hits)))
    if not ready:
        raise CannotRun(f"In {data}/lihuaworld no question has {passages} passages.")
    return Private(retriever, tuple(ready))


def public(data: Path, room: Path, embedder: Embedder, threads: int) -> Path:
    """Build an index of public passages and return its folder. Raises CannotRun."""
    paths = [data / name / "passages.jsonl" for name in ("nq_passages", "wiki_corpus")]
    source = next((path for path in paths if path.is_file()), None)
    if source is None:
        raise CannotRun(f"{data} has neither nq_passages nor wiki_corpus with passages.jsonl.")
    few = room / "public.jsonl"
    with source.open(encoding="utf-8") as stream:
        few.write_text("".join(islice(stream, PUBLIC)), encoding="utf-8")
    folder = room / "index"
    Builder(FolderIndex(Versions(folder), threads), embedder).build([few])
    return folder
