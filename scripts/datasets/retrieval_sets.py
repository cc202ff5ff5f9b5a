"""The retrieval sets, read from a folder of evaluation data: documents to store and questions with relevant keys."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from shared.text import PASSAGE_WORDS, count_words
from shared.types import Block, Document


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the keys of the documents that answer it; retrieving any one of them counts as a hit.

    `file` is the file to which the question is limited, if any.
    """

    text: str
    relevant: frozenset[str]
    file: str | None = None


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Documents by file, and the questions about them."""

    files: Mapping[str, Sequence[Document]]
    questions: Sequence[Question]


def load(data: Path, *names: str) -> dict[str, RetrievalSet]:
    """Return the retrieval sets in the folder, or only the named ones; missing sets are left out."""
    readers: dict[str, Callable[[Path], RetrievalSet]] = {
        "lihuaworld": _lihuaworld,
        "qmsum": _qmsum,
        "email": _email,
        "nq_passages": _nq_passages,
    }
    chosen = names or tuple(readers)
    return {name: readers[name](data) for name in chosen if (data / name).is_dir()}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def evidence_keys(evidence: str) -> frozenset[str]:
    """Return the keys of the chat sessions that answer a question of the data set `lihuaworld`."""
    return frozenset(key.strip().replace(":", "") for key in re.split("<and>|<or>", evidence))


def _lihuaworld(data: Path) -> RetrievalSet:
    documents = []
    for session in lines(data / "lihuaworld" / "docs.jsonl"):
        said = [line for line in session["text"].splitlines() if line.strip() and not line.startswith("Time:")]
        people = dict.fromkeys(match[1] for line in said if (match := re.match(r"(\w+):", line)))
        documents.append(
            Document(
                session["id"],
                "chat",
                "",
                tuple(Block(line, number) for number, line in enumerate(said, 2)),
                datetime.strptime(session["id"][:8], "%Y%m%d"),
                tuple(people),
            )
        )
    questions = [
        Question(line["question"], evidence_keys(evidence))
        for line in lines(data / "lihuaworld" / "queries.jsonl")
        if (evidence := line["evidence"])
    ]
    return _answerable({"docs.jsonl": documents}, questions)


def _qmsum(data: Path) -> RetrievalSet:
    """Return the set of meetings: a document is a group of turns of about a passage's length; a question is about its
    meeting.
    """
    files: dict[str, list[Document]] = {}
    questions = []
    for path in sorted((data / "qmsum").glob("*.json")):
        meeting = json.loads(path.read_text(encoding="utf-8"))
        turns = meeting["meeting_transcripts"]
        groups = _groups([turn["content"] for turn in turns])
        keys = [f"{path.stem}:{first}-{last}" for first, last in groups]
        for key, (first, last) in zip(keys, groups, strict=True):
            said = turns[first : last + 1]
            blocks = tuple(Block(f"{turn['speaker']}: {turn['content']}") for turn in said)
            files.setdefault(path.name, []).append(
                Document(key, "chat", "", blocks, None, tuple(dict.fromkeys(turn["speaker"] for turn in said)))
            )
        for query in meeting["specific_query_list"]:
            spans = [(int(first), int(last)) for first, last in query["relevant_text_span"]]
            relevant = [
                key
                for key, (first, last) in zip(keys, groups, strict=True)
                if any(first <= end and last >= begin for begin, end in spans)
            ]
            questions.append(Question(query["query"], frozenset(relevant), path.name))
    return _answerable(files, questions)


def _groups(texts: Sequence[str]) -> list[tuple[int, int]]:
    groups: list[tuple[int, int]] = []
    first, words = 0, 0
    for number, text in enumerate(texts):
        size = count_words(text)
        if words and words + size > PASSAGE_WORDS * 1.25:
            groups.append((first, number - 1))
            first, words = number, 0
        words += size
    return [*groups, (first, len(texts) - 1)] if texts else groups


def _email(data: Path) -> RetrievalSet:
    """Return the set of mails. Their subjects are left out, because the questions are made from the subjects."""
    documents = [
        Document(
            mail["id"], "mail", "", (Block(mail["body"], 1),), datetime.fromisoformat(mail["date"]), (mail["from"],)
        )
        for mail in lines(data / "email" / "mail.jsonl")
    ]
    questions = [
        Question(line["query"], frozenset(line["relevant_ids"])) for line in lines(data / "email" / "queries.jsonl")
    ]
    return _answerable({"mail.jsonl": documents}, questions)


def _nq_passages(data: Path) -> RetrievalSet:
    """Return the passages of Natural Questions, with the wiki corpus as distractors if it exists."""
    documents = []
    for folder, prefix in (("nq_passages", "nq"), ("wiki_corpus", "wiki")):
        path = data / folder / "passages.jsonl"
        if path.is_file():
            documents += [
                Document(f"{prefix}{line['pid']}", "page", line["title"], (Block(line["text"]),))
                for line in lines(path)
            ]
    questions = [
        Question(line["question"], frozenset({f"nq{line['gold_pid']}"}))
        for line in lines(data / "nq_passages" / "questions.jsonl")
    ]
    return _answerable({"passages.jsonl": documents}, questions)


def _answerable(files: Mapping[str, Sequence[Document]], questions: Sequence[Question]) -> RetrievalSet:
    keys = {document.key for documents in files.values() for document in documents}
    return RetrievalSet(files, [question for question in questions if question.relevant & keys])
