"""An engine that runs llama.cpp and computes a tree of drafted tokens in one pass (Dovetail, section 3.1).

llama.cpp masks attention by sequence: a token attends to the cells that share a sequence with it. So each chain of a
tree is a sequence of its own, a node belongs to the sequences of all chains that go through it, and the prefix is
shared, not copied.
"""

from collections.abc import Sequence

from models import kv
from models.engine import KVSlice
from models.llama_cpp import LlamaCppEngine
from models.llama_state import covers, planes
from models.token_tree import ComputedTree, TokenTree
from shared.errors import EngineError


class LlamaTreeEngine(LlamaCppEngine):
    """A GGUF model in llama.cpp that computes trees of tokens (`models.token_tree.TreeEngine`); `branches` more
    sequences hold a tree's chains.

    With q8_0 states, all logits equal, to the bit, those of reading each path token by token: the logits of the nodes,
    and of tokens that follow an appended chain. To achieve this, the main path is placed directly after the sequence,
    and the cells of the other chains are freed after the pass.
    """

    @property
    def branches(self) -> int:
        return self._branches if self.info.sliceable else 0

    def verify_tree(self, sequence: int, tree: TokenTree) -> ComputedTree:
        start = self._whole(sequence)
        ids, chains, depths = self._model.ids(tree.tokens), tree.chains(), tree.depths()
        if ids.size > self.info.verifies or len(chains) > 1 + self.branches:
            raise EngineError(
                f"{ids.size} tokens in {len(chains)} chains cannot be verified at once: at most "
                f"{self.info.verifies} tokens in {1 + self.branches} chains."
            )
        self._require(start + max(depths) + 1)
        self._cells.require(ids.size)
        first = self._context.scratch + 1
        owners = [sequence, *range(first, first + len(chains) - 1)]
        with self._appending(*owners):
            # Sequences that share a token have to hold the same positions, or llama.cpp refuses the pass.
            for branch in owners[1:]:
                self._context.remove(branch)
                self._context.copy(sequence, branch)
            order = [node for chain in chains for node in chain]
            owned: list[list[int]] = [[] for _ in order]
            for owner, chain in zip(owners, chains, strict=True):
                for node in tree.path(chain[-1]):
                    owned[node].append(owner)
            self._context.compute_shared(
                ids[order], [start + depths[node] for node in order], [owned[node] for node in order]
            )
            rows = {node: self._context.logits(row) for row, node in enumerate(order)}
            held = self._cells.tokens(sequence)
            states = {
                chain[0]: self._states(branch, held, tree, chain)
                for branch, chain in zip(owners[1:], chains[1:], strict=True)
            }
            self._cells.append(sequence, [tree.tokens[node] for node in chains[0]])
        self.computed += ids.size
        return ComputedTree([rows[node] for node in range(ids.size)], states)

    def _states(self, branch: int, held: Sequence[int], tree: TokenTree, chain: Sequence[int]) -> KVSlice:
        """Return the attention states of a chain and empty its sequence, `branch`; the tree follows `held` tokens."""
        tokens = [*held, *(tree.tokens[node] for node in tree.path(chain[-1]))]
        start, stop = len(tokens) - len(chain), len(tokens)
        self._context.remove(branch, 0, start)
        data = self._context.state(branch)
        self._context.remove(branch)
        if data is None or not covers(data, start, stop):
            raise EngineError("llama.cpp did not give the attention state.")
        return kv.cut(self.info.kv_key, tokens, start, stop, data.tobytes(), planes(data, len(chain)))
