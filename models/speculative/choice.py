"""Chooses how many drafted tokens a pass verifies: as many as generate the most tokens per unit of time. Pure."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Final

from models.speculative.lookup import LONGEST

_PRIOR: Final = (0.30, 0.50, 0.62, 0.70, 0.75, 0.80, 0.84, 0.88)
"""The share of drafted tokens accepted after a match of 1 to `LONGEST` tokens, assumed before any are counted."""

_PRIOR_WEIGHT: Final = 8.0
"""The number of drafted tokens that the prior weighs as much as."""

_KEPT: Final = 0.98
"""The share of earlier counts that is kept with each token: acceptance changes with the kind of text."""


class Acceptance:
    """The share of drafted tokens that are accepted, by the number of tokens that matched before them."""

    def __init__(self) -> None:
        self._accepted = [_PRIOR_WEIGHT * share for share in _PRIOR]
        self._drafted = [_PRIOR_WEIGHT] * LONGEST

    def chance(self, matched: int) -> float:
        """Return the probability that a token drafted after a match of `matched` tokens is accepted."""
        place = _place(matched)
        return self._accepted[place] / self._drafted[place]

    def learn(self, matched: int, *, is_accepted: bool) -> None:
        """Count a drafted token as accepted or rejected. All drafted tokens before it were accepted."""
        place = _place(matched)
        self._accepted[place] = _KEPT * self._accepted[place] + is_accepted
        self._drafted[place] = _KEPT * self._drafted[place] + 1


def shares(
    chances: Sequence[Sequence[float]], rows: Sequence[int], cost: Callable[[int], float], most: int
) -> list[int]:
    """Return how many drafted tokens of each answer to verify in a pass over all answers.

    `chances[a]` are the probabilities that answer a's drafted tokens are accepted, each given that those before it are;
    `rows[a]` is the number of rows of the answer, each of which computes every token. `cost(n)` is the time of a pass
    over n tokens, relative to a pass over one; `most` is the most tokens of a pass. A pass over k drafted tokens of an
    answer is expected to generate 1 + p(1) + p(1) p(2) + … tokens (EAGLE-2's product of confidences, with acceptance
    shares instead of a draft model's probabilities). The likeliest tokens are taken first, as many as generate the most
    tokens per unit of time.
    """
    candidates = [
        (reached / own_rows, answer, reached)
        for answer, (own, own_rows) in enumerate(zip(chances, rows, strict=True))
        for reached in accumulate(own, mul)
    ]
    candidates.sort(key=lambda candidate: -candidate[0])  # stable: an answer's tokens stay in order
    tokens, expected = sum(rows), float(len(rows))
    best, most_gained = 0, expected / cost(tokens)
    for count, (_, answer, reached) in enumerate(candidates, 1):
        tokens, expected = tokens + rows[answer], expected + reached
        if tokens > most:
            break
        if (gained := expected / cost(tokens)) > most_gained:
            best, most_gained = count, gained
    taken = Counter(answer for _, answer, _ in candidates[:best])
    return [taken[answer] for answer in range(len(rows))]


def _place(matched: int) -> int:
    return min(max(matched, 1), LONGEST) - 1
