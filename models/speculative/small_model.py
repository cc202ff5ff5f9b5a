"""Drafts tokens with a smaller model of the same vocabulary (Leviathan et al., "Fast inference from transformers via
speculative decoding"): the draft is that model's own likeliest continuation, token by token.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from models.decoder import log_probability
from models.engine import Engine, Logits
from models.speculative.drafter import Draft
from shared.errors import ContextFull, EngineError

_SEQUENCE: Final = 0
"""The only sequence that the smaller model's engine uses."""

_PIECE: Final = 128
"""The most tokens that are read at a time. Between pieces the answering model continues, and checks whether it has to
stop.
"""


class SmallModel:
    """The smaller model as the drafter of one answer, see `Drafter`.

    Several answers may share its engine, which keeps the text that it read last. Only the part that differs is read
    again: after rejected tokens, after tokens that others drafted, or for another answer with the same beginning.
    """

    def __init__(self, engine: Engine, text: Sequence[int]) -> None:
        """Follow the text, a list of token ids, and the answer after it. Nothing is computed yet."""
        self._engine, self._text = engine, list(text)

    @property
    def unread(self) -> int:
        return len(self._text) - self._common()

    def append(self, token: int) -> None:
        self._text.append(token)

    def passed(self, sequence: int) -> None:
        """Do nothing: the smaller model reads tokens, not the answering model's features."""

    def draft(self, most: int, least: float = 0.0) -> Draft:
        """Draft as `Drafter.draft` says, but never a token that ends the answer. A text that does not fit the model
        gets no draft.

        Raises EngineError if the model fails or its logits are not finite.
        """
        if len(self._text) >= self._engine.info.prompt_room:
            return Draft()  # at once, not after reading what fits
        tokens: list[int] = []
        chances: list[float] = []
        lowest = math.log(least) if least > 0 else -math.inf
        try:
            logits = self._read() if most > 0 else None
            while logits is not None:
                token, chance = _likeliest(logits)
                if self._engine.is_end(token):
                    break
                tokens.append(token)
                chances.append(chance)
                if len(tokens) == most or sum(chances) < lowest:
                    break
                logits = self._engine.decode({_SEQUENCE: token})[_SEQUENCE]
        except ContextFull:
            pass
        return Draft(tuple(tokens), log_probabilities=tuple(chances))

    def _read(self) -> Logits | None:
        """Read the next piece of the text that the engine has not read; return the logits after the text, once all of
        it is read.
        """
        common = self._common()
        self._engine.rollback(_SEQUENCE, self._engine.length(_SEQUENCE) - common)
        piece = self._text[common : common + _PIECE]
        if len(piece) == 1:  # a draft need not be exact, and a pass of one token takes less time than a prefill of one
            return self._engine.decode({_SEQUENCE: piece[0]})[_SEQUENCE]
        logits = self._engine.prefill(_SEQUENCE, piece)
        return logits if common + _PIECE >= len(self._text) else None

    def _common(self) -> int:
        """Return how many tokens at the text's start the engine already holds. The last token never counts, as its
        logits are needed.
        """
        held = self._engine.tokens(_SEQUENCE)[: len(self._text) - 1]
        text = tuple(self._text[: len(held)])
        if held == text:  # mostly, and token by token a long text would take a part of a pass
            return len(held)
        return next(place for place, (own, other) in enumerate(zip(held, text, strict=True)) if own != other)


def _likeliest(logits: Logits) -> tuple[int, float]:
    """Return the likeliest token and its log probability. Raises EngineError if the logits are not finite."""
    token = int(logits.argmax())
    if not np.isfinite(logits[token]):
        raise EngineError("it gives no usable logits; its weights may be damaged")
    return token, log_probability(logits, token)
