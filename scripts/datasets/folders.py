"""The real questions: folders of evaluation data, read as documents, questions and answers.

Questions are held out from training by what they are about (an article, a passage, sessions, a meeting), not
individually: a model trained with one question on a passage has seen the answers to the others. A question about
several sessions, only some of which are held out, is used neither in training nor in measurements.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.datasets.retrieval_sets import evidence_keys, lines, load
from scripts.places import CannotRun
from shared.types import Block, Document

HELD_OUT = 5
"""The number of groups of which one is held out from training."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its accepted answers (none if the documents do not contain the answer), and the keys of the documents
    that contain an answer.

    `groups` are the articles, passages, sessions or meetings that the question is about, each held out as a whole.
    `file` is the file to which the question is limited, if any.
    """

    question: str
    answers: tuple[str, ...]
    keys: frozenset[str]
    groups: frozenset[str]
    file: str | None = None

    @property
    def taught(self) -> bool:
        """Whether the question may be used in training."""
        return not any(map(is_held_out, self.groups))

    @property
    def held_out(self) -> bool:
        """Whether everything that the question is about is held out from training."""
        return all(map(is_held_out, self.groups))


@dataclass(frozen=True, slots=True)
class Folder:
    """Documents by file, and the questions about them.

    `summaries`: the questions ask for what was said about a topic. No passage states that in the answer's words, and
    there is always an answer.
    """

    files: Mapping[str, Sequence[Document]]
    asked: Sequence[Asked]
    summaries: bool = False

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the documents, in order."""
        return [document.key for documents in self.files.values() for document in documents]


def is_held_out(group: str) -> bool:
    """Return whether questions about the article, passage, session or meeting with the given name are held out from
    training.
    """
    return hashlib.sha256(group.encode()).digest()[0] % HELD_OUT == 0


def read(data: Path) -> dict[str, Folder]:
    """Return the folders of questions that exist, by name. Raises CannotRun if there is none, or one is damaged."""
    readers: dict[str, Callable[[Path], Folder]] = {
        "xquad": _xquad,
        "nq_passages": _nq_passages,
        "lihuaworld": _lihuaworld,
        "qmsum": _qmsum,
    }
    folders = {}
    for name in filter(lambda name: (data / name).is_dir(), readers):
        try:
            folders[name] = readers[name](data)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise CannotRun(f"{data / name} cannot be read as evaluation data ({error!r}).") from error
    if not folders:
        raise CannotRun(f"none of these folders exists in {data}: {', '.join(readers)}.")
    return folders


def _xquad(data: Path) -> Folder:
    documents, asked = [], []
    for article in json.loads((data / "xquad" / "xquad.json").read_text("utf-8"))["data"]:
        title = article["title"].replace("_", " ")
        for number, paragraph in enumerate(article["paragraphs"]):
            key = f"{title} {number}"
            documents.append(Document(key, "page", title, (Block(paragraph["context"]),)))
            asked += [
                Asked(
                    question["question"],
                    tuple(a["text"] for a in question["answers"]),
                    frozenset({key}),
                    frozenset({title}),
                )
                for question in paragraph["qas"]
            ]
    return Folder({"xquad.json": documents}, asked)


def _nq_passages(data: Path) -> Folder:
    asked = []
    for line in lines(data / "nq_passages" / "questions.jsonl"):
        key = frozenset({f"nq{line['gold_pid']}"})
        asked.append(Asked(line["question"], tuple(line["answers"]), key, key))
    return Folder(load(data, "nq_passages")["nq_passages"].files, asked)


def _lihuaworld(data: Path) -> Folder:
    asked = []
    for line in lines(data / "lihuaworld" / "queries.jsonl"):
        keys = evidence_keys(line["evidence"])
        answers = () if line["type"] == "Null" else (_as_said(line["answer"].removeprefix("Answer: ")),)
        question = line["question"].removeprefix("Question: ")
        asked.append(Asked(question, answers, keys, keys if answers else frozenset({question})))
    files = load(data, "lihuaworld")["lihuaworld"].files
    here = {document.key for documents in files.values() for document in documents}
    return Folder(files, [question for question in asked if not question.answers or question.keys & here])


def _as_said(answer: str) -> str:
    """Return the answer in the passages' style: days as passages show them, and parts joined by "and"."""
    *parts, last = re.sub(r"^(20\d\d)(\d\d)(\d\d)$", r"\1-\2-\3", answer).split("&")
    return f"{', '.join(part.strip() for part in parts)} and {last.strip()}" if parts else last


def _qmsum(data: Path) -> Folder:
    meetings = load(data, "qmsum")["qmsum"]
    known = {(question.file, question.text): question.relevant for question in meetings.questions}
    asked: list[Asked] = []
    for path in sorted((data / "qmsum").glob("*.json")):
        asked += [
            Asked(
                query["query"], (query["answer"],), known[path.name, query["query"]], frozenset({path.stem}), path.name
            )
            for query in json.loads(path.read_text(encoding="utf-8"))["specific_query_list"]
            if (path.name, query["query"]) in known
        ]
    return Folder(meetings.files, asked, summaries=True)
