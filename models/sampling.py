"""Draws a token from logits, by pure functions.

Truncation comes before the draw, so that tokens are drawn exactly from the result of `distribution`. DRAGON, section 4,
needs device and server to use the same distribution.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.engine import Logits
from shared.errors import EngineError, UsageError

_LEAST = float(np.finfo(np.float32).tiny)
"""Weights below this are set to zero, because they have too few digits in single precision."""


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """Sampling settings. Temperature 0 takes the likeliest token; `seed` decides all draws.

    The value 0 turns off `top_k` and `min_p`, the value 1 `top_p` and `repetition_penalty`.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise UsageError for values out of range."""
        fits = (
            0 <= self.temperature < float("inf")
            and self.top_k >= 0
            and 0 <= self.top_p <= 1
            and 0 <= self.min_p <= 1
            and 0 < self.repetition_penalty < float("inf")
            and 0 <= self.seed < 2**64
        )
        if not fits:
            raise UsageError(f"These sampling settings are out of range: {self}. See `jackdaw config docs`.")


@dataclass(frozen=True, slots=True)
class Distribution:
    """A truncated distribution: token ids, ascending, shape (n,), and their probabilities, each > 0, with sum 1."""

    tokens: npt.NDArray[np.intp]
    probabilities: npt.NDArray[np.float64]


def penalised(logits: Logits, settings: SamplingSettings, drawn: Sequence[int]) -> Logits:
    """Return the logits with previously drawn tokens made less likely (CTRL, section 4.1); the input is unchanged."""
    if settings.repetition_penalty == 1 or not drawn:
        return logits
    seen = np.unique(np.asarray(drawn))
    changed = logits.copy()
    changed[seen] = np.where(
        logits[seen] > 0, logits[seen] / settings.repetition_penalty, logits[seen] * settings.repetition_penalty
    )
    return changed


def distribution(logits: Logits, settings: SamplingSettings, drawn: Sequence[int] = ()) -> Distribution:
    """Return the next token's distribution after temperature, top-k, top-p and min-p, renormalised.

    Where only some of several equally likely tokens can stay, those with the lowest ids stay. At temperature 0 only the
    likeliest token is left. Raises EngineError if a logit is NaN or positive infinity, or if none is finite.
    """
    logits = penalised(logits, settings, drawn)
    likeliest = int(np.argmax(logits))
    highest = float(logits[likeliest])
    if not np.isfinite(highest):
        raise EngineError("The model gave no usable logits. Its weights may be damaged: run `jackdaw doctor`.")
    if settings.temperature == 0:
        return Distribution(np.array([likeliest]), np.ones(1))
    with np.errstate(over="ignore", under="ignore"):
        # A weight that overflows is so unlikely that it becomes 0. Single precision is several times faster.
        weights = np.exp((logits - np.float32(highest)) / np.float32(max(settings.temperature, _LEAST)))
    tokens = _largest(weights, settings.top_k) if settings.top_k else np.flatnonzero(weights >= _LEAST)
    if settings.top_p < 1:
        tokens = tokens[_nucleus(weights[tokens], settings.top_p)]
    remaining = weights[tokens].astype(np.float64)
    if settings.min_p or settings.top_k:
        likely = remaining >= max(settings.min_p, _LEAST)
        tokens, remaining = tokens[likely], remaining[likely]
    return Distribution(tokens, remaining / remaining.sum())


def sample(logits: Logits, settings: SamplingSettings, drawn: Sequence[int] = ()) -> int:
    """Draw the next token. Equal logits, settings and previously drawn tokens always give the same token."""
    remaining = distribution(logits, settings, drawn)
    if len(remaining.tokens) == 1:
        return int(remaining.tokens[0])
    chance = np.random.Generator(np.random.Philox(key=np.array([settings.seed, len(drawn)], np.uint64))).random()
    cumulative = np.cumsum(remaining.probabilities)
    # A number in [0, 1) times the rounded sum is always below the last entry.
    place = np.searchsorted(cumulative, chance * cumulative[-1], side="right")
    return int(remaining.tokens[place])


def likeliest(logits: Logits, count: int) -> list[int]:
    """Return the `count` likeliest token ids, the likeliest first; among equally likely ones the lowest id."""
    return [int(token) for token in np.argsort(-logits, kind="stable")[:count]]


def _largest(weights: Logits, count: int) -> npt.NDArray[np.intp]:
    """Return the indices of the `count` largest weights, in ascending order."""
    if count >= len(weights):
        return np.arange(len(weights))
    border = np.partition(weights, -count)[-count]
    above, level = np.flatnonzero(weights > border), np.flatnonzero(weights == border)
    return np.sort(np.concatenate([above, level[: count - len(above)]]))


def _nucleus(weights: Logits, share: float) -> npt.NDArray[np.intp]:
    """Return, in ascending order, the indices of the fewest largest weights that together reach the given share."""
    total = weights.sum(dtype=np.float64)
    # All weights below this bound together hold less than the share that top-p drops: they need no sorting.
    candidates = np.sort(weights[weights >= (1 - share) * total / len(weights)])[::-1]
    kept = int(np.searchsorted(np.cumsum(candidates, dtype=np.float64), share * total)) + 1
    return _largest(weights, kept)
