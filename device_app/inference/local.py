"""Tokens from the model on this device, from one row or from several rows mixed.

A row is one sequence of the engine: system, passage(s), question. With several rows, each holding one passage, the
next token is drawn from the mixture of their distributions, weighted by relevance (DRAGON, eq. 2, on one side). In one
row of several passages, states that were kept elsewhere may be moved and their beginnings computed again (CacheBlend,
EPIC).
"""

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from device_app.cache.states.tree import Node, QKVTree
from device_app.inference.abstaining import Judged, judge
from device_app.inference.sureness import Sureness
from models.decoder import Decoder, log_probability
from models.engine import Engine, KVSlice, Logits
from models.sampling import SamplingSettings, likeliest, sample
from shared.aggregation.weights import row_weights
from shared.ending import Piece, spelled
from shared.prompt import NOT_FOUND, ChatTemplate, Prompt, Segment
from shared.trace import Trace

Reuse = Literal["exact", "blended"]

RECOMPUTED = 0.4
"""Share of a moved passage that is computed again, from its first token on. With less, F1 was .10 to .11 on
lihuaworld and .10 to .13 on qmsum, with this .14 and .12; of exact answers .18 (`scripts/bench reuse`)."""

ROW_COST = 50.0
"""Decoding an answer in one more row takes about as long as prefilling so many tokens (`scripts/bench reuse`)."""


def forecast(prefilled: int, rows: int) -> float:
    """What an answer takes besides its decode in one row, in tokens prefilled."""
    return prefilled + ROW_COST * (rows - 1)


