"""Measurements of both sides during a joint answer, and the decision whether the other side should decide the final
tokens from now on (DRAGON, section 5).
"""

from dataclasses import dataclass, field

from shared.aggregation import scheduler
from shared.aggregation.aggregator import Aggregator
from shared.aggregation.profiler import Acceptance, Latency, Transmission
from shared.aggregation.scheduler import Figures
from shared.side import Side, other


@dataclass(slots=True)
class Measured:
    """The measurements that the side `side` has made or received. `own` is its seconds per draft, by the draft's
    position.

    `others_s` is the other side's seconds per draft, 0 if unknown; `transmission` is the round trip.
    """

    side: Side
    own: Latency = field(default_factory=Latency)
    others_s: float = 0.0
    transmission: Transmission = field(default_factory=Transmission)
    _acceptance: dict[Side, Acceptance] = field(
        default_factory=lambda: {"device": Acceptance(), "server": Acceptance()}
    )
    _judged: dict[Side, tuple[int, int]] = field(default_factory=lambda: {"device": (0, 0), "server": (0, 0)})

    @property
    def known(self) -> bool:
        """Whether each side's seconds per draft and the round trip were measured, so that `gives` can decide."""
        return self.own.weight > 0 and self.others_s > 0 and self.transmission.known

    def figures(self, machine: Aggregator) -> Figures:
        """Return the scheduler's inputs (times and acceptance) for the position of the next token to decide."""
        for side, judged in machine.judged.items():
            accepted, drafts = self._judged[side]
            self._judged[side] = judged.accepted, judged.drafts
            self._acceptance[side] = self._acceptance[side].observe(judged.accepted - accepted, judged.drafts - drafts)
        decode = {self.side: self.own(len(machine.settled)), other(self.side): self.others_s}
        rates = {side: estimate.rate for side, estimate in self._acceptance.items()}
        return Figures(decode, self.transmission.rtt, rates)

    def gives(self, machine: Aggregator) -> bool:
        """Return whether the other side should decide the final tokens (aggregate) from now on; always False if both
        sides do so, or if the side is fixed.
        """
        terms = machine.terms
        if not (machine.aggregates and self.known) or terms.place == "both" or terms.rule == "greedy":
            return False
        return scheduler.better(self.figures(machine), self.side) != self.side
