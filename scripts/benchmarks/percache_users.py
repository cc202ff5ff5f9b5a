"""The users to replay: their documents, their questions in order, and scores that compare an answer with the reference.

`lihuaworld` is one user; in `qmsum`, each meeting is a user with documents and questions of only that meeting.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scripts.datasets.folders import is_held_out
from scripts.datasets.retrieval_sets import evidence_keys, lines, load
from scripts.places import CannotRun
from shared.types import Document

MEETINGS = 3


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its reference answer and the keys of the documents that contain the answer."""

    text: str
    reference: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class User:
    """A user: documents by file, and questions in the order they are asked."""

    name: str
    files: Mapping[str, Sequence[Document]]
    questions: Sequence[Asked]


def users(data: Path | None, *, held_out: bool = False, meetings: int = MEETINGS) -> dict[str, list[User]]:
    """Return the users of each set in the folder, with all questions or only held-out ones; of `qmsum`, at most
    `meetings` users.

    Raises CannotRun if there is none.
    """
    sets = load(data) if data else {}
    people = {}
    if "lihuaworld" in sets and data:
        people["lihuaworld"] = [_lihuaworld(data, sets["lihuaworld"].files, held_out)]
    if "qmsum" in sets and data:
        files_of = sets["qmsum"].files.items()
        people["qmsum"] = [
            _meeting(data, name, files) for name, files in files_of if not held_out or is_held_out(Path(name).stem)
        ][:meetings]
    if not any(people.values()):
        raise CannotRun("the users are read from `lihuaworld` and `qmsum` under --data DIR, and neither is there.")
    return people


def about(user: User) -> User:
    """Return the same user with only the documents that answer the user's questions."""
    keys = frozenset[str]().union(*(question.evidence for question in user.questions))
    files = {
        name: [document for document in documents if document.key in keys] for name, documents in user.files.items()
    }
    return replace(user, files={name: documents for name, documents in files.items() if documents})


def _lihuaworld(data: Path, files: Mapping[str, Sequence[Document]], held_out: bool) -> User:
    """Return the user of lihuaworld, with the questions that a single conversation answers, in order. The data set's
    other questions are left out, because their only answer is "Yes".
    """
    asked = [
        Asked(line["question"], str(line["answer"]), evidence_keys(line["evidence"]))
        for line in lines(data / "lihuaworld" / "queries.jsonl")
        if line["type"] == "Single"
    ]
    return User(
        "lihuaworld",
        files,
        [question for question in asked if not held_out or all(map(is_held_out, question.evidence))],
    )


def _meeting(data: Path, name: str, documents: Sequence[Document]) -> User:
    meeting = json.loads((data / "qmsum" / name).read_text(encoding="utf-8"))
    asked = []
    for query in meeting["specific_query_list"]:
        spans = [range(int(first), int(last) + 1) for first, last in query["relevant_text_span"]]
        evidence = frozenset(
            document.key for document in documents if any(_meets(document.key, span) for span in spans)
        )
        asked.append(Asked(query["query"], query["answer"], evidence))
    return User(name.removesuffix(".json"), {name: documents}, asked)


def _meets(key: str, span: range) -> bool:
    first, last = map(int, key.rpartition(":")[2].split("-"))
    return first < span.stop and last >= span.start


def f1(said: str, reference: str) -> float:
    """Return the F1 of the word overlap, as in SQuAD; 0 to 1."""
    own, other = (
        Counter(word for word in _words(text) if word not in ("a", "an", "the")) for text in (said, reference)
    )
    shared = (own & other).total()
    return 2 * shared / (own.total() + other.total()) if shared else 0.0


def rouge_l(said: str, reference: str) -> float:
    """Return ROUGE-L's F measure, from the longest common subsequence of words; 0 to 1."""
    own, other = _words(said), _words(reference)
    row = [0] * (len(other) + 1)
    for word in own:
        diagonal = 0
        for place, right in enumerate(other, 1):
            above = row[place]
            row[place] = diagonal + 1 if word == right else max(above, row[place - 1])
            diagonal = above
    return 2 * row[-1] / (len(own) + len(other)) if row[-1] else 0.0


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
