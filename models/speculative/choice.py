"""How many tokens are drafted in a pass: as many as make the most tokens per unit of time. Pure."""

from collections.abc import Callable
from typing import Final

from models.speculative.lookup import LONGEST

_PRIOR: Final = (0.30, 0.50, 0.62, 0.70, 0.75, 0.80, 0.84, 0.88)
"""The share of drafted tokens that were accepted after a match of 1 to `LONGEST` tokens, before any were counted."""

_PRIOR_WEIGHT: Final = 8.0
"""How many drafted tokens the prior counts for."""

_KEPT: Final = 0.98
"""The share of earlier counts that is kept with each token: acceptance changes with the kind of text."""


class Acceptance:
    """The share of drafted tokens that are accepted, by the number of tokens that matched before them."""

    def __init__(self) -> None:
        self._accepted = [_PRIOR_WEIGHT * share for share in _PRIOR]
        self._drafted = [_PRIOR_WEIGHT] * LONGEST

    def chance(self, matched: int) -> float:
        """Return the probability that a token drafted after a match of so many tokens is accepted."""
        place = _place(matched)
        return self._accepted[place] / self._drafted[place]

    def learn(self, matched: int, *, is_accepted: bool) -> None:
        """Count a drafted token whose predecessors were accepted."""
        place = _place(matched)
        self._accepted[place] = _KEPT * self._accepted[place] + is_accepted
        self._drafted[place] = _KEPT * self._drafted[place] + 1


def length(matched: int, drafted: int, chance: Callable[[int], float], cost: Callable[[int], float]) -> int:
    """Return how many of the `drafted` tokens to verify, 0 to `drafted`.

    `cost` gives the time of a pass over so many tokens of a row, in passes over one. Each accepted token lengthens the
    match. The expected number of tokens of a pass over k drafted ones is 1 + p(m) + p(m) p(m + 1) + … (EAGLE-2's
    product of confidences, with shares in the place of a draft model's probabilities).
    """
    best, most = 0, 1.0
    expected = reached = 1.0
    for count in range(1, drafted + 1):
        reached *= chance(matched + count - 1)
        expected += reached
        if (gain := expected / cost(count + 1)) > most:
            best, most = count, gain
    return best


def _place(matched: int) -> int:
    return min(max(matched, 1), LONGEST) - 1
