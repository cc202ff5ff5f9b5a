"""Chooses how many drafted tokens a pass verifies: as many as generate the most tokens per unit of time. Pure
functions.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Final

from models.speculative.drafter import DEGREES

BY_MATCH: Final = (0.30, 0.50, 0.62, 0.70, 0.75, 0.80, 0.84, 0.88)
"""The shares of tokens drafted by prompt lookup that are assumed to be accepted before any are counted: one share for
each length of the match before them, 1 to `DEGREES` tokens.
"""

BY_PROBABILITY: Final = tuple((place + 0.5) / DEGREES for place in range(DEGREES))
"""The shares of tokens drafted by a model that are assumed to be accepted before any are counted: one share for each
range of the probability that the model gives them. Its probabilities are taken as correct.
"""

_PRIOR_WEIGHT: Final = 8.0
"""The weight of each assumed share: as if that share of this many drafted tokens had been accepted."""

_KEPT: Final = 0.98
"""The factor by which the counts of a degree (how sure the drafter was, `Draft.degrees`) shrink with each further token
of that degree, because acceptance changes with the kind of text.
"""

_FADED: Final = 0.1
"""How far each `Acceptance.fade` moves the counts towards the assumed shares: 0 would keep them, 1 would reset them."""

_MODEL_PASSES: Final = 0.5
"""The assumed share of an answer's remaining tokens that a drafting model drafts, once it has read the prompt; prompt
lookup drafts the others.
"""


class Acceptance:
    """The share of a drafter's tokens that are accepted, by how sure the drafter was of them (`Draft.degrees`)."""

    def __init__(self, prior: Sequence[float] = BY_MATCH) -> None:
        """Start with the shares `prior`, assumed for degrees 1, 2, …, before any tokens are counted."""
        self._prior = tuple(prior)
        self._accepted = [_PRIOR_WEIGHT * share for share in prior]
        self._drafted = [_PRIOR_WEIGHT] * len(prior)

    def chance(self, degree: int) -> float:
        """Return the probability that a drafted token is accepted, given that those before it are. `degree` says how
        sure the drafter was of it (`Draft.degrees`).
        """
        place = self._place(degree)
        return self._accepted[place] / self._drafted[place]

    def learn(self, degree: int, *, is_accepted: bool) -> None:
        """Count a drafted token as accepted or rejected. All drafted tokens before it were accepted."""
        place = self._place(degree)
        self._accepted[place] = _KEPT * self._accepted[place] + is_accepted
        self._drafted[place] = _KEPT * self._drafted[place] + 1

    @property
    def tally(self) -> tuple[tuple[float, float], ...]:
        """For each degree 1, 2, … a pair: the tokens accepted and the tokens drafted, as decaying counts that include
        the assumed shares.
        """
        return tuple(zip(self._accepted, self._drafted, strict=True))

    @tally.setter
    def tally(self, tally: Sequence[tuple[float, float]]) -> None:
        """Continue with the counts of an earlier run. Raises ValueError if their number of degrees differs."""
        if len(tally) != len(self._prior):
            raise ValueError(f"{len(tally)} counts do not fit {len(self._prior)} degrees.")
        self._accepted, self._drafted = map(list, zip(*tally, strict=True))

    def fade(self) -> None:
        """Move all counts a little towards the assumed shares, so that a drafter that was rarely right is tried
        again.
        """
        for place, share in enumerate(self._prior):
            self._accepted[place] += _FADED * (_PRIOR_WEIGHT * share - self._accepted[place])
            self._drafted[place] += _FADED * (_PRIOR_WEIGHT - self._drafted[place])

    def _place(self, degree: int) -> int:
        return min(max(degree, 1), len(self._drafted)) - 1


def shares(
    chances: Sequence[Sequence[float]],
    rows: Sequence[int],
    cost: Callable[[int], float],
    most: int,
    spent: float = 0.0,
) -> list[int]:
    """Return how many drafted tokens of each answer to verify in a pass over all answers.

    `chances[a]` are the probabilities that answer a's drafted tokens are accepted, each given that those before it are;
    `rows[a]` is the number of sequences of the answer, each of which computes every token. `cost(n)` is the time of a
    pass over n tokens, relative to a pass over one; `most` is the most tokens of a pass. `spent` is the time that
    drafting took before the pass, in the same unit.

    A pass over k drafted tokens of an answer is expected to generate 1 + p(1) + p(1) p(2) + … tokens (EAGLE-2's product
    of confidences, with acceptance shares instead of a draft model's probabilities). The likeliest tokens are taken
    first, as many as generate the most tokens per unit of time.
    """
    candidates = [
        (reached / own_rows, answer, reached)
        for answer, (own, own_rows) in enumerate(zip(chances, rows, strict=True))
        for reached in accumulate(own, mul)
    ]
    candidates.sort(key=lambda candidate: -candidate[0])  # stable: an answer's tokens stay in order
    tokens, expected = sum(rows), float(len(rows))
    best, most_gained = 0, expected / (cost(tokens) + spent)
    for count, (_, answer, reached) in enumerate(candidates, 1):
        tokens, expected = tokens + rows[answer], expected + reached
        if tokens > most:
            break
        if (gained := expected / (cost(tokens) + spent)) > most_gained:
            best, most_gained = count, gained
    taken = Counter(answer for _, answer, _ in candidates[:best])
    return [taken[answer] for answer in range(len(rows))]


def pace(
    chances: Sequence[float], rows: int, cost: Callable[[int], float], most: int, step: float = 0.0
) -> tuple[int, float]:
    """Return how many of an answer's next tokens to draft, and the tokens per unit of time that this is expected to
    give.

    `chances`, `rows`, `cost` and `most` are as in `shares`; `step` is the time of drafting one token.
    """
    best, highest, expected = 0, 1.0 / cost(rows), 1.0
    for count, reached in enumerate(accumulate(chances, mul), 1):
        expected += reached
        if rows * (1 + count) > most:
            break
        if (own := expected / (cost(rows * (1 + count)) + count * step)) > highest:
            best, highest = count, own
    return best, highest


def repays(slower: float, faster: float, left: int, spent: float) -> bool:
    """Return whether a model should read the text it has not read yet, in order to draft the rest of an answer, because
    that saves time.

    `slower` and `faster` are the tokens per unit of time without the model and with it; `left` is the number of tokens
    expected to follow; `spent` is the time of reading, in the same unit. Only some of the following tokens are assumed
    to be drafted by the model, the others by prompt lookup.
    """
    return faster > slower and _MODEL_PASSES * left * (1 / slower - 1 / faster) > spent
