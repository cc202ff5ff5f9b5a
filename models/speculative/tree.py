"""Draft trees: several continuations of a text at once, which share their common beginnings (EAGLE-2, section 4). No
I/O.

A tree is verified in one pass. Each token is drawn as without drafts, and the child node that equals it costs no pass
of its own: the function `accepted` descends in this way. The text is therefore the same as without drafts, whatever the
tree holds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from models.speculative.choice import shares
from models.token_tree import TokenTree

ROOT: Final = -1
"""The parent of the nodes that follow the last drawn token."""


@dataclass(frozen=True, slots=True)
class DraftTree:
    """Tokens that may follow the last drawn token, as nodes; parents come before their children.

    `parents[n]` is the index of node n's parent, or `ROOT`. `log_probabilities[n]` is that of node n's token, given the
    tokens on the path to it. Siblings have different tokens.
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    log_probabilities: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for a node before its parent, equal siblings, or an impossible probability."""
        nodes = list(zip(self.parents, self.tokens, strict=True))
        if any(not ROOT <= parent < node for node, parent in enumerate(self.parents)):
            raise ValueError(f"A parent does not come before its children: {self.parents}.")
        if len(set(nodes)) < len(nodes):
            raise ValueError("Two nodes with the same parent have the same token.")
        if len(self.log_probabilities) != len(nodes) or not all(value <= 0 for value in self.log_probabilities):
            raise ValueError("Each node needs a log probability of at most 0.")

    @classmethod
    def chain(cls, tokens: Sequence[int], log_probabilities: Sequence[float]) -> Self:
        """Return a tree that is a single chain of tokens."""
        return cls(tuple(tokens), tuple(range(ROOT, len(tokens) - 1)), tuple(log_probabilities))

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.tokens)

    def behind(self, token: int) -> TokenTree:
        """Return the tree of tokens to compute in a pass: the drawn token as node 0, and each draft node with its index
        raised by one.

        Its main path consists of first children.
        """
        return TokenTree((token, *self.tokens), (-1, *(parent + 1 for parent in self.parents)))

    def scores(self) -> list[float]:
        """Return, for each node, the log probability that all tokens on its path are drawn."""
        scores: list[float] = []
        for parent, value in zip(self.parents, self.log_probabilities, strict=True):
            scores.append(value if parent == ROOT else scores[parent] + value)
        return scores

    def child(self, node: int, token: int) -> int | None:
        """Return the child of a node, or of `ROOT`, that has this token; None if there is none."""
        pairs = zip(self.parents, self.tokens, strict=True)
        return next((child for child, pair in enumerate(pairs) if pair == (node, token)), None)

    def likeliest(self, count: int) -> Self:
        """Return a tree of the `count` nodes with the highest scores, the likeliest first.

        Of nodes with equal scores an earlier node comes first, so each node's parent is kept and comes before it. The
        first child of a node is its likeliest.
        """
        scores = self.scores()
        kept = sorted(range(len(self)), key=lambda node: (-scores[node], node))[: max(0, count)]
        places = {ROOT: ROOT} | {node: place for place, node in enumerate(kept)}
        return type(self)(
            tuple(self.tokens[node] for node in kept),
            tuple(places[self.parents[node]] for node in kept),
            tuple(self.log_probabilities[node] for node in kept),
        )


Proposer = Callable[[Sequence[tuple[int, ...]]], Sequence[Sequence[tuple[int, float]]]]
"""A function that returns, for each path of a layer, the likeliest next tokens with their log probabilities, the
likeliest first. A drafter computes a layer in one pass.
"""


def grown(propose: Proposer, width: int, depth: int, candidates: int) -> DraftTree:
    """Build a tree as EAGLE-2 does: expand, then rerank (sections 4.1 and 4.2; Dovetail, section 3.1).

    In each of `depth` layers, the `width` likeliest nodes of the layer before get at most `width` children each. Of all
    nodes, the `candidates` with the highest scores stay, the likeliest first.
    """
    tokens: list[int] = []
    parents: list[int] = []
    log_probabilities: list[float] = []
    layer, paths, scores = [ROOT], [()], [0.0]  # type: list[int], list[tuple[int, ...]], list[float]
    for _ in range(depth):
        further: list[tuple[float, int, tuple[int, ...]]] = []
        for node, path, score, proposed in zip(layer, paths, scores, propose(paths), strict=True):
            for token, value in proposed[:width]:
                further.append((score + value, len(tokens), (*path, token)))
                tokens.append(token)
                parents.append(node)
                log_probabilities.append(value)
        further.sort(key=lambda new: (-new[0], new[1]))
        if not further:
            break
        scores, layer, paths = (list(part) for part in zip(*further[:width], strict=True))
    return DraftTree(tuple(tokens), tuple(parents), tuple(log_probabilities)).likeliest(candidates)


def merged(trees: Sequence[DraftTree]) -> DraftTree:
    """Return one tree with all paths of several drafters' trees; equal prefixes share their nodes.

    A node that several drafters propose keeps the highest of its log probabilities.
    """
    nodes: dict[tuple[int, int], int] = {}  # by parent and token
    log_probabilities: list[float] = []
    for tree in trees:
        places = {ROOT: ROOT}
        for node, (token, value) in enumerate(zip(tree.tokens, tree.log_probabilities, strict=True)):
            place = nodes.setdefault((places[tree.parents[node]], token), len(nodes))
            places[node] = place
            if place == len(log_probabilities):
                log_probabilities.append(value)
            log_probabilities[place] = max(log_probabilities[place], value)
    return DraftTree(tuple(token for _, token in nodes), tuple(parent for parent, _ in nodes), tuple(log_probabilities))


def worthwhile(tree: DraftTree, rows: int, cost: Callable[[int], float], most: int) -> DraftTree:
    """Return the likeliest nodes of a tree, as many as generate the most tokens per unit of time.

    A pass is expected to generate one token plus the sum of the nodes' probabilities. The likeliest nodes are taken
    first, and cost as much as the tokens of a chain (`shares` explains `rows`, `cost` and `most`).
    """
    scores = sorted(tree.scores(), reverse=True)
    steps = [math.exp(score - before) for before, score in zip([0.0, *scores], scores, strict=False)]
    (count,) = shares([steps], [rows], cost, most)
    return tree.likeliest(count)


def accepted(tree: DraftTree, draw: Callable[[Sequence[int]], int]) -> tuple[list[int], int]:
    """Return the nodes whose tokens are drawn, and the token drawn after them, for which the tree has no node.

    `draw` draws the next token, given the nodes accepted so far, as it would be drawn without drafts. A child is
    accepted if its token equals the drawn token. The probability of that is the one that the model gives to the token,
    so children are accepted as often as in the paper.
    """
    nodes: list[int] = []
    while True:
        token = draw(nodes)
        child = tree.child(nodes[-1] if nodes else ROOT, token)
        if child is None:
            return nodes, token
        nodes.append(child)
