"""Draws tokens from the model on this device, from one row or from a mixture of several rows.

A row is one sequence of the engine: system, passage(s), question. With several rows, each holding one passage, the next
token is drawn from the mixture of their distributions, weighted by relevance (equation 2 of the paper on DRAGON, here
with this device's rows alone, without a server).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from device_app.cache.states.tree import QKVTree
from device_app.inference.decoding import abstention_threshold, decoded
from device_app.inference.prefilling import Prefilling
from device_app.inference.sureness import Sureness
from models.decoder import Decoder, LogWeights
from models.engine import Engine, Logits
from models.following_weights import FollowingWeights
from models.sampling import SamplingSettings, likeliest, sample
from models.speculative.drafting import Drafting
from shared.aggregation.weights import row_weights
from shared.ending import Piece, spelled
from shared.prompt import ChatTemplate, Prompt
from shared.trace import Trace

ROW_COST = 50.0
"""The cost of decoding each further row (engine sequence) of an answer, as the number of prompt tokens whose prefill
takes the same time (`scripts/bench reuse`).
"""


def forecast(prefilled: int, rows: int) -> float:
    """Return the time that an answer takes, in units of the time to prefill one prompt token.

    `prefilled` is the number of tokens to prefill, `rows` the number of rows (engine sequences) that are decoded
    together. Decoding the first row is not counted, as every answer takes it.
    """
    return prefilled + ROW_COST * (rows - 1)


@dataclass(frozen=True, slots=True)
class LocalSource(Prefilling):
    """The engine of this device as a source of answer tokens, for one answer at a time.

    `drafting` decides whether tokens are drafted (speculative decoding). `finish_checks` runs the exactness checks that
    were postponed until the device is idle (`models.exact_loading.finish`); None if there are none.
    """

    template: ChatTemplate
    drafting: Drafting = field(default_factory=Drafting)
    finish_checks: Callable[[Engine], None] | None = None

    def close(self) -> None:
        """Free the model and the draft model."""
        self.drafting.close()
        self.engine.close()

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
        following: FollowingWeights | None = None,
    ) -> Generator[Piece, None, None]:
        """Answer the prompt, with one row (engine sequence) for each passage; `Prompt.joined()` makes a single row of
        them.

        The answer has at most `max_tokens` tokens, and no more than fit beside the prompt. `similarities` weigh the
        rows, unless `following` computes the weights from the text written so far. `relevance` is the probability that
        the best passage is relevant: with it, a model trained to abstain does so from its threshold on; without it,
        only by writing the abstention itself. It never abstains without passages. `sureness` receives the answer's
        probability. Attention states of the prompt that are cached in the `tree` are copied, not computed. `trace`
        receives the time of each step.

        Raises ContextFull if the rows do not fit the engine. A caller that stops before the end has to close the
        generator, so that the trace is complete.
        """
        trace, most = trace or Trace(), self.most(prompt, max_tokens)
        with trace.step("prefill"):
            rows = self.prefilled(prompt, trace, tree)
        drawn = decoded(
            self.engine,
            self.drafting,
            rows,
            row_weights(similarities),
            sampling,
            most,
            trace,
            threshold=abstention_threshold(self.engine.info, prompt, relevance),
            sureness=sureness,
            following=following,
        )
        with closing(drawn):
            yield from spelled(drawn, self.engine.detokenize, most)

    def decoder(
        self, prompt: Prompt, weights: LogWeights, *, ahead: int, trace: Trace, tree: QKVTree | None
    ) -> Decoder:
        """Prefill the prompt, and return a decoder for a caller that draws tokens and rolls back itself.

        `weights` are those of the rows, one for each passage. The decoder can roll back up to `ahead` tokens. Raises
        ContextFull.
        """
        with trace.step("prefill"):
            rows = self.prefilled(prompt, trace, tree)
        return Decoder(self.engine, dict(enumerate(rows)), weights, ahead=ahead)

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
        """Return greedily decoded answers: one for each beginning followed by each of the `count` likeliest next
        tokens.

        All passages are in one prompt. Answers that do not end within `max_tokens`, including the beginning, are left
        out. Raises ContextFull.
        """
        with trace.step("prefill"):
            (logits,) = self.prefilled(prompt.joined(), trace, tree)
        texts = []
        with trace.step("decode"):
            decoder = Decoder(self.engine, {0: logits}, row_weights((1.0,)))
            for beginning in beginnings:
                prefix = self.engine.tokenize(beginning)
                if len(prefix) >= max_tokens:
                    continue
                decoder.cut(0)
                trace.tokens_prefilled += len(prefix)
                for token in self._distinct(decoder.read(prefix) if prefix else logits, count):
                    decoder.cut(len(prefix))
                    drawn = [*prefix, *self._drawn(decoder, token, max_tokens - len(prefix), trace)]
                    if self.engine.is_end(drawn[-1]):
                        texts.append(self.engine.detokenize(drawn).decode("utf-8", "replace"))
        return texts

    def _distinct(self, logits: Logits, count: int) -> list[int]:
        """Return the `count` likeliest tokens; of tokens that differ only in spaces and case, only the likeliest
        counts.
        """
        by_text: dict[bytes, int] = {}
        for token in likeliest(logits, 2 * count):
            if not self.engine.is_end(token):
                by_text.setdefault(self.engine.detokenize([token]).strip().lower(), token)
        return list(by_text.values())[:count]

    def _drawn(self, decoder: Decoder, token: int, most: int, trace: Trace) -> Iterator[int]:
        """Yield the token and the likeliest tokens after it, including the end token; at most `most` tokens."""
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
        """Continue an answer from one row: yield the token ids that follow the already `accepted` ones.

        Tokens that the engine still holds are not computed again. `max_tokens` includes the accepted ones.
        """
        with trace.step("prefill"):
            logits = self.prefilled_behind(prompt, accepted, trace)
        weights = row_weights((1.0,))
        yield from decoded(
            self.engine, self.drafting, [logits], weights, sampling, max_tokens, trace, accepted=accepted
        )

    def prefill(self, prompt: Prompt, tree: QKVTree, trace: Trace | None = None) -> Trace:
        """Compute the attention states of the prompt that are not cached in the tree and store them, without answering.

        Return the trace, which records the time. Raises the errors of `stream` and `keep`.
        """
        trace = trace or Trace()
        with trace.step("prefill"):
            self.prefilled(prompt, trace, tree)
        self.keep(prompt, tree)
        return trace

    def missing(self, prompt: Prompt, tree: QKVTree) -> int:
        """Return the size in bytes of the prompt's attention states that are not cached in the tree."""
        return self.uncached(prompt, tree) * self.engine.info.kv_bytes_per_token

    def may_keep(self, prompt: Prompt, tree: QKVTree, most_bytes: float) -> bool:
        """Return whether the tree can cache attention states of the prompt that it lacks, in at most `most_bytes`."""
        fits = self.engine.info.sliceable and self.room(prompt) > 0
        return fits and 0 < self.missing(prompt, tree) <= most_bytes

    def cost(self, prompt: Prompt, tree: QKVTree) -> float:
        """Return the expected time of answering the prompt, in units of the time to prefill one prompt token.

        As in `forecast`, decoding the first row is not counted.
        """
        rows = len(prompt.passages)
        return forecast(
            self.uncached(prompt, tree) + rows * len(self.tokens(prompt.tail)),
            rows,
        )

    def reused(self, prompt: Prompt, tree: QKVTree) -> set[int]:
        """Return the ids of the passages whose cached attention states an answer would reuse: those that are cached
        together with everything before them in the prompt.
        """
        beginnings = ((row[:end], row[end - 1]) for row in prompt.passages for end in range(1, len(row) + 1))
        return {
            last.passage
            for beginning, last in beginnings
            if last.passage is not None and not self.missing(replace(prompt, passages=(beginning,)), tree)
        }

    def keep(self, prompt: Prompt, tree: QKVTree) -> None:
        """Cache the attention states of the prompt that was answered last in the tree.
        Raises StoreFull, NotWritable.
        """
        for row, path in enumerate(self.paths(prompt)):
            tree.keep(self.engine, row, path)
