"""Packs lessons into rows of tokens, in which questions about the same passages share the passages' tokens.

A row holds several lessons. A lesson is a tree: its passages are the trunk, and each question with its answer is a
branch. A token attends to earlier tokens of its own trunk and of its own branch, so that each question sees exactly the
prompt that Jackdaw builds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from scripts.answerer.lessons import Lesson
from shared import prompt as prompts
from shared.prompt import Prompt, Segment

Tokenize = Callable[[str, bool], list[int]]
"""A function that converts text to token ids; with True as the second argument, control tokens are recognised."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

MOST_ANSWER = 96
"""The most tokens of an answer that are trained; the rest is cut off."""

ROW = 512
"""The number of tokens of a row; a lesson that is longer even after cutting has a row of its own."""

LENGTH = 256
"""The number of which row lengths are multiples: the model is compiled once for each length."""

_ANSWER, _ABSTENTION, _QUESTION, _CHAT, _TEXT = 1.0, 0.85, 0.5, 0.8, 0.6
"""The loss weights of an answer, an abstention, a generated question, an answer without passages, and plain text."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The tokens of a question with its answer, which follow a trunk of passages. Tokens from index `taught` on are
    trained, with the total loss weight `weight`.
    """

    tokens: tuple[int, ...]
    taught: int
    weight: float


@dataclass(frozen=True, slots=True)
class Tree:
    """A trunk (the passages), and independent branches (questions with answers) that each continue it. `source` names
    the lesson's data source.
    """

    source: str
    trunk: tuple[int, ...]
    branches: tuple[Branch, ...]

    def __len__(self) -> int:
        return len(self.trunk) + sum(len(branch.tokens) for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Row:
    """Several trees in one row of tokens; each array has the shape (tokens,).

    `lesson` and `branch` determine the attention mask (branch 0 is the trunk). `targets` holds the token to predict
    after each token, -1 for none; `weights` holds its loss weight.
    """

    tokens: Ints
    positions: Ints
    lesson: Ints
    branch: Ints
    targets: Ints
    weights: Floats

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return the attention mask, shape (tokens, tokens): row i marks the tokens that token i attends to."""
        own = self.lesson[:, None] == self.lesson[None, :]
        reads = (self.branch[None, :] == 0) | (self.branch[:, None] == self.branch[None, :])
        mask: npt.NDArray[np.bool_] = own & reads & np.tri(len(self.tokens), dtype=np.bool_)
        return mask


def tree(lesson: Lesson, tokenize: Tokenize, end: int) -> Tree:
    """Return a lesson as a tree of tokens; `end` is the token that ends an answer."""
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
    """Return plain text as a tree of tokens; training on plain text helps the model to keep its knowledge."""
    tokens = tuple(tokenize(text, False)[:most])
    return Tree("plain", (), (Branch(tokens, 1, _TEXT * len(tokens) ** 0.5),))


def chat(asked: str, answer: str, tokenize: Tokenize, end: int) -> Tree:
    """Return an exchange without passages as a tree of tokens, in the form of `shared.prompt.turn`."""
    return Tree("chat", (), (_branch(prompts.turn(asked), answer, _CHAT, tokenize, end),))


def cut(tree: Tree, most: int = ROW) -> Tree:
    """Drop the tree's last branches until it has at most `most` tokens. The first branch is always kept, even if the
    tree is then longer.
    """
    while len(tree.branches) > 1 and len(tree) > most:
        tree = replace(tree, branches=tree.branches[:-1])
    return tree


def packed(trees: Iterable[Tree], most: int = ROW) -> Iterator[Row]:
    """Yield rows that hold the trees in order, as many per row as fit; a tree that is too long has a row of its own."""
    room: list[Tree] = []
    for tree in trees:
        if room and sum(map(len, room)) + len(tree) > most:
            yield _row(room)
            room = []
        room.append(tree)
    if room:
        yield _row(room)


def _branch(prompt: Prompt, answer: str, weight: float, tokenize: Tokenize, end: int) -> Branch:
    """Return a branch whose loss weight grows with the square root of the answer's length, so that short answers count
    and long ones do not dominate.
    """
    tail = _tokens(prompt.tail, tokenize)
    said = (*tokenize(answer, False)[:MOST_ANSWER], end)
    return Branch((*tail, *said), len(tail), weight * len(said) ** 0.5)


def _row(trees: Sequence[Tree]) -> Row:
    """Return a row that holds the trees, padded to a multiple of `LENGTH` with tokens that have no targets."""
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
