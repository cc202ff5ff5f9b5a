"""A model of a network in one direction: when and whether sent data arrives. Pure, for all simulations that use it."""

import random
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions in one direction.

    The delay is `delay_s` ± `jitter_s`, uniformly distributed. `loss` is the share of packets that is lost, which only
    `namespaces` can do.
    """

    delay_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float = 1e12
    loss: float = 0.0


AS_IT_IS = Conditions()


class Line:
    """One direction of a network. Data leaves in the order in which it enters, whatever the jitter."""

    def __init__(self, conditions: Conditions, chance: random.Random) -> None:
        self._conditions, self._chance = conditions, chance
        self._free = self._last = -inf

    def due(self, now: float, size: int) -> float:
        """Return when `size` bytes arrive that are sent now."""
        own = self._conditions
        self._free = max(now, self._free) + size / own.bytes_per_s
        jitter = self._chance.uniform(-own.jitter_s, own.jitter_s)
        self._last = max(self._last, self._free + max(own.delay_s + jitter, 0.0))
        return self._last

    def loses(self) -> bool:
        """Whether the next packet is lost."""
        return self._chance.random() < self._conditions.loss
