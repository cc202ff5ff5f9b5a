"""The paper's simulator (section 7.4): replays recorded acceptances in virtual time, under each policy that chooses the
aggregating side.

The aggregating side decides the final tokens from both sides' drafts. Policies decide by
`shared.aggregation.scheduler`, from its online estimates. Decoders are not interrupted within a step, drafts are
capped, and a hand-over travels with the token before it. The extra latency varies like the paper's: a sine of 20% with
a period of 20π seconds.
"""

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from shared.aggregation.profiler import Acceptance, Transmission
from shared.aggregation.scheduler import Figures, better
from shared.side import Side, other

AHEAD: Final = 8
SWING: Final = 0.2
BASE_RTT_S: Final = 0.002
SIDES: tuple[Side, Side] = ("device", "server")
Recorded = Sequence[tuple[bool, bool]]
"""For each token of an answer, whether the device's and the server's draft equalled it."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The simulated conditions: seconds per draft on each side, and seconds of the extra round trip."""

    decode: Mapping[Side, float]
    extra_s: float

    def rtt(self, now: float) -> float:
        """Return the extra round-trip time of a message that is sent at a given moment."""
        return BASE_RTT_S + self.extra_s * (1 + SWING * math.sin(now / 10))


@dataclass(slots=True)
class Chain:
    """The simulated drafts of one side: when it may start the next draft, and when it learned of each final token."""

    free: float = 0.0
    ready: float = 0.0
    known: list[float] = field(default_factory=list)
    wrong: bool = False

    def draft(self, position: int, step: float, ahead: int) -> float:
        """Return the time at which the draft at `position` is ready, if all earlier drafts are right or were replaced
        by final tokens.
        """
        if self.wrong:
            # The side drafts on after a wrong token until it learns of the rejection, and never stops within a step.
            learned = self.known[position - 1]
            drafted = max(min(math.ceil((learned - self.free) / step), ahead - 1), 0)
            start = max(learned, self.free + drafted * step)
        else:
            start = self.free if position < ahead else max(self.free, self.known[position - ahead])
        self.ready = self.free = start + step
        return self.ready


Chooses = Callable[["Seen", Side], Side]


@dataclass(frozen=True, slots=True)
class Seen:
    """The measurements that a scheduler has at a moment of the simulation."""

    decode: Mapping[Side, float]
    transmission: Transmission
    acceptance: Mapping[Side, Acceptance]

    @property
    def figures(self) -> Figures:
        """The measurements in the form that the scheduler's function `better` takes."""
        return Figures(
            self.decode, self.transmission.rtt, {side: acceptance.rate for side, acceptance in self.acceptance.items()}
        )


def simulate(recorded: Recorded, conditions: Conditions, first: Side, chooses: Chooses) -> float:
    """Return the simulated seconds until the answer's last token is decided and shown on the device."""
    chains = {side: Chain() for side in SIDES}
    seen = Seen(conditions.decode, Transmission(), dict.fromkeys(SIDES, Acceptance()))
    aggregator, handed, settled = first, 0.0, 0.0
    for position, right in enumerate(recorded):
        arrives = []
        for side, chain in chains.items():
            ready = chain.draft(position, conditions.decode[side], AHEAD)
            arrives.append(ready if side == aggregator else ready + conditions.rtt(ready) / 2)
        settled = max(settled, handed, *arrives)
        delivered = settled + conditions.rtt(settled) / 2
        for side, accepted in zip(SIDES, right, strict=True):
            chains[side].known.append(settled if side == aggregator else delivered)
            chains[side].wrong = not accepted
        rtt = conditions.rtt(settled)
        learned = {
            side: seen.acceptance[side].observe(int(accepted), 1) for side, accepted in zip(SIDES, right, strict=True)
        }
        seen = replace(seen, transmission=seen.transmission.observe(rtt), acceptance=learned)
        chosen = chooses(seen, aggregator)
        if chosen != aggregator:
            aggregator, handed = chosen, delivered
    return settled if aggregator == "device" else settled + conditions.rtt(settled) / 2


def policies(seed: int) -> dict[str, tuple[Side, Chooses]]:
    """Return each policy, with the side on which it starts."""
    chance = random.Random(seed)
    return {
        "device": ("device", lambda _, here: here),
        "server": ("server", lambda _, here: here),
        "random": ("device", lambda _, here: chance.choice((here, other(here)))),
        "scheduled": ("device", lambda seen, here: better(seen.figures, here)),
    }


def compared(sequences: Sequence[Recorded], decode: Mapping[Side, float], extra_s: float) -> dict[str, Any]:
    """Return the mean seconds per sequence under each policy. Also return the scheduler's seconds, divided by those
    with the better of the two sides always aggregating.
    """
    conditions = Conditions(decode, extra_s)
    seconds: dict[str, list[float]] = {}
    for number, recorded in enumerate(sequences):
        for name, (first, chooses) in policies(number).items():
            seconds.setdefault(name, []).append(simulate(recorded, conditions, first, chooses))
    means = {name: statistics.mean(some) for name, some in seconds.items()}
    figures = {f"{name}_s": round(mean, 3) for name, mean in means.items()}
    return figures | {"over_better": round(means["scheduled"] / min(means["device"], means["server"]), 4)}
