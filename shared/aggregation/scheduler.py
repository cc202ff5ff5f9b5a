"""The choice of the aggregating side (DRAGON, section 5): the side with the shorter expected wait per token.

Corrects the paper: equation 7 writes c^l_trans + c^l_trans for the round trip, which is c^l_trans + c^r_trans: the
seconds of transmission from the local and from the remote side. Applies only if
one side aggregates at a time, as in the paper. If both sides aggregate, a rejection costs one way instead of two, and
there is nothing to schedule: see `place`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.aggregation.messages import Place, Rule
from shared.side import Side, other

_TIE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds per draft on each side, seconds per round trip, and each side's acceptance rate."""

    decode: Mapping[Side, float]
    rtt: float
    acceptance: Mapping[Side, float]


def place(rule: Rule, *, device_distributions: bool) -> Place:
    """Return where to aggregate: on both sides, unless that would send device distributions that must stay on the
    device.

    Coupled drafts are settled from tokens alone; with the greedy rule the device's distribution never leaves the
    device.
    """
    return "both" if rule == "coupled" or (rule == "algorithm1" and device_distributions) else "device"


def waiting(figures: Figures, aggregator: Side) -> float:
    """Return Z of DRAGON's equation 7: the expected seconds between two settled tokens while this side aggregates."""
    own, far = figures.decode[aggregator], figures.decode[other(aggregator)]
    accepted = figures.acceptance[other(aggregator)]
    return accepted * max(own, far) + (1 - accepted) * max(own, far + figures.rtt)


def speedup(figures: Figures, aggregator: Side) -> float:
    """Return S of DRAGON's equation 9: the time per token without accepted drafts, divided by `waiting`, the time with
    them.
    """
    own, far = figures.decode[aggregator], figures.decode[other(aggregator)]
    return max(own, far + figures.rtt) / waiting(figures, aggregator)


def better(figures: Figures, aggregator: Side) -> Side:
    """Return the side with the smaller wait per token, Z (DRAGON, equation 8).

    On a tie, returns the slower side, as its drafts are the most expensive to repeat. No hysteresis: a hand-over
    travels with the verdict, and was never measured to cost more than it gained.
    """
    far = other(aggregator)
    here, far_wait = waiting(figures, aggregator), waiting(figures, far)
    if abs(here - far_wait) <= _TIE * here:
        return far if figures.decode[far] > figures.decode[aggregator] else aggregator
    return far if far_wait < here else aggregator
