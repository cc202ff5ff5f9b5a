"""Lessons as rows of tokens: what is asked of the same passages shares their tokens, each question by itself.

A row holds several lessons side by side. A token reads those before it in its own lesson that stand in the trunk (the
passages) or in its own branch (a question with its answer): the very prompt that Jackdaw builds, for each question.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scripts.answerer.lessons import Lesson
from shared import prompt as prompts
from shared.prompt import Prompt, Segment

Tokenize = Callable[[str, bool], list[int]]
"""Text to token ids; control tokens are read as such where the second argument says so."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

MOST_ANSWER = 96
"""Tokens of an answer that are taught."""

ROW = 512
"""Tokens that a row holds; a lesson that is longer, although it is cut, has a row of its own."""

LENGTH = 256
"""Rows are so many tokens long, or a multiple of it: for each length the model is compiled once more."""

_ANSWER, _ABSTENTION, _QUESTION, _CHAT, _TEXT = 1.0, 0.85, 0.5, 0.8, 0.6
"""What an answer, an abstention, a question to be asked, an answer without passages, and mere text weigh."""


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
        own = self.lesson[:, None] == self.lesson[None, :]
        reads = (self.branch[None, :] == 0) | (self.branch[:, None] == self.branch[None, :])
        mask: npt.NDArray[np.bool_] = own & reads & np.tri(len(self.tokens), dtype=np.bool_)
        return mask


def tree(lesson: Lesson, tokenize: Tokenize, end: int) -> Tree:
    """A lesson as tokens; `end` is the token that ends an answer."""
    shared = prompts.build("", lesson.passages)
    trunk = _tokens((*shared.head, *(segment for passage in shared.passages for segment in passage)), tokenize)
    branches = []
    for pair in lesson.pairs:
        prompt = prompts.build(pair.question, lesson.passages, earlier=pair.earlier)
        branches.append(_branch(prompt, pair.answer, _ABSTENTION if pair.abstains else _ANSWER, tokenize, end))
    for question in lesson.asked:
        prompt = prompts.to_ask(lesson.passages[0])
        branches.append(_branch(prompt, question, _QUESTION, tokenize, end))
    return Tree(lesson.source, tuple(trunk), tuple(branches))


def plain(text: str, tokenize: Tokenize, most: int) -> Tree:
    """Text that is read as it stands, so that the model keeps what it knew."""
    tokens = tuple(tokenize(text, False)[:most])
    return Tree("plain", (), (Branch(tokens, 1, _TEXT * len(tokens) ** 0.5),))


def chat(asked: str, answer: str, tokenize: Tokenize, end: int) -> Tree:
    """One turn without passages, as `shared.prompt.turn` builds it."""
    return Tree("chat", (), (_branch(prompts.turn(asked), answer, _CHAT, tokenize, end),))


def cut(tree: Tree, most: int = ROW) -> Tree:
    """What is read of a tree: where it is longer, without its last branches, down to the first, with which it may still
    be longer.
    """
    while len(tree.branches) > 1 and len(tree) > most:
        tree = replace(tree, branches=tree.branches[:-1])
    return tree


def packed(trees: Iterable[Tree], most: int = ROW) -> Iterator[Row]:
    """The trees in their order, as many to a row as it holds; one that is too long stands alone in its row."""
    room: list[Tree] = []
    for tree in trees:
        if room and sum(map(len, room)) + len(tree) > most:
            yield _row(room)
            room = []
        room.append(tree)
    if room:
        yield _row(room)


def _branch(prompt: Prompt, answer: str, weight: float, tokenize: Tokenize, end: int) -> Branch:
    """Weighs as the root of the length of what is said: a short answer counts, and a long one does not drown it."""
    tail = _tokens(prompt.tail, tokenize)
    said = (*tokenize(answer, False)[:MOST_ANSWER], end)
    return Branch((*tail, *said), len(tail), weight * len(said) ** 0.5)


def _row(trees: Sequence[Tree]) -> Row:
    """The trees side by side, filled up to a multiple of `LENGTH` with a lesson that teaches nothing."""
    columns: list[tuple[int, int, int, int, int]] = []
    weights: list[float] = []
    for number, tree in enumerate(trees):
        columns += [(token, place, number, 0, -1) for place, token in enumerate(tree.trunk)]
        weights += [0.0] * len(tree.trunk)
        for branch, behind in enumerate(tree.branches, 1):
            taught = len(behind.tokens) - behind.taught
            for place, token in enumerate(behind.tokens):
                is_taught = behind.taught - 1 <= place < len(behind.tokens) - 1
                target = behind.tokens[place + 1] if is_taught else -1
                columns.append((token, len(tree.trunk) + place, number, branch, target))
                weights.append(behind.weight / taught if is_taught else 0.0)
    missing = -len(columns) % LENGTH
    columns += [(0, 0, len(trees), 0, -1)] * missing
    weights += [0.0] * missing
    tokens, positions, lesson, branches, targets = np.array(columns, np.int64).T.copy()
    return Row(tokens, positions, lesson, branches, targets, np.array(weights, np.float32))


def _tokens(segments: Sequence[Segment], tokenize: Tokenize) -> list[int]:
    return [token for segment in segments for token in tokenize(segment.text, segment.special)]
