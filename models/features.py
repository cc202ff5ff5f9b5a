"""The interface of engines that also provide the features from which a draft network drafts.

A *feature* is the input from which the model's head computes a token's logits: the hidden state after the last norm.
Reading and decoding without features is part of `models.engine.Engine`.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from models.engine import Logits

Features = npt.NDArray[np.float32]
"""Features of n tokens, shape (n, width)."""


class PassFeatures(Protocol):
    """What provides the features of passes."""

    def features(self, sequence: int) -> Features:
        """Return the features of the tokens that the last `decode` or `verify` appended to the sequence.

        They cost only a copy. Raises EngineError if that call appended no token to the sequence.
        """


class FeatureEngine(PassFeatures, Protocol):
    """An engine that provides features in addition to logits. Its `decode` and `verify` return the same as
    `Engine`'s.
    """

    @property
    def width(self) -> int:
        """The length of a feature."""

    def read(self, sequence: int, tokens: Sequence[int]) -> tuple[Logits, Features]:
        """Append the tokens as `prefill` does; return the logits after the last token, and the features of all tokens.

        Unlike `prefill`, this computes the logits of every token. Raises ContextFull, with the sequence as before.
        """
