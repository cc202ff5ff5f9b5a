"""The prompts of the benchmark `dovetail`: 60 of four kinds, a fourth of them without passages, and others by which
settings are chosen.

Reported prompts are about held-out documents, or are themselves held out if they have no documents; the others are not.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from scripts.datasets.answering import words
from scripts.datasets.folders import is_held_out
from scripts.datasets.retrieval_sets import RetrievalSet, lines, load
from scripts.places import CannotRun
from shared.prompt import ChatTemplate, Prompt, build, turn
from shared.text import passages
from shared.types import StoredPassage

SETS: Final[Mapping[str, str]] = {"chats": "lihuaworld", "mail": "email", "encyclopaedia": "nq_passages"}
BARE: Final = "bare"
"""The kind of prompts without passages."""

_MOST_PASSAGES: Final = 3


class Library:
    """The passages of a data set. For a question, it finds the nearest ones by the rarity of the words that they
    share.
    """

    def __init__(self, data: RetrievalSet) -> None:
        self.passages: list[StoredPassage] = []
        self._keys: list[str] = []
        for document in (document for documents in data.files.values() for document in documents):
            date = document.date.isoformat() if document.date else None
            for part in passages(document.blocks):
                number = len(self.passages)
                stored = StoredPassage(
                    number, part.text, 0, None, None, number, document.title, document.kind, date, document.people, ""
                )
                self.passages.append(stored)
                self._keys.append(document.key)
        self._words = [frozenset(words(f"{passage.title} {passage.text}")) for passage in self.passages]
        self._counts = Counter(word for own in self._words for word in own)

    def nearest(self, question: str, relevant: frozenset[str], count: int) -> list[StoredPassage]:
        """Return the `count` nearest passages: first those of the relevant documents, then those of all others."""
        asked = set(words(question))

        def score(place: int) -> float:
            return sum(math.log(len(self._words) / self._counts[word]) for word in asked & self._words[place])

        ranked = sorted(range(len(self.passages)), key=score, reverse=True)
        first = next((place for place in ranked if self._keys[place] in relevant), ranked[0])
        return [self.passages[place] for place in [first, *(place for place in ranked if place != first)][:count]]


def prompts(data: Path, template: ChatTemplate, *, held_out: bool) -> dict[str, Iterator[Prompt]]:
    """Yield the prompts of each kind, all passages in one prompt, made as they are needed. Raises CannotRun without the
    data folders.
    """
    sets = load(data, *SETS.values())
    missing = [name for name in (*SETS.values(), "prompts") if not (data / name).is_dir()]
    if missing:
        raise CannotRun(f"{data} has no {', '.join(missing)}.")
    asked = {kind: _with_passages(kind, sets[name], template, held_out) for kind, name in SETS.items()}
    return {**asked, BARE: _bare(data / "prompts", template, held_out)}


def _with_passages(kind: str, data: RetrievalSet, template: ChatTemplate, held_out: bool) -> Iterator[Prompt]:
    library = Library(data)
    count = 0
    for question in data.questions:
        if is_held_out(min(question.relevant)) is held_out:
            text = f"What is said about “{question.text}”?" if kind == "mail" else question.text
            near = library.nearest(question.text, question.relevant, 1 + count % _MOST_PASSAGES)
            count += 1
            yield build(text, near, template).joined()


def _bare(folder: Path, template: ChatTemplate, held_out: bool) -> Iterator[Prompt]:
    for text in _requests(folder):
        if is_held_out(text) is held_out:
            yield turn(text, template)


def _requests(folder: Path) -> Sequence[str]:
    chats = [line["turns"][0] for line in lines(folder / "mt_bench.jsonl")]
    tasks = [
        "\n".join(filter(None, (line["instruction"], line["instances"][0]["input"])))
        for line in lines(folder / "instructions.jsonl")
    ]
    return [text for pair in zip(chats, tasks, strict=False) for text in pair] + tasks[len(chats) :]
