"""How much each side's distribution counts (DRAGON, section 4.1): η from log h, where h = Σ exp(score / T).

Means something only where both sides score with the same embedder and temperature; that is checked by whoever connects
them. Only log h crosses the wire.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shared.errors import ProtocolError
from shared.prompt import divided
from shared.protocol.messages import CloseCode

RELEVANCE_TEMPERATURE = 0.05
"""Cosines are divided by this before passages are weighed by them, on both sides."""

MOST_LOG = 1000.0
"""No log h is further from 0: a cosine over the least sensible temperature is far below."""


def log_weight(scores: Sequence[float], temperature: float = RELEVANCE_TEMPERATURE) -> float:
    """log h of a side's passages; -inf without any. Raises ValueError for a score or temperature that is no number."""
    if not (0 < temperature < math.inf and all(map(math.isfinite, scores))):
        raise ValueError("passages are weighed by finite scores at a temperature above 0")
    if not scores:
        return -math.inf
    highest = max(scores) / temperature
    return highest + math.log(math.fsum(math.exp(score / temperature - highest) for score in scores))


def row_similarities(similarities: Sequence[float], rows: int) -> list[float]:
    """Of each row of the passages (`shared.prompt.divided`), the similarity of one passage that weighs as much as they.

    Without passages it is one row, which weighs what it will. Raises ValueError for a similarity that is no number.
    """
    parts = divided(similarities, rows)
    return [RELEVANCE_TEMPERATURE * log_weight(part) if part else 1.0 for part in parts]


def row_weights(similarities: Sequence[float]) -> npt.NDArray[np.float32]:
    """Log weights of rows, shape (rows,): log softmax of similarity / RELEVANCE_TEMPERATURE (DRAGON, section 3)."""
    scaled = np.asarray(similarities, np.float32) / RELEVANCE_TEMPERATURE
    weights: npt.NDArray[np.float32] = scaled - np.logaddexp.reduce(scaled)
    return weights


def checked(log_h: float) -> float:
    """A peer's log h. Raises ProtocolError for what cannot be one: -inf, for no passages, can."""
    if not (log_h == -math.inf or abs(log_h) <= MOST_LOG):
        raise ProtocolError(CloseCode.MALFORMED, "The weight of a side's passages is no usable number.")
    return log_h


def device_share(device: float, server: float) -> float:
    """η of the device, 1 - η of the server, from each side's log h. 1 where neither has a passage.

    Two platforms may differ in the last bit of exp: once in 10^16 positions a coin would fall just there.
    """
    if server == -math.inf:
        return 1.0
    if device == -math.inf:
        return 0.0
    difference = server - device
    # exp of a positive number may overflow: of the two forms, the one that cannot.
    return 1 / (1 + math.exp(difference)) if difference < 0 else math.exp(-difference) / (1 + math.exp(-difference))
