"""Lessons as rows of tokens: what is asked of the same passages shares their tokens, each question by itself.

A row holds several lessons side by side. A token reads those before it in its own lesson that stand in the trunk (the
passages) or in its own branch (a question with its answer): the very prompt that Jackdaw builds, for each question.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scripts.answerer.lessons import Lesson
from shared import prompt as prompts
from shared.prompt import CHATML, Prompt, Segment
from shared.types import StoredPassage

Tokenize = Callable[[str, bool], list[int]]
"""Text to token ids; control tokens are read as such where the second argument says so."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

MOST_ANSWER = 96
"""Tokens of an answer that are taught."""

LENGTH = 256
"""Rows are so many tokens long, or a multiple of it."""

_ABSTENTION, _QUESTION, _TEXT = 0.6, 0.5, 0.3
"""What an abstention, a question to be asked and plain text weigh against an answer."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Tokens behind a trunk; those from `taught` on are to be learnt, and weigh `weight` together."""

    tokens: tuple[int, ...]
    taught: int
    weight: float


@dataclass(frozen=True, slots=True)
class Tree:
    """A trunk, and the branches that each follow on it alone. `source` names where the lesson is from."""

    source: str
    trunk: tuple[int, ...]
    branches: tuple[Branch, ...]

    def __len__(self) -> int:
        return len(self.trunk) + sum(len(branch.tokens) for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Row:
    """Trees as one row of tokens; each array has the shape (tokens,).

    `lesson` and `branch` tell who reads whom (branch 0 is the trunk). `targets` holds the token to be predicted from
    this one, -1 where none is taught, with its weight.
    """

    tokens: Ints
    positions: Ints
    lesson: Ints
    branch: Ints
    targets: Ints
    weights: Floats

    def mask(self) -> npt.NDArray[np.bool_]:
        """Who reads whom, shape (tokens, tokens): row i is what token i reads."""
        same = self.lesson[:, None] == self.lesson[None, :]
        reads = (self.branch[None, :] == 0) | (self.branch[:, None] == self.branch[None, :])
        return same & reads & np.tri(len(self.tokens), dtype=bool)


def tree(lesson: Lesson, tokenize: Tokenize, end: int) -> Tree:
    """A lesson as tokens; `end` is the token that ends an answer."""
    first = prompts.build("", lesson.passages)
    trunk = _tokens((*first.head, *(segment for one in first.passages for segment in one)), tokenize)

    def branch(prompt: Prompt, answer: str, weight: float) -> Branch:
        tail = _tokens(prompt.tail, tokenize)
        said = [*tokenize(answer, False)[:MOST_ANSWER], end]
        return Branch((*tail, *said), len(tail), weight * len(said) ** 0.5)

    branches = [
        branch(
            prompts.build(one.question, lesson.passages, CHATML, one.earlier),
            one.answer,
            _ABSTENTION if one.abstains else 1.0,
        )
        for one in lesson.pairs
    ]
    branches += [branch(prompts.to_ask(lesson.passages[0]), one, _QUESTION) for one in lesson.asked]
    return Tree(lesson.source, tuple(trunk), tuple(branches))


def plain(text: str, tokenize: Tokenize, most: int) -> Tree:
    """Text that is read as it stands, so that the model keeps what it knew."""
    tokens = tokenize(text, False)[:most]
    return Tree("plain", (), (Branch(tuple(tokens), 1, _TEXT * len(tokens) ** 0.5),))


def chat(asked: str, answer: str, tokenize: Tokenize, end: int) -> Tree:
    """One turn without passages, as `shared.prompt.turn` builds it."""
    tail = _tokens(prompts.turn(asked).tail, tokenize)
    said = [*tokenize(answer, False)[:MOST_ANSWER], end]
    return Tree("chat", (), (Branch((*tail, *said), len(tail), _TEXT * len(said) ** 0.5),))


def packed(trees: Sequence[Tree], most: int) -> Iterator[Row]:
    """The trees in their order, as many to a row as it holds; of one that is too long, the last branches are cut."""
    room: list[Tree] = []
    for one in trees:
        cut = _cut(one, most)
        if room and sum(map(len, room)) + len(cut) > most:
            yield _row(room)
            room = []
        room.append(cut)
    if room:
        yield _row(room)


def _cut(one: Tree, most: int) -> Tree:
    while len(one.branches) > 1 and len(one) > most:
        one = replace(one, branches=one.branches[:-1])
    return one


def _row(trees: Sequence[Tree]) -> Row:
    """The trees side by side, filled up to a length that others have as well: for each one more code is compiled."""
    columns: list[tuple[int, int, int, int, int, float]] = []
    for number, one in enumerate(trees):
        columns += [(token, place, number, 0, -1, 0.0) for place, token in enumerate(one.trunk)]
        for branch, behind in enumerate(one.branches, 1):
            taught = len(behind.tokens) - behind.taught
            for place, token in enumerate(behind.tokens):
                is_taught = behind.taught - 1 <= place < len(behind.tokens) - 1
                target = behind.tokens[place + 1] if is_taught else -1
                weight = behind.weight / taught if is_taught else 0.0
                columns.append((token, len(one.trunk) + place, number, branch, target, weight))
    columns += [(0, 0, len(trees), 0, -1, 0.0)] * (-len(columns) % LENGTH)
    tokens, positions, lesson, branch_of, targets, weights = zip(*columns, strict=True)
    arrays = (np.array(column, np.int64) for column in (tokens, positions, lesson, branch_of, targets))
    return Row(*arrays, np.array(weights, np.float32))


def _tokens(segments: Sequence[Segment], tokenize: Tokenize) -> list[int]:
    return [token for segment in segments for token in tokenize(segment.text, segment.special)]


def text_of(passage: StoredPassage) -> str:
    """A passage's own words, for `plain`."""
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
