"""What a network does to what is sent over it one way: when it arrives, and whether. Pure, for all that carry it."""

import random
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Conditions:
    """One way: `delay_s` ± `jitter_s`, evenly; bytes a second; the share of packets that is lost (namespaces alone)."""

    delay_s: float = 0.0
    jitter_s: float = 0.0
    bytes_per_s: float = 1e12
    loss: float = 0.0


AS_IT_IS = Conditions()


class Line:
    """One way. What enters first leaves first, whatever the jitter: a queue does not overtake itself."""

    def __init__(self, conditions: Conditions, chance: random.Random) -> None:
        self._conditions, self._chance = conditions, chance
        self._free = self._last = -inf

    def due(self, now: float, size: int) -> float:
        """When so many bytes that are sent now arrive."""
        own = self._conditions
        self._free = max(now, self._free) + size / own.bytes_per_s
        jitter = self._chance.uniform(-own.jitter_s, own.jitter_s)
        self._last = max(self._last, self._free + max(own.delay_s + jitter, 0.0))
        return self._last

    def loses(self) -> bool:
        """Whether the next packet is lost."""
        return self._chance.random() < self._conditions.loss
