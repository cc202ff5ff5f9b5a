"""A decoder that generates one answer in fewer passes, each over a draft tree; the caller still draws token by
token.
"""

from functools import partial
from typing import Protocol, Self

from models.decoder import Decoder
from models.engine import Logits
from models.speculative.answer_draft import LONGEST_DRAFT
from models.speculative.costs import PassCosts
from models.speculative.tree import ROOT, DraftTree, worthwhile
from models.token_tree import ComputedTree, TokenTree, TreeEngine
from shared.errors import ContextFull
from shared.trace import DraftCounts


class TreeDrafter(Protocol):
    """The interface of a drafter that proposes draft trees for one answer, one after the other."""

    def append(self, token: int) -> None:
        """Record the drawn token."""

    def tree(self, depth: int) -> DraftTree:
        """Return a tree of tokens that may follow the recorded tokens, in paths of at most `depth` tokens."""


class TreeDecoder:
    """A `Decoder` of one sequence that also computes a draft tree in the pass of a drawn token.

    Each token is drawn from `mixture` as without drafts, and costs no pass if it is a child of the last token's node.
    Use it as a context manager: leaving the block drops the nodes that were not drawn. With a tree of one branch it
    does the same as `DraftingDecoder`.
    """

    def __init__(
        self,
        decoder: Decoder,
        engine: TreeEngine,
        drafter: TreeDrafter,
        costs: PassCosts,
        most: int,
        counts: DraftCounts,
    ) -> None:
        """Create the decoder. The caller draws at most `most` tokens in all; each pass verifies as many nodes as pay by
        `costs`; drafted and accepted tokens are added to `counts`.
        """
        (self._row,) = decoder.sequences
        self.mixture = decoder.mixture
        self._decoder, self._engine, self._drafter, self._costs = decoder, engine, drafter, costs
        self._left, self._counts = most, counts
        self._tree, self._whole, self._computed = DraftTree(), TokenTree((0,), (-1,)), ComputedTree([])
        self._node = ROOT  # of the tree: the node of the last drawn token
        self._position = decoder.position  # in the answer: the number of tokens that are drawn and computed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()

    def append(self, token: int) -> Logits:
        """Append the drawn token; return the log probabilities of the token after it. On ContextFull, the answer has
        not changed, but its draft is dropped.
        """
        self._drafter.append(token)
        child = self._tree.child(self._node, token)
        if child is None:
            self._drop()
            self._compute(token)
        else:
            self._descend(child)
            self._counts.accepted += 1
        self._position += 1
        self._left -= 1
        return self.mixture

    def end(self, token: int) -> None:
        """Record the drawn token that ends the answer, which is not computed, and drop the rest of the tree."""
        self._drafter.append(token)
        self._drop()

    def _compute(self, token: int) -> None:
        cost = partial(self._costs.ratio, context=self._engine.length(self._row))
        left = self._left - 2  # the answer's last token is drawn, but never computed
        tree = self._drafter.tree(min(left, LONGEST_DRAFT))
        tree = worthwhile(tree, 1, cost, self._engine.info.verifies)
        while len(tree.behind(token).chains()) > 1 + self._engine.branches:
            tree = tree.likeliest(len(tree) - 1)
        try:
            self._verify(tree, token) if len(tree) else self._decoder.append(token)
        except ContextFull:  # perhaps the token alone fits
            tree = DraftTree()
            self._decoder.append(token)
        if not len(tree):
            self.mixture = self._decoder.mixture
        self._counts.passes += 1
        self._counts.drafted += len(tree)
        self._counts.cost += cost(1 + len(tree))

    def _verify(self, tree: DraftTree, token: int) -> None:
        whole = tree.behind(token)
        computed = self._engine.verify_tree(self._row, whole)
        self._tree, self._whole, self._computed, self._node = tree, whole, computed, ROOT
        self._take(whole.chains()[0])
        self.mixture = computed.logits[0]

    def _descend(self, child: int) -> None:
        """Move to the given child node, whose token was drawn. If the child is not on the chain of the tree whose
        tokens are in the answer's sequence, the tokens of the child's chain replace them.
        """
        node = child + 1  # the drawn token is node 0 of the computed tree
        if node in self._computed.states:
            self._decoder.cut(self._position)
            self._engine.join(self._row, [self._computed.states[node]])
            self._take(next(chain for chain in self._whole.chains() if chain[0] == node))
        self._node, self.mixture = child, self._computed.logits[node]

    def _take(self, chain: list[int]) -> None:
        self._decoder.take_all({self._row: [self._computed.logits[node] for node in chain]})

    def _drop(self) -> None:
        """Drop the computed nodes that are not drawn yet."""
        self._tree, self._computed, self._node = DraftTree(), ComputedTree([]), ROOT
        if self._decoder.position > self._position:
            self._decoder.cut(self._position)
