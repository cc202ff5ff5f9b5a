"""The real questions: folders of evaluation data, read as documents, questions and answers.

What is held out of all training is decided by what a question is asked of (an article, a passage, sessions, a
meeting), never by the question: a model that was taught with one question of a passage has seen the others' answers. A
question of several sessions, some of which are held out, is neither taught nor asked where a model is measured.
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
"""One of so many groups is never trained on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the answers any of which is right (none where the documents do not tell), and the keys of the
    documents that hold them.

    `groups` is what it is asked of, each held out as a whole. `file` is the one that it is asked of, where it is not
    asked of all.
    """

    question: str
    answers: tuple[str, ...]
    keys: frozenset[str]
    groups: frozenset[str]
    file: str | None = None

    @property
    def taught(self) -> bool:
        """Whether a training may see it."""
        return not any(map(is_held_out, self.groups))

    @property
    def held_out(self) -> bool:
        """Whether no training may see anything of what it is asked of."""
        return all(map(is_held_out, self.groups))


@dataclass(frozen=True, slots=True)
class Folder:
    """Documents by file, and what is asked of them.

    `summaries`: what is asked for is what was said about something, which no passage says in the answer's words; there
    is always an answer.
    """

    files: Mapping[str, Sequence[Document]]
    asked: Sequence[Asked]
    summaries: bool = False

    @property
    def keys(self) -> Sequence[str]:
        """Of the documents, in their order."""
        return [document.key for documents in self.files.values() for document in documents]


def is_held_out(group: str) -> bool:
    """Whether no training may see what is asked of this article, passage, session or meeting."""
    return hashlib.sha256(group.encode()).digest()[0] % HELD_OUT == 0


def read(data: Path) -> dict[str, Folder]:
    """The folders with answers that are there, by name. Raises CannotRun where there is none, or one is damaged."""
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
            raise CannotRun(f"{data / name} is not what it should be ({error!r}).") from error
    if not folders:
        raise CannotRun(f"there is none of the folders {', '.join(readers)} in {data}.")
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
    """A day as passages show it, and what is joined by marks alone in words."""
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
