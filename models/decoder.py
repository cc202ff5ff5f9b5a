"""Decodes one answer over several rows, with drafts and rollback (DRAGON, sections 3 and 4.1).

A row is one sequence of the engine: its own prompt, then the answer, which all rows share. The next token's
distribution is the mixture of the rows' distributions; with one row it is that row's. Draws no tokens: the caller draws
and appends them. If a device and a server write an answer together (a joint answer), each side has a decoder, which
does not depend on the other side.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from models.engine import Engine, Logits
from shared.errors import EngineError

LogWeights = Logits | Callable[[int, Sequence[int]], Logits]
"""The log weights with which the distributions of an answer's rows (one sequence per prompt) are mixed, shape (rows,):
either constant for the whole answer, or a function of a position and the tokens before it.
"""

_FAINT = np.log(np.finfo(np.float32).tiny)
"""The log of the smallest normal number of single precision. Smaller probabilities have lost digits, so `mix` computes
them again from logarithms.
"""


def mix(rows: Sequence[Logits], log_weights: Logits) -> Logits:
    """Return the log of the weighted mixture of several next-token distributions, shape (vocabulary,), up to a
    constant.

    `rows` holds the logits of each distribution, `log_weights` their log weights, shape (rows,). If there is only one
    distribution, its logits are returned unchanged.
    """
    if len(rows) == 1:
        return rows[0]
    mixture, part = np.zeros_like(rows[0]), np.empty_like(rows[0])
    shifts = []
    with np.errstate(divide="ignore"):
        for row, log_weight in zip(rows, log_weights, strict=True):
            highest = row.max()
            total = np.exp(np.subtract(row, highest, out=part), out=part).sum()
            mixture += np.multiply(part, np.exp(log_weight) / total, out=part)
            shifts.append(log_weight - highest - np.log(total))
        np.log(mixture, out=mixture)
    if mixture.min() < _FAINT:
        faint = np.flatnonzero(mixture < _FAINT)
        mixture[faint] = np.logaddexp.reduce([row[faint] + shift for row, shift in zip(rows, shifts, strict=True)])
    return mixture


def log_probability(mixture: Logits, token: int) -> float:
    """Return the log probability of a token. `mixture` holds those of all tokens, shape (vocabulary,), up to a constant
    that this function removes.
    """
    highest = mixture.max()
    total = float(np.exp(mixture - highest).sum(dtype=np.float64))
    return float(mixture[token] - highest) - math.log(total)


class Decoder:
    """One answer, in sequences of an engine. Only this decoder may change these sequences. Positions are indices in the
    answer.

    Each sequence has its own prompt. The *mixture* at a position is the weighted average of all sequences' next-token
    distributions, as log probabilities. The last `ahead` mixtures before the current one are kept and must not be
    modified. Each takes 4 bytes per token of the vocabulary: 17 take 3.2 MiB for a vocabulary of 49,152.
    """

    def __init__(
        self, engine: Engine, rows: Mapping[int, Logits], log_weights: LogWeights, *, written: int = 0, ahead: int = 0
    ) -> None:
        """Create a decoder. `rows` maps each sequence to its logits after its prompt and the first `written` answer
        tokens.

        `log_weights` weight the sequences in the order of `rows`. The mixed distributions of the last `ahead` positions
        are kept.
        """
        self.position = written
        self._engine = engine
        self._log_weights = log_weights
        self._ahead = ahead
        self._prompts = {sequence: engine.length(sequence) - written for sequence in rows}
        self._mixtures = {written: self._mixed(rows, written)}

    @property
    def sequences(self) -> tuple[int, ...]:
        """The sequences that hold the answer."""
        return tuple(self._prompts)

    @property
    def mixture(self) -> Logits:
        """The log probabilities of the next token, mixed over all sequences, up to a constant; shape (vocabulary,)."""
        return self.mixture_at(self.position)

    def keeps(self, position: int) -> bool:
        """Return whether the mixed next-token log probabilities for this position are still stored."""
        return position in self._mixtures

    def mixture_at(self, position: int) -> Logits:
        """Return the stored mixed log probabilities for a position whose token was already read. Raises EngineError if
        they are no longer stored.
        """
        if not self.keeps(position):
            raise EngineError(f"The mixture at position {position} is not kept; those at {sorted(self._mixtures)} are.")
        return self._mixtures[position]

    def append(self, token: int) -> Logits:
        """Decode the answer's next token in all its sequences; return the mixed log probabilities of the token after
        it. On ContextFull, nothing has changed.
        """
        return self.take(self._engine.decode(dict.fromkeys(self._prompts, token)))

    def append_all(self, tokens: Sequence[int]) -> list[Logits]:
        """Decode the answer's next tokens in all its sequences, in one pass; return the mixed next-token log
        probabilities after each. On ContextFull, nothing has changed.
        """
        return self.take_all(self._engine.verify(dict.fromkeys(self._prompts, tokens)))

    def take_all(self, rows: Mapping[int, Sequence[Logits]]) -> list[Logits]:
        """Append tokens that the caller verified in a batch; return the mixed next-token log probabilities after each
        token. `rows` maps each sequence to its logits after each token.
        """
        count = len(rows[self.sequences[0]])
        return [self.take({sequence: rows[sequence][place] for sequence in self._prompts}) for place in range(count)]

    def take(self, rows: Mapping[int, Logits]) -> Logits:
        """Append a token that the caller decoded in a batch with other answers. `rows` maps each sequence to its logits
        after the token. Return the mixed next-token log probabilities, as `append` does.
        """
        mixture = self._mixed(rows, self.position + 1)
        self.position += 1
        self._mixtures[self.position] = mixture
        self._mixtures.pop(self.position - self._ahead - 1, None)
        return mixture

    def cut(self, position: int) -> None:
        """Drop the answer from `position` on. The caller then has to make all sequences read the tokens that follow
        (`take`, `read`).

        The stored log probabilities for `position` may be lost. Also works when an interrupt left the sequences with
        different lengths.
        """
        for sequence, prompt in self._prompts.items():
            self._engine.rollback(sequence, self._engine.length(sequence) - prompt - position)
        self._mixtures = {at: mixture for at, mixture in self._mixtures.items() if at <= position}
        self.position = position

    def roll_back(self, position: int, tokens: Sequence[int] = ()) -> Logits:
        """Drop the answer from `position` on and read the given tokens there; return the mixed next-token log
        probabilities (the mixture) after them.

        The remaining tokens are not computed again; if tokens are given, the mixtures before them are dropped. Raises
        EngineError, with nothing changed, if there are no tokens and the mixture for `position` is no longer stored;
        ContextFull, with the answer cut to `position`, if the tokens do not fit.
        """
        if not 0 <= position <= self.position:
            raise EngineError(f"An answer of {self.position} tokens cannot be rolled back to {position}.")
        if not tokens:
            self.mixture_at(position)
        self.cut(position)
        return self.read(tokens) if tokens else self.mixture

    def read(self, tokens: Sequence[int]) -> Logits:
        """Prefill the answer's next tokens; return the mixed next-token log probabilities after them. Those for earlier
        positions are dropped. On ContextFull, the answer is as before.
        """
        position = self.position
        try:
            rows = self._rows(tokens)
        except BaseException:
            self.cut(position)
            raise
        self.position += len(tokens)
        self._mixtures = {self.position: self._mixed(rows, self.position)}
        return self.mixture

    def _rows(self, tokens: Sequence[int]) -> Mapping[int, Logits]:
        """Return each sequence's logits after the tokens. They are computed token by token in all sequences, or
        sequence by sequence, whichever takes fewer calls; the two ways round f16 sums differently.
        """
        if len(tokens) > len(self._prompts):
            return {sequence: self._engine.prefill(sequence, tokens) for sequence in self._prompts}
        rows: Mapping[int, Logits] = {}
        for token in tokens:
            rows = self._engine.decode(dict.fromkeys(self._prompts, token))
        return rows

    def _mixed(self, rows: Mapping[int, Logits], position: int) -> Logits:
        ordered = [rows[sequence] for sequence in self._prompts]
        if not callable(self._log_weights):
            return mix(ordered, self._log_weights)
        if len(ordered) == 1:
            return ordered[0]
        sequence, prompt = next(iter(self._prompts.items()))
        answer = self._engine.tokens(sequence)[prompt : prompt + position]
        return mix(ordered, self._log_weights(position, answer))
