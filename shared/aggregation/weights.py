"""The weight of each side's distribution (DRAGON, section 4.1): η^d of the device and η^s = 1 - η^d of the server.

A side's η is its share of h^d + h^s, where h = Σ exp(score / T) over the side's passages and T is the temperature. The
weights are valid only if both sides score with the same embedder and temperature, which the caller checks on
connecting. Only log h is sent.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shared.errors import ProtocolError
from shared.prompt import divided
from shared.protocol.messages import CloseCode

Vector = npt.NDArray[np.float32]

RELEVANCE_TEMPERATURE = 0.05
"""The temperature T by which both sides divide cosines to weight passages."""

LATEST_TOKENS = 64
"""The most tokens at the end of an answer from which the weights of its sequences (one per prompt) are computed again
while it is written.
"""

LEAST_LENGTH = 1e-6
"""The length below which the sum of two unit vectors has no usable direction."""

MOST_LOG = 1000.0
"""The limit of |log h|, a side's log weight; even the lowest sensible temperature stays far below it."""


def log_weight(scores: Sequence[float]) -> float:
    """Return log h of a side's passages, where h = Σ exp(score / RELEVANCE_TEMPERATURE); -inf without passages.

    Raises ValueError for a non-finite score.
    """
    if not all(map(math.isfinite, scores)):
        raise ValueError("passages' scores must be finite")
    if not scores:
        return -math.inf
    highest = max(scores) / RELEVANCE_TEMPERATURE
    return highest + math.log(math.fsum(math.exp(score / RELEVANCE_TEMPERATURE - highest) for score in scores))


def row_similarities(similarities: Sequence[float], rows: int) -> list[float]:
    """Return one similarity per row, which gives the row the total weight of its passages (a log-sum-exp).

    `shared.prompt.divided` divides the passages into rows, the prompts whose distributions are mixed. Without passages
    there is one row, whose value does not matter. Raises ValueError for a non-finite similarity.
    """
    parts = divided(similarities, rows)
    return [RELEVANCE_TEMPERATURE * log_weight(part) if part else 1.0 for part in parts]


def row_weights(similarities: Sequence[float]) -> npt.NDArray[np.float32]:
    """Return the log weights of an answer's rows (the prompts whose next-token distributions are mixed): log softmax of
    similarity / RELEVANCE_TEMPERATURE; shape (rows,). See DRAGON, section 3.
    """
    scaled = np.asarray(similarities, np.float32) / RELEVANCE_TEMPERATURE
    weights: npt.NDArray[np.float32] = scaled - np.logaddexp.reduce(scaled)
    return weights


def basis(position: int, every: int) -> int:
    """Return how many of an answer's first tokens decide the weights of its rows (one sequence per prompt) for the
    token at `position`.

    The weights are computed again after every `every` tokens and take effect `every` tokens later, which leaves time to
    compute them. Before that, and always if `every` is 0, the result is 0: the question alone decides.
    """
    return max(position // every - 1, 0) * every if every else 0


def similarities_to_text(question: Vector, text: Vector, passages: npt.NDArray[np.float32]) -> list[float]:
    """Return each passage's relevance to the question and the text so far, R(d, x_<t) (DRAGON, equation 2).

    The relevance is the cosine of the passage and the sum of the two other vectors; all are unit vectors, of shapes
    (dimensions,), (dimensions,) and (passages, dimensions). If question and text point in opposite directions, the
    question alone counts.
    """
    both = question + text
    length = float(np.linalg.norm(both))
    similarities: list[float] = (passages @ (both / length if length > LEAST_LENGTH else question)).tolist()
    return similarities


def checked(log_h: float) -> float:
    """Return `log_h`, the other side's log weight, if it is valid; -inf means no passages. Else raise ProtocolError."""
    if not (log_h == -math.inf or abs(log_h) <= MOST_LOG):
        raise ProtocolError(CloseCode.MALFORMED, "The weight of the other side's passages is out of its bounds.")
    return log_h


def device_share(device: float, server: float) -> float:
    """Return the device's weight η in the mixture (the server's is 1 - η), from each side's log weight log h.

    If neither side has a passage, η is 1. Platforms may differ in the last bit of exp, which would change a coin flip
    once in 10^16 positions.
    """
    if server == -math.inf:
        return 1.0
    if device == -math.inf:
        return 0.0
    difference = server - device
    # Of two equal forms, use the one whose exp cannot overflow.
    return 1 / (1 + math.exp(difference)) if difference < 0 else math.exp(-difference) / (1 + math.exp(-difference))
