"""A side's next draft of an answer that both write, and what the other side is told of the distribution it is from.

The same on device and server: to the bit where they run the same model (DRAGON, section 4.1).
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
    """The draft behind the answer's tokens `before`, and its distribution, where the rule needs that on the other side.

    `logits`, shape (vocabulary,), may lack a constant. Coupled and Algorithm 1 draw from what truncation leaves,
    Algorithm 1 from the very counts that it sends; greedy is at temperature 0, whatever `sampling` says. Raises
    EngineError where the logits are no numbers.
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
    """The `count` likeliest next tokens behind `before`, at temperature 1: of the same logits always the same numbers.

    Raises EngineError where the logits are no numbers.
    """
    logits = penalised(logits, sampling, before)
    highest = logits.max()
    if not np.isfinite(highest):
        raise EngineError("The model gave no usable logits. Its weights may be damaged: run `jackdaw doctor`.")
    weights = np.exp(logits - highest)
    return top(weights / weights.sum(), count)
