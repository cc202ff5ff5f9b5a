"""From where on a model that was taught to abstain does so (selective prediction; of questions: Kamath, Jia and Liang,
Selective Question Answering under Domain Shift, ACL 2020).

Such a model knows more than its likeliest token shows: how likely its abstention is. Whoever found the passages knows
how likely they are relevant. Each tells something of its own, so both are weighed.
"""

import math
from dataclasses import dataclass

_MOST_RELEVANT = 5.0
"""Log odds of relevance that count: beyond that no search is trusted, and a sure abstention stays one."""

_MOST = 14.0
"""Log odds of what is certain; about one in a million is against it."""


@dataclass(frozen=True, slots=True)
class AbstentionThreshold:
    """The log odds of the abstention from which on it is written: a line over the log odds that its best passage is
    relevant.
    """

    intercept: float
    slope: float

    def at(self, relevance: float) -> float:
        """Where the best passage is relevant with this probability."""
        relevant = log_odds(math.log(relevance) if relevance > 0 else -math.inf)
        return self.intercept + self.slope * max(-_MOST_RELEVANT, min(relevant, _MOST_RELEVANT))


def log_odds(log_probability: float) -> float:
    """Of what has this log probability; within `_MOST` of 0."""
    if log_probability >= 0:
        return _MOST
    return max(-_MOST, min(log_probability - math.log(-math.expm1(log_probability)), _MOST))
