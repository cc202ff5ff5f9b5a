"""Drafts the next token of a joint answer, which device and server write together, and the distribution that the other
side receives.

Device and server run the same code: with the same model the results agree to the bit (DRAGON, section 4.1).
"""

from collections.abc import Sequence

import numpy as np

from models.engine import Logits
from models.sampling import SamplingSettings, distribution, penalised
from shared.aggregation import rules
from shared.aggregation.aggregator import FETCHED
from shared.aggregation.distribution import Distribution, Top, quantise, top
from shared.aggregation.messages import Rule
from shared.errors import EngineError
from shared.side import Side


def draft(
    rule: Rule, side: Side, logits: Logits, sampling: SamplingSettings, before: Sequence[int]
) -> tuple[int, Distribution | None]:
    """Return the draft of the token after the tokens `before`, and its distribution if the other side needs it.

    `logits`, shape (vocabulary,), may be off by a constant. `rule` is the rule of the joint answer
    (`shared.aggregation.rules`): "coupled" draws from the truncated distribution; "algorithm1" draws from that
    distribution after it was quantised, which is the form that is sent. "greedy" uses temperature 0 and ignores the
    temperature in `sampling`. Raises EngineError if the logits are not finite.
    """
    position = len(before)
    if rule == "greedy":
        likely = likeliest(logits, sampling, before, FETCHED)
        return rules.draft(rule, side, sampling.seed, position, likely.ids, likely.probabilities), likely
    left = distribution(logits, sampling, before)
    if rule == "coupled":
        return rules.draft(rule, side, sampling.seed, position, left.tokens, left.probabilities), None
    sent = quantise(left.tokens, left.probabilities)
    return rules.draft(rule, side, sampling.seed, position, sent.ids, sent.counts), sent


def likeliest(logits: Logits, sampling: SamplingSettings, before: Sequence[int], count: int) -> Top:
    """Return the `count` likeliest tokens after the tokens `before`, with their probabilities at temperature 1.

    Equal logits give equal probabilities. Raises EngineError if the logits are not finite.
    """
    logits = penalised(logits, sampling, before)
    highest = logits.max()
    if not np.isfinite(highest):
        raise EngineError("The model gave no usable logits. Its weights may be damaged: run `jackdaw doctor`.")
    weights = np.exp(logits - highest)
    return top(weights / weights.sum(), count)
