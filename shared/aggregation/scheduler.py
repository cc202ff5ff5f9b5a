"""The choice of the aggregating side (DRAGON, section 5): the side with the shorter expected wait per token.

Corrects the paper: equation 7 writes c^l_trans + c^l_trans for the round trip, which is c^l_trans + c^r_trans: the
seconds of transmission from the local and from the remote side. The choice applies only if one side aggregates (decides
the final tokens) at a time, as in the paper. If both sides aggregate, a rejection costs the time of one message instead
of a round trip, and there is nothing to schedule: see `place` and `waiting_of_both`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from shared.aggregation.messages import Place, Rule
from shared.side import Side, other

Aggregation = Literal["both", "device", "server", "scheduled"]
"""The side that decides a joint answer's final tokens; `scheduled` begins on the better side and may change later."""

OFFERED: Final[tuple[Aggregation, ...]] = ("device", "server", "scheduled")
"""The ways of aggregation that a server of this version offers besides `both`, which every server supports."""

_SIDES: Final[tuple[Side, Side]] = ("device", "server")
_TIE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Figures:
    """The scheduler's inputs: `decode`, seconds per draft, and `acceptance`, the share of accepted drafts, by side.

    `rtt` is the round trip in seconds.
    """

    decode: Mapping[Side, float]
    rtt: float
    acceptance: Mapping[Side, float]


@dataclass(frozen=True, slots=True)
class Lead:
    """One side's head start: `side` drafts for `seconds` while the other side still reads its prompt.

    `most` is how many tokens a side may draft beyond the final ones; `answer` is the answer's expected length, in
    tokens.
    """

    side: Side
    seconds: float
    most: int
    answer: float

    def drafts(self, figures: Figures) -> float:
        """Return the expected number of final tokens for which the other side never waits.

        The leading side has drafted some when the other side starts, and drafts more until that has caught up. The
        first rejection discards all drafts after it.
        """
        own, far = (max(figures.decode[side], 1e-9) for side in (self.side, other(self.side)))
        count = min(self.seconds / own, self.most)
        count = min(count / (1 - far / own), self.answer) if far < own else self.answer
        accepted = figures.acceptance[self.side]
        kept = accepted * (1 - accepted**count) / (1 - accepted) if accepted < 1 else count
        return min(kept, self.answer)


def place(rule: Rule, *, device_distributions: bool) -> Place:
    """Return the sides that decide the final tokens (aggregate): both, unless that would send device distributions that
    must stay on the device.

    With the coupled rule both sides decide from the drafted tokens alone; with the greedy rule the device's
    distribution never leaves the device.
    """
    return "both" if rule == "coupled" or (rule == "algorithm1" and device_distributions) else "device"


def waiting(figures: Figures, aggregator: Side) -> float:
    """Return Z of DRAGON's equation 7: the expected seconds between two final tokens while this side aggregates."""
    own, far = figures.decode[aggregator], figures.decode[other(aggregator)]
    accepted = figures.acceptance[other(aggregator)]
    return accepted * max(own, far) + (1 - accepted) * max(own, far + figures.rtt)


def waiting_of_both(figures: Figures) -> float:
    """Return the expected seconds between two final tokens while both sides aggregate; the paper has no such mode.

    A rejection delays the answer only if the draft of the other side was rejected last: then the answer waits for a
    draft of each side and for a message in each direction, for two tokens. With rejection probabilities a and b, this
    is so for the share 2ab / (a + b) of the tokens.
    """
    left, right = (figures.decode[side] for side in _SIDES)
    a, b = (1 - figures.acceptance[side] for side in _SIDES)
    delayed = 2 * a * b / (a + b) if a + b else 0.0
    return (1 - delayed) * max(left, right) + delayed * max(left, right, (left + right + figures.rtt) / 2)


def token_s(figures: Figures, aggregation: Aggregation, lead: Lead | None = None) -> float:
    """Return the expected seconds between two final tokens: equation 7, or `waiting_of_both`.

    With a `lead`, a mean over the answer: tokens that the leading side has drafted before wait for the other side
    alone. The paper counts no lead.
    """
    if aggregation == "both":
        seconds = waiting_of_both(figures)
    else:
        seconds = waiting(figures, better(figures, "device") if aggregation == "scheduled" else aggregation)
    if lead is None or not lead.answer:
        return seconds
    ahead = lead.drafts(figures) / lead.answer
    return (1 - ahead) * seconds + ahead * min(seconds, figures.decode[other(lead.side)])


def speedup(figures: Figures, aggregation: Aggregation) -> float:
    """Return S of DRAGON's equation 9: the time per token without accepted drafts, divided by the time with them."""
    if aggregation == "scheduled":
        aggregation = better(figures, "device")
    rejected = replace(figures, acceptance=dict.fromkeys(_SIDES, 0.0))
    with_drafts = token_s(figures, aggregation)
    return token_s(rejected, aggregation) / with_drafts if with_drafts else 1.0


def better(figures: Figures, aggregator: Side) -> Side:
    """Return the side with the smaller wait per token, Z (DRAGON, equation 8); `aggregator` is the present one.

    On a tie, returns the slower side, as its drafts are the most expensive to repeat; if both are equally fast, the
    present one. There is no hysteresis, because a hand-over is sent together with final tokens and never cost more time
    than it saved in measurements.
    """
    far = other(aggregator)
    here, far_wait = waiting(figures, aggregator), waiting(figures, far)
    if abs(here - far_wait) <= _TIE * here:
        return far if figures.decode[far] > figures.decode[aggregator] else aggregator
    return far if far_wait < here else aggregator