@dataclass(frozen=True, slots=True)
class LocalSource:
    """The engine of this device as a source of tokens. One stream at a time.

    With `reuse` blended, answers are drawn from states that were kept elsewhere too; what is made ahead never is.
    """

    engine: Engine
    template: ChatTemplate
    reuse: Reuse = "exact"
    recomputed: float = RECOMPUTED

    def count(self, prompt: Prompt) -> int:
        """Tokens that answering the prompt prefills; what rows share counts once."""
        parts = (prompt.head, *(part for passage in prompt.passages or ((),) for part in (passage, prompt.tail)))
        return sum(len(self._tokens(part)) for part in parts)

    def room(self, prompt: Prompt) -> int:
        """Tokens of an answer that fit the engine in each row of the prompt; not above 0 where the prompt does not."""
        rows = max(len(prompt.passages), 1)
        info = self.engine.info
        return (info.context - self.count(prompt)) // rows if rows <= info.sequences else 0

    def stream(
        self,
        prompt: Prompt,
        sampling: SamplingSettings,
        *,
        max_tokens: int,
        similarities: Sequence[float] = (1.0,),
        relevance: float | None = None,
        trace: Trace | None = None,
        tree: QKVTree | None = None,
        sureness: Sureness | None = None,
    ) -> Generator[Piece, None, None]:
        """Answer the prompt, one row for each of its passages (`Prompt.joined()` makes that one row).

        `similarities` weigh the rows, one for each. `relevance` is how likely the best passage is relevant: with it, a
        model that was taught to abstain does so from its threshold on; without, where that is what it would write; and
        never where there are no passages. `sureness` is told how likely the answer was.
        What the `tree` keeps of the prompt is joined, not computed. Raises ContextFull when the rows do not fit the
        engine. Close it where it is not read to its end: the trace has its steps then.
        """
        trace = trace or Trace()
        with trace.step("prefill"):
            rows = self._prefill(prompt, trace, tree, self.reuse)
        threshold = self._threshold(prompt, relevance)
        weights = row_weights(similarities)
        drawn = self._decode(rows, weights, sampling, max_tokens, trace, threshold=threshold, sureness=sureness)
        with closing(drawn):
            yield from spelled(drawn, self.engine.detokenize, max_tokens)

    def decoder(
        self, prompt: Prompt, similarities: Sequence[float], *, ahead: int, trace: Trace, tree: QKVTree | None
    ) -> Decoder:
        """Where `stream` would begin to draw: the prompt is prefilled, for whoever draws, and rolls back, himself.

        The decoder keeps the last `ahead` mixtures. Raises ContextFull.
        """
        with trace.step("prefill"):
            rows = self._prefill(prompt, trace, tree, self.reuse)
        return Decoder(self.engine, dict(enumerate(rows)), row_weights(similarities), ahead=ahead)

    def alternatives(
        self,
        prompt: Prompt,
        beginnings: Sequence[str],
        count: int,
        *,
        max_tokens: int,
        trace: Trace,
        tree: QKVTree | None = None,
    ) -> list[str]:
        """Answers in one row: behind each beginning, and each of the `count` likeliest next tokens, the likeliest text.

        What does not end within `max_tokens`, its beginning counted, is left out. Raises ContextFull.
        """
        with trace.step("prefill"):
            (logits,) = self._prefill(prompt.joined(), trace, tree)
        found = []
        with trace.step("decode"):
            decoder = Decoder(self.engine, {0: logits}, row_weights((1.0,)))
            for beginning in beginnings:
                begun = self.engine.tokenize(beginning)
                if len(begun) >= max_tokens:
                    continue
                decoder.cut(0)
                trace.tokens_prefilled += len(begun)
                for token in self._unlike(decoder.read(begun) if begun else logits, count):
                    decoder.cut(len(begun))
                    drawn = [*begun, *self._drawn(decoder, token, max_tokens - len(begun), trace)]
                    if self.engine.is_end(drawn[-1]):
                        found.append(self.engine.detokenize(drawn).decode("utf-8", "replace"))
        return found

    def _unlike(self, logits: Logits, count: int) -> list[int]:
        """The likeliest tokens; of those that are alike but for spaces and the case of letters, the likeliest."""
        found: dict[bytes, int] = {}
        for token in likeliest(logits, 2 * count):
            if not self.engine.is_end(token):
                found.setdefault(self.engine.detokenize([token]).strip().lower(), token)
        return list(found.values())[:count]

    def _drawn(self, decoder: Decoder, token: int, most: int, trace: Trace) -> Iterator[int]:
        """The token, and the likeliest behind it, the end too; at most so many."""
        yield token
        for _ in range(most - 1):
            trace.tokens_decoded += 1
            token = sample(decoder.append(token), SamplingSettings())
            yield token
            if self.engine.is_end(token):
                return

    def go_on(
        self, prompt: Prompt, accepted: Sequence[int], sampling: SamplingSettings, *, max_tokens: int, trace: Trace
    ) -> Generator[int, None, None]:
        """The token ids of an answer, in one row, behind those `accepted` that are written already.

        What the engine still holds of the prompt and of them is not computed again. `max_tokens` counts them.
        """
        with trace.step("prefill"):
            logits = self._behind(prompt, accepted, trace)
        yield from self._decode([logits], row_weights((1.0,)), sampling, max_tokens, trace, accepted)

    def _decode(
        self,
        rows: list[Logits],
        weights: Logits,
        sampling: SamplingSettings,
        max_tokens: int,
        trace: Trace,
        accepted: Sequence[int] = (),
        threshold: float | None = None,
        sureness: Sureness | None = None,
    ) -> Generator[int, None, None]:
        drawn = list(accepted)
        with trace.step("decode"):
            judged = self._judged(rows, weights, max_tokens, threshold, sureness)
            if judged.abstains:
                trace.tokens_decoded = len(judged.tokens)
                trace.first_token()
                yield from judged.tokens
                return
            decoder = Decoder(self.engine, dict(enumerate(rows)), weights, written=len(drawn))
            if sureness:
                yes, no = (self.engine.tokenize(word)[0] for word in ("Yes", "No"))
                sureness.yes_margin = float(decoder.mixture[yes] - decoder.mixture[no])
            while len(drawn) < max_tokens:
                token = sample(judged.given_an_answer(decoder.mixture, drawn), sampling, drawn)
                if sureness:
                    sureness.least = min(sureness.least, log_probability(decoder.mixture, token))
                if self.engine.is_end(token):
                    break
                drawn.append(token)
                trace.tokens_decoded = len(drawn) - len(accepted)
                trace.first_token()
                yield token
                if len(drawn) < max_tokens:
                    decoder.append(token)

    def _threshold(self, prompt: Prompt, relevance: float | None) -> float | None:
        """The log odds from which on it abstains: never, where there are no passages; None where nobody judges."""
        abstention = self.engine.info.abstention
        if abstention is None:
            return None
        if not prompt.passages:
            return math.inf
        return None if relevance is None else abstention.at(relevance)

    def _judged(
        self,
        rows: list[Logits],
        weights: Logits,
        max_tokens: int,
        threshold: float | None,
        sureness: Sureness | None,
    ) -> Judged:
        """Whether to abstain behind the prompt; no, where nobody judges, or there is no room to say so."""
        tokens = self.engine.tokenize(NOT_FOUND) if threshold is not None else []
        if threshold is None or max_tokens < len(tokens):
            return Judged(False)
        decoder = Decoder(self.engine, dict(enumerate(rows)), weights, ahead=len(tokens))
        return judge(decoder, tokens, threshold, sureness)

    def prefill(self, prompt: Prompt, tree: QKVTree, trace: Trace | None = None) -> Trace:
        """Compute what the tree lacks of the prompt and keep it, without answering. Raises as `stream` and `keep`."""
        trace = trace or Trace()
        with trace.step("prefill"):
            self._prefill(prompt, trace, tree)
        self.keep(prompt, tree)
        return trace

    def missing(self, prompt: Prompt, tree: QKVTree) -> int:
        """Bytes of the prompt's states that the tree lacks."""
        return self._lacking(prompt, tree) * self.engine.info.kv_bytes_per_token

    def cost(self, prompt: Prompt, tree: QKVTree) -> float:
        """What answering the prompt takes, forecast, in tokens prefilled."""
        rows = len(prompt.passages)
        return forecast(self._lacking(prompt, tree) + rows * len(self._tokens(prompt.tail)), rows)

    def keep(self, prompt: Prompt, tree: QKVTree) -> None:
        """Keep the states of the prompt that was answered last. Raises StoreFull, NotWritable."""
        for row, path in enumerate(self._paths(prompt)):
            tree.keep(self.engine, row, path)

    def _prefill(self, prompt: Prompt, trace: Trace, tree: QKVTree | None, reuse: Reuse = "exact") -> list[Logits]:
        for sequence in range(self.engine.info.sequences):
            self.engine.clear(sequence)
        paths, tail = self._paths(prompt), self._tokens(prompt.tail)
        trace.tokens_prefilled += len(paths) * len(tail)
        if len(paths) == 1:
            blend = tree if reuse == "blended" and self.engine.info.movable else None
            rest = self._blend(paths[0], trace, blend) if blend else self._join(0, paths[0], 0, trace, tree)
            return [self.engine.prefill(0, [*rest, *tail])]
        # What the rows share is computed once.
        if head := self._join(0, paths[0][:1], 0, trace, tree):
            self.engine.prefill(0, head)
        apart = self._apart(paths, trace, tree) if self.engine.info.sliceable else []
        for row in range(1, len(paths)):
            self.engine.fork(0, row)
        rows = []
        for row, path in enumerate(paths):
            if apart:
                self.engine.join(row, [apart[row]])
                rows.append(self.engine.prefill(row, tail))
            else:
                rows.append(self.engine.prefill(row, [*self._join(row, path, 1, trace, tree), *tail]))
        return rows

    def _behind(self, prompt: Prompt, accepted: Sequence[int], trace: Trace) -> Logits:
        """The logits behind all of it, in row 0; as much of it as stands there already is not computed."""
        tokens = [token for part in (prompt.head, *prompt.passages, prompt.tail) for token in self._tokens(part)]
        tokens += accepted
        held = 0
        for ours, theirs in zip(tokens[:-1], self.engine.tokens(0), strict=False):
            if ours != theirs:
                break
            held += 1
        self.engine.rollback(0, self.engine.length(0) - held)
        for row in range(1, self.engine.info.sequences):
            self.engine.clear(row)
        trace.tokens_prefilled += len(tokens) - held
        return self.engine.prefill(0, tokens[held:])

    def _apart(self, paths: Sequence[Sequence[Node]], trace: Trace, tree: QKVTree | None) -> list[KVSlice]:
        """The states of each path behind the head, which row 0 holds alone, then and afterwards.

        Each is computed as if it were the only row: f16 sums round by the cell they lie in, and only so are the states
        those that a prompt of one row, or another row, keeps and joins.
        """
        border = self.engine.length(0)
        states = []
        for path in paths:
            if rest := self._join(0, path, 1, trace, tree):
                self.engine.prefill(0, rest)
            states.append(self.engine.slice(0, border, self.engine.length(0)))
            self.engine.rollback(0, self.engine.length(0) - border)
        return states

    def _join(self, row: int, path: Sequence[Node], held: int, trace: Trace, tree: QKVTree | None) -> list[int]:
        """Join what the tree keeps of the path behind the nodes held; the tokens that are left to compute."""
        reached = self._extend(row, path, held, trace, tree)
        rest = [token for node in path[reached:] for token in node.tokens]
        trace.tokens_prefilled += len(rest)
        return rest

    def _blend(self, path: Sequence[Node], trace: Trace, tree: QKVTree) -> list[int]:
        """As `_join`, into row 0; what is kept elsewhere is moved behind its own first tokens, computed anew."""
        reached = self._extend(0, path, 0, trace, tree)
        moved = tree.elsewhere(self.engine.info.kv_key, path, reached)
        rest: list[int] = []
        for place, node in enumerate(path[reached:], reached):
            skip = math.ceil(self.recomputed * len(node.tokens))
            # Until its first tokens are left out, the whole passage takes room behind them.
            taken = self.engine.length(0) + len(rest) + skip + len(node.tokens)
            if place not in moved or skip == len(node.tokens) or taken > self.engine.info.context:
                rest += node.tokens
                continue
            if rest := [*rest, *node.tokens[:skip]]:
                self.engine.prefill(0, rest)
            trace.tokens_prefilled += len(rest)
            if tree.move(self.engine, 0, moved[place], node, skip):
                trace.segments_moved += 1
                trace.tokens_moved += len(node.tokens) - skip
                trace.tokens_recomputed += skip
                rest = []
            else:
                rest = list(node.tokens[skip:])
        trace.tokens_prefilled += len(rest)
        return rest

    def _extend(self, row: int, path: Sequence[Node], held: int, trace: Trace, tree: QKVTree | None) -> int:
        """Join what the tree keeps of the path behind the nodes held; how many are held then."""
        reached = tree.extend(self.engine, row, path, held) if tree else held
        trace.segments_cached += reached - held
        trace.tokens_cached += sum(len(node.tokens) for node in path[held:reached])
        return reached

    def _lacking(self, prompt: Prompt, tree: QKVTree) -> int:
        """Tokens of the prompt, before its question, whose states the tree lacks."""
        key = self.engine.info.kv_key
        lacking = {name: len(node.tokens) for path in self._paths(prompt) for name, node in tree.lacking(key, path)}
        return sum(lacking.values())

    def _paths(self, prompt: Prompt) -> list[list[Node]]:
        """Each row's nodes: the head, then a node a passage."""
        head = Node(prompt.head, self._tokens(prompt.head))
        return [
            [head, *(Node((segment,), self._tokens((segment,))) for segment in passages)]
            for passages in prompt.passages or ((),)
        ]

    def _tokens(self, segments: Sequence[Segment]) -> list[int]:
        return [token for segment in segments for token in self.engine.tokenize(segment.text, special=segment.special)]
