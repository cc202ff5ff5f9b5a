"""A goodness-of-fit test with a stated power: the G-test, its threshold, and what it would have caught."""

import numpy as np
import numpy.typing as npt

Z_99999 = 4.2649
"""The standard normal quantile of 1 - 1e-5. A correct rule exceeds it in one of 100,000 runs."""


def excess(drawn: npt.ArrayLike, expected: npt.NDArray[np.float64]) -> float:
    """Return the G statistic of outcomes (numbers below len(expected)) against these probabilities, divided by its
    threshold; a test fails above 1.

    The threshold is chi-squared's at 1e-5 (Wilson and Hilferty's approximation, good to 1% from two degrees on). The
    result is infinite if an outcome of probability 0 occurred.
    """
    counts = np.bincount(np.asarray(drawn), minlength=len(expected))
    if counts[expected == 0].any():
        return float("inf")
    seen = counts > 0
    g = 2 * float(np.sum(counts[seen] * np.log(counts[seen] / (expected[seen] * counts.sum()))))
    freedom = int((expected > 0).sum()) - 1
    return g / threshold(freedom) if freedom else 0.0


def threshold(freedom: int) -> float:
    """Return the threshold of G for `freedom` degrees of freedom."""
    spread = 2 / (9 * freedom)
    return float(freedom * (1 - spread + Z_99999 * spread**0.5) ** 3)


def power(variation: float, draws: int, freedom: int) -> float:
    """Return a lower bound of the probability that a distribution with this total variation from the expected one is
    detected.

    G is then chi-squared with a non-centrality of draws · Σ δ²/p, at least 4 · draws · variation² (Cauchy and Schwarz).
    """
    chance = np.random.Generator(np.random.Philox(1))
    g = chance.noncentral_chisquare(freedom, 4 * draws * variation**2, 200_000)
    return float(np.mean(g > threshold(freedom)))
