"""The interface of engines that also give the features from which a draft network drafts.

A *feature* is what the model's head computes a token's logits from: the hidden state after the last norm. Reading and
decoding without features is `models.engine.Engine`'s part.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.engine import Logits

Features = npt.NDArray[np.float32]
"""Features of n tokens, shape (n, width)."""


class FeatureEngine(Protocol):
    """Gives features beside logits. Its `decode` and `verify` are `Engine`'s, with equal results."""

    @property
    def width(self) -> int:
        """The length of a feature."""

    def features(self, sequence: int) -> Features:
        """Return the features of the tokens that the last `decode` or `verify` appended to the sequence.

        They cost nothing beyond a copy. Raises EngineError if that call appended none to it.
        """

    def read(self, sequence: int, tokens: Sequence[int]) -> tuple[Logits, Features]:
        """Append the tokens as `prefill` does; return the logits after the last, and the features of all.

        Unlike `prefill`, this computes the logits of every token. Raises ContextFull, with the sequence as before.
        """
