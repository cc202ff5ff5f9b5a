"""Tokens from the model on this device, from one row or from several rows mixed.

A row is one sequence of the engine: system, passage(s), question. With several rows, each holding one passage, the
next token is drawn from the mixture of their distributions, weighted by relevance (DRAGON, eq. 2, on one side).
"""

import codecs
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from models.engine import Engine, Logits
from models.sampling import SamplingSettings, sample
from shared.prompt import ChatTemplate, Prompt, Segment
from shared.trace import Trace

RELEVANCE_TEMPERATURE = 0.05
"""Cosines are divided by this before the softmax that weighs the rows."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token as it was drawn, and the text that became complete with it (may be empty).

    It is `cut` where the model would go on but may not.
    """

    token: int
    text: str
    cut: bool = False


def row_weights(similarities: Sequence[float]) -> Logits:
    """Log weights of rows, shape (rows,): log softmax of similarity / RELEVANCE_TEMPERATURE (DRAGON, section 3)."""
    scaled = np.asarray(similarities, np.float32) / RELEVANCE_TEMPERATURE
    weights: Logits = scaled - np.logaddexp.reduce(scaled)
    return weights


def mix(rows: Sequence[Logits], log_weights: Logits) -> Logits:
    """Log of the weighted mixture of the rows' next-token distributions, shape (vocabulary,)."""
    if len(rows) == 1:
        return rows[0]
    log_probabilities = np.stack(rows)
    log_probabilities -= log_probabilities.max(axis=1, keepdims=True)
    log_probabilities -= np.log(np.exp(log_probabilities).sum(axis=1, keepdims=True))
    log_probabilities += log_weights[:, None]
    highest = log_probabilities.max(axis=0)
    mixture: Logits = highest + np.log(np.exp(log_probabilities - highest).sum(axis=0))
    return mixture


@dataclass(frozen=True, slots=True)
class LocalSource:
    """The engine of this device as a source of tokens. One stream at a time."""

    engine: Engine
    template: ChatTemplate

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
        trace: Trace | None = None,
    ) -> Generator[Piece, None, None]:
        """Answer the prompt, one row for each of its passages (`Prompt.joined()` makes that one row).

        `similarities` weigh the rows, one for each. Raises ContextFull when the rows do not fit the engine. Close it
        where it is not read to its end: the trace has its steps then.
        """
        trace = trace or Trace()
        with trace.step("prefill"):
            rows = self._prefill(prompt)
        weights = row_weights(similarities)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        drawn: list[int] = []
        with trace.step("decode"):
            while len(drawn) < max_tokens:
                token = sample(mix(rows, weights), sampling, drawn)
                if self.engine.is_end(token):
                    break
                drawn.append(token)
                trace.first_token()
                text = decoder.decode(self.engine.detokenize([token]))
                yield Piece(token, text, cut=len(drawn) == max_tokens)
                if len(drawn) < max_tokens:
                    logits = self.engine.decode(dict.fromkeys(range(len(rows)), token))
                    rows = [logits[row] for row in range(len(rows))]
        if rest := decoder.decode(b"", final=True):
            yield Piece(drawn[-1], rest, cut=len(drawn) == max_tokens)

    def _prefill(self, prompt: Prompt) -> list[Logits]:
        for sequence in range(self.engine.info.sequences):
            self.engine.clear(sequence)
        passages = prompt.passages or ((),)
        head, tail = self._tokens(prompt.head), self._tokens(prompt.tail)
        if len(passages) > 1:
            # What the rows share is computed once.
            self.engine.prefill(0, head)
            for row in range(1, len(passages)):
                self.engine.fork(0, row)
            head = []
        return [
            self.engine.prefill(row, [*head, *self._tokens(passage), *tail]) for row, passage in enumerate(passages)
        ]

    def _tokens(self, segments: Sequence[Segment]) -> list[int]:
        return [token for segment in segments for token in self.engine.tokenize(segment.text, special=segment.special)]
