"""A tree of tokens that an engine computes in one pass, and the result of that pass. Independent of the model
runtime.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from models.engine import Engine, KVSlice, Logits
from shared.errors import EngineError


@dataclass(frozen=True, slots=True)
class TokenTree:
    """Tokens that may follow a sequence, as a tree: node 0 is the next token, and `parents[n]`, less than n, is the
    node before node n.

    `parents[0]` is -1. Raises EngineError for any other shape.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise EngineError unless the nodes form a tree."""
        is_tree = self.parents[:1] == (-1,) and all(0 <= parent < n for n, parent in enumerate(self.parents[1:], 1))
        if not is_tree or len(self.tokens) != len(self.parents):
            raise EngineError(f"{len(self.tokens)} tokens with the parents {self.parents} do not form a tree.")

    def depths(self) -> list[int]:
        """Return, for each node, the number of nodes before it on its path from node 0."""
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return depths

    def path(self, node: int) -> list[int]:
        """Return the nodes on the path from node 0 to the given node."""
        nodes = [node]
        while nodes[-1]:
            nodes.append(self.parents[nodes[-1]])
        return nodes[::-1]

    def chains(self) -> list[list[int]]:
        """Divide the tree into chains: a node is followed by its first child; every other child begins a chain.

        The first chain is the main path. The chains are in the order of their first nodes.
        """
        chains: list[list[int]] = []
        ending: dict[int, list[int]] = {}  # by its last node
        for node, parent in enumerate(self.parents):
            chain = ending.pop(parent, None)
            if chain is None:
                chain = []
                chains.append(chain)
            chain.append(node)
            ending[node] = chain
        return chains


@dataclass(frozen=True, slots=True)
class ComputedTree:
    """The logits after each node, and the attention states of each chain except the main path, by its first node."""

    logits: list[Logits]
    states: Mapping[int, KVSlice] = field(default_factory=dict)


class TreeEngine(Engine, Protocol):
    """An engine that computes a tree of tokens in one pass."""

    @property
    def branches(self) -> int:
        """The most chains of a tree in addition to its main path."""

    def verify_tree(self, sequence: int, tree: TokenTree) -> ComputedTree:
        """Compute a tree after the sequence, in one pass, and append its main path, the first chain, to the sequence.

        At most `EngineInfo.verifies` nodes, and `branches` chains in addition to the main path. To append one of these,
        roll the sequence back to the node before the chain and `join` its states. Raises ContextFull if the nodes do
        not fit; nothing has changed then.
        """
