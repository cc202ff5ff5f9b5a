"""Which side should aggregate (DRAGON, section 5): the one where a token is waited for the shortest.

Corrected: what equation 7 writes as c^l_trans + c^l_trans is the round trip, c^l_trans + c^r_trans. It is about one
side that aggregates at a time, the paper's way. Where both may, each for itself, a rejection costs one way instead of
two, and there is nothing to schedule: see `place`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.aggregation.messages import Place, Rule
from shared.side import Side, other

_TIE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds of a draft on each side, seconds of a round trip, and how often each side's drafts are accepted."""

    decode: Mapping[Side, float]
    rtt: float
    acceptance: Mapping[Side, float]


def place(rule: Rule, *, device_distributions: bool) -> Place:
    """Where to aggregate: on both sides, unless that would send distributions which are not to leave the device.

    Coupled drafts are settled from tokens alone; greedily the device's distribution never leaves it.
    """
    return "both" if rule == "coupled" or (rule == "algorithm1" and device_distributions) else "device"


def waiting(figures: Figures, aggregator: Side) -> float:
    """Z, equation 7: seconds between two tokens while that side aggregates."""
    own, far = figures.decode[aggregator], figures.decode[other(aggregator)]
    accepted = figures.acceptance[other(aggregator)]
    return accepted * max(own, far) + (1 - accepted) * max(own, far + figures.rtt)


def speedup(figures: Figures, aggregator: Side) -> float:
    """S, equation 9: seconds of token-wise synchronisation (nothing accepted) over ours."""
    own, far = figures.decode[aggregator], figures.decode[other(aggregator)]
    return max(own, far + figures.rtt) / waiting(figures, aggregator)


def better(figures: Figures, aggregator: Side) -> Side:
    """Equation 8: the other side where Z is smaller there, else the one that has it.

    Of equals the slower side: what it drafts while a verdict is on its way is what takes longest to draft again.
    No hysteresis: a hand-over travels with the verdict, and was never measured to cost more than it gained.
    """
    far = other(aggregator)
    here, far_wait = waiting(figures, aggregator), waiting(figures, far)
    if abs(here - far_wait) <= _TIE * here:
        return far if figures.decode[far] > figures.decode[aggregator] else aggregator
    return far if far_wait < here else aggregator
