"""Prefills a prompt: copies the attention states cached in the QKV tree, and computes the others.

To join states means to copy them from the cache into a row, behind the states that the row holds already. Tokens shared
by several rows are computed once. A row is one sequence of the engine: system, passage(s), question.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from device_app.cache.states.tree import Node, QKVTree
from models.engine import Engine, KVSlice, Logits
from shared.prompt import Prompt, Segment
from shared.trace import Trace


@dataclass(slots=True)
class Beginning:
    """The beginning of a prompt that the engine's row 0 holds, so that a prompt can continue it without computing it.

    It has a length in tokens, and the logits at its end if they are known. Any other use of row 0 discards it.
    """

    tokens: int = 0
    logits: Logits | None = None

    def take(self) -> "Beginning":
        """Return the held beginning of a prompt and forget it here, as only one prompt can continue it."""
        taken = replace(self)
        self.tokens, self.logits = 0, None
        return taken


@dataclass(frozen=True, slots=True)
class Prefilling:
    """The engine of this device, with methods that prefill prompts into its rows (sequences).

    `beginning` is the part of a prompt that is in row 0 already.
    """

    engine: Engine
    beginning: Beginning = field(default_factory=Beginning, kw_only=True)

    def tokens(self, segments: Sequence[Segment]) -> list[int]:
        """Return the token ids of the segments."""
        return [token for segment in segments for token in self.engine.tokenize(segment.text, special=segment.special)]

    def count(self, prompt: Prompt) -> int:
        """Return the number of tokens to prefill for the prompt; tokens shared by rows count once."""
        parts = (prompt.head, *(part for passage in prompt.passages or ((),) for part in (passage, prompt.tail)))
        return sum(len(self.tokens(part)) for part in parts)

    def room(self, prompt: Prompt) -> int:
        """Return how many answer tokens fit into each row (engine sequence) beside the prompt; 0 or less if the prompt
        does not fit.
        """
        rows = max(len(prompt.passages), 1)
        info = self.engine.info
        return (info.context - self.count(prompt)) // rows if rows <= info.sequences else 0

    def most(self, prompt: Prompt, max_tokens: int) -> int:
        """Return how many tokens an answer to the prompt may have: at most `max_tokens`, and no more than fit beside
        the prompt, but at least one.
        """
        return max(min(max_tokens, self.room(prompt)), 1)

    def paths(self, prompt: Prompt) -> list[list[Node]]:
        """Return each row's path in the tree of cached states: a node for the common beginning of all rows (the head),
        then one per passage.
        """
        head = Node(prompt.head, self.tokens(prompt.head))
        return [
            [head, *(Node((segment,), self.tokens((segment,))) for segment in passages)]
            for passages in prompt.passages or ((),)
        ]

    def uncached(self, prompt: Prompt, tree: QKVTree) -> int:
        """Return the number of prompt tokens before the question whose attention states are not cached in the tree."""
        key = self.engine.info.kv_key
        by_name = {name: len(node.tokens) for path in self.paths(prompt) for name, node in tree.missing(key, path)}
        return sum(by_name.values())

    def prefilled(self, prompt: Prompt, trace: Trace, tree: QKVTree | None) -> list[Logits]:
        """Prefill the prompt, and return each row's logits at its end. Raises ContextFull.

        Attention states cached in the `tree` are copied; without a tree, all are computed.
        """
        nodes, tail = self.paths(prompt), self.tokens(prompt.tail)
        whole = [*(token for node in nodes[0] for token in node.tokens), *tail]
        start = self.beginning.take()
        held = self._held(start, nodes[0], whole, tree) if start.tokens and len(nodes) == 1 else 0
        for sequence in range(1 if held else 0, self.engine.info.sequences):
            self.engine.clear(sequence)
        if held:
            return [self._continued(start, nodes[0], whole, held, trace)]
        trace.tokens_prefilled += len(nodes) * len(tail)
        if len(nodes) == 1:
            return [self.engine.prefill(0, [*self._join(0, nodes[0], 0, trace, tree), *tail])]
        if not self.engine.info.verdict.serves_rows:
            tree = None
        # Compute the tokens shared by all rows once.
        if head := self._join(0, nodes[0][:1], 0, trace, tree):
            self.engine.prefill(0, head)
        states = self._computed_alone(nodes, trace, tree) if self.engine.info.sliceable else []
        for row in range(1, len(nodes)):
            self.engine.fork(0, row)
        rows = []
        for row, path in enumerate(nodes):
            if states:
                self.engine.join(row, [states[row]])
                rows.append(self.engine.prefill(row, tail))
            else:
                rows.append(self.engine.prefill(row, [*self._join(row, path, 1, trace, tree), *tail]))
        return rows

    @property
    def computes_ahead(self) -> bool:
        """Whether attention states of passages may be computed before the rest of the prompt, as they are exact in any
        row.
        """
        return self.engine.info.sliceable and self.engine.info.verdict.serves_rows

    def computed_ahead(self, prompt: Prompt, trace: Trace, tree: QKVTree) -> QKVTree:
        """Compute the attention states of the prompt's passages that are not cached; return the tree with them in
        memory.

        Any prompt with a row that begins with the same passages can then reuse the states. Requires `computes_ahead`.
        Raises ContextFull.
        """
        for passages, path in zip(prompt.passages or ((),), self.paths(prompt), strict=True):
            if missing := tree.missing(self.engine.info.kv_key, path):
                ahead = Trace()  # what is joined is counted where the prompt is read
                self.prefilled(Prompt(prompt.head, (passages,), ()), ahead, tree)
                trace.tokens_prefilled += ahead.tokens_prefilled
                lacked = sum(len(node.tokens) for _, node in missing)
                trace.tokens_cached += max(lacked - ahead.tokens_prefilled, 0)  # what row 0 held of them
                trace.joined |= ahead.joined
                tree = tree.with_computed(self.engine, 0, path)
        return tree

    def begin(self, prompt: Prompt, trace: Trace, tree: QKVTree) -> None:
        """Prefill the beginning of a prompt of one row. The next prompt continues from it, even if this call
        was interrupted. Raises ContextFull.
        """
        logits: Logits | None = None
        try:
            (logits,) = self.prefilled(prompt, trace, tree)
        finally:
            self.beginning.tokens = self.engine.length(0)
            self.beginning.logits = None if logits is None else logits.copy()

    def _held(self, start: Beginning, path: Sequence[Node], whole: Sequence[int], tree: QKVTree | None) -> int:
        """Return how many of the prompt's tokens are reused from row 0; 0 if the tree has at least as many."""
        in_row = self.engine.tokens(0)[: start.tokens]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(in_row, whole, strict=False)))
        if start.logits is None or not same == len(whole) == self.engine.length(0):
            same = min(same, len(whole) - 1)  # the last token is computed for its logits
        verdict = self.engine.info.verdict
        if not verdict.trusts("passes") or not (verdict.trusts("rollback") or same == self.engine.length(0)):
            return 0
        missing = [node for _, node in tree.missing(self.engine.info.kv_key, path)] if tree else path
        kept = sum(len(node.tokens) for node in takewhile(lambda node: node not in missing, path))
        return same if same > kept else 0

    def _continued(
        self, start: Beginning, path: Sequence[Node], whole: Sequence[int], held: int, trace: Trace
    ) -> Logits:
        """Prefill the rest of a prompt of which row 0 holds the first `held` tokens; return the logits at its end."""
        self.engine.rollback(0, self.engine.length(0) - held)
        place = 0
        for node in path:
            if place < held:
                trace.joined.update(segment.passage for segment in node.segments if segment.passage is not None)
            place += len(node.tokens)
            trace.segments_cached += place <= held
        trace.tokens_cached += held
        trace.tokens_prefilled += len(whole) - held
        rest = whole[held:]
        return start.logits if start.logits is not None and not rest else self.engine.prefill(0, rest)

    def prefilled_behind(self, prompt: Prompt, accepted: Sequence[int], trace: Trace) -> Logits:
        """Return row 0's logits after the prompt and the accepted answer tokens; tokens in the row are reused."""
        whole = [token for part in (prompt.head, *prompt.passages, prompt.tail) for token in self.tokens(part)]
        whole += accepted
        self.beginning.take()
        same = 0
        for ours, theirs in zip(whole[:-1], self.engine.tokens(0), strict=False):
            if ours != theirs:
                break
            same += 1
        self.engine.rollback(0, self.engine.length(0) - same)
        for row in range(1, self.engine.info.sequences):
            self.engine.clear(row)
        trace.tokens_prefilled += len(whole) - same
        if accepted and same == len(whole) - 1:  # decoded again, as it was when it was drawn
            return self.engine.decode({0: whole[-1]})[0]
        return self.engine.prefill(0, whole[same:])

    def extend(self, row: int, path: Sequence[Node], start: int, trace: Trace, tree: QKVTree | None) -> int:
        """Copy the cached states of a path (the row's parts, in order) into the row, from index `start` up to the first
        part that is not cached.

        Return how many parts of the path the row then holds.
        """
        reached = tree.extend(self.engine, row, path, start) if tree else start
        kept = tree.not_computed(self.engine.info.kv_key, path[:reached], start) if tree else []
        trace.segments_cached += len(kept)
        trace.tokens_cached += sum(len(node.tokens) for node in kept)
        passages = (segment.passage for node in kept for segment in node.segments)
        trace.joined.update(passage for passage in passages if passage is not None)
        return reached

    def _join(self, row: int, path: Sequence[Node], start: int, trace: Trace, tree: QKVTree | None) -> list[int]:
        """Copy the cached states of a path into the row, as `extend` does; return the tokens that are still to be
        computed.
        """
        reached = self.extend(row, path, start, trace, tree)
        rest = [token for node in path[reached:] for token in node.tokens]
        trace.tokens_prefilled += len(rest)
        return rest

    def _computed_alone(self, nodes: Sequence[Sequence[Node]], trace: Trace, tree: QKVTree | None) -> list[KVSlice]:
        """Return the attention states of each row's passages, one slice a row, in order; cached ones are copied first.

        They are computed in row 0, which holds only the head (the common beginning) before and after. So each row's
        passages stand in the memory cells right behind the head, as in a prompt of one row. As f16 sums are rounded
        differently in other cells, only states computed in those cells equal the ones cached from other prompts and
        rows.
        """
        border = self.engine.length(0)
        states = []
        for path in nodes:
            if rest := self._join(0, path, 1, trace, tree):
                self.engine.prefill(0, rest)
            states.append(self.engine.slice(0, border, self.engine.length(0)))
            self.engine.rollback(0, self.engine.length(0) - border)
        return states
