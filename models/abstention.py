"""Decides when a model that was trained to abstain from answering does so: if the odds that it gives to its abstention
reach a threshold (selective prediction).

For questions: Kamath, Jia and Liang, Selective Question Answering under Domain Shift, ACL 2020. Both the probability
that the model gives to its abstention and the retrieval's estimate of relevance are informative, so the threshold
combines them.
"""

import math
from dataclasses import dataclass

_MOST_RELEVANT = 5.0
"""The bound on the log odds of relevance, so that even the best retrieval cannot overrule a certain abstention."""

_MOST = 14.0
"""The bound on log odds that stands for certainty: the probability of the opposite is then about one in a million."""


@dataclass(frozen=True, slots=True)
class AbstentionThreshold:
    """The threshold on the log odds of an abstention: at or above it the model abstains.

    The threshold is `intercept` + `slope` · the log odds that the best passage is relevant.
    """

    intercept: float
    slope: float

    def at(self, relevance: float) -> float:
        """Return the threshold for a given probability that the best passage is relevant."""
        relevant = log_odds(math.log(relevance) if relevance > 0 else -math.inf)
        return self.intercept + self.slope * max(-_MOST_RELEVANT, min(relevant, _MOST_RELEVANT))


def log_odds(log_probability: float) -> float:
    """Return the log odds for a log probability, limited to [-_MOST, _MOST]."""
    if log_probability >= 0:
        return _MOST
    return max(-_MOST, min(log_probability - math.log(-math.expm1(log_probability)), _MOST))
