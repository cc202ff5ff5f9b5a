"""Drafts trees by prompt lookup: the continuations of several earlier occurrences of the last tokens, merged. No
I/O.
"""

import math
from collections.abc import Sequence
from typing import Final

from models.speculative.choice import Acceptance
from models.speculative.lookup import Lookup
from models.speculative.tree import ROOT, DraftTree

MOST_CONTINUATIONS: Final = 4
"""The most continuations in a tree: more of them would hardly ever be right."""


class LookupTree:
    """Drafts trees for one answer, and counts with each drawn token which of their nodes were right.

    `first` is the acceptance of nodes that are their parent's first child, as all nodes of a chain are; `later` is that
    of other children, given that their earlier siblings are wrong.
    """

    def __init__(
        self,
        texts: Sequence[Sequence[int]],
        first: Acceptance,
        later: Acceptance,
        continuations: int = MOST_CONTINUATIONS,
    ) -> None:
        """Copy the texts, which are lists of token ids; the answer continues the last text. A tree has at most
        `continuations` continuations.
        """
        self._most = continuations
        self._lookup, self._first, self._later = Lookup(texts), first, later
        self._tree, self._matched = DraftTree(), list[int]()  # for each node, the tokens that matched before it
        self._place: int | None = None  # the node of the last drawn token, or ROOT; None if it has no node

    def append(self, token: int) -> None:
        """Record the drawn token."""
        if self._place is not None:
            self._learn(self._place, token)
            self._place = self._tree.child(self._place, token)
        self._lookup.append(token)

    def tree(self, depth: int) -> DraftTree:
        """Return continuations of at most `depth` tokens as a tree.

        A later sibling can be right only if those before it are wrong; its log probability takes that into account.
        """
        tokens, parents, log_probabilities, matched = list[int](), list[int](), list[float](), list[int]()
        nodes: dict[tuple[int, int], int] = {}  # by parent and token
        left: dict[int, float] = {}  # for each parent, the probability that none of its children is right
        for draft in self._lookup.drafts(depth, self._most):
            parent = ROOT
            for length, token in enumerate(draft.tokens, draft.matched):
                if (parent, token) not in nodes:
                    acceptance = self._later if parent in left else self._first
                    chance = left.get(parent, 1.0) * acceptance.chance(length)
                    left[parent] = left.get(parent, 1.0) - chance
                    nodes[parent, token] = len(tokens)
                    tokens.append(token)
                    parents.append(parent)
                    matched.append(length)
                    log_probabilities.append(math.log(chance) if chance > 0 else -math.inf)
                parent = nodes[parent, token]
        self._tree = DraftTree(tuple(tokens), tuple(parents), tuple(log_probabilities))
        self._matched, self._place = matched, ROOT
        return self._tree

    def _learn(self, parent: int, token: int) -> None:
        """Count the children of the last token's node as right or wrong, up to the first child that is right."""
        acceptance = self._first
        for node, (own_parent, own_token) in enumerate(zip(self._tree.parents, self._tree.tokens, strict=True)):
            if own_parent == parent:
                acceptance.learn(self._matched[node], is_accepted=own_token == token)
                acceptance = self._later
                if own_token == token:
                    return


def later_siblings() -> Acceptance:
    """Return the acceptance of later siblings that is assumed before any are counted: about what was measured with the
    default model.
    """
    return Acceptance((0.13, 0.18, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3))
