"""The passages that were read while a question was being typed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ReadWhileTyping:
    """The passages whose attention states were computed before the question was sent: their ids, in order.

    `broken_off` are those whose reading was aborted; the answer continues the last one if it needs that passage.
    `tokens` were computed in `ms` milliseconds, including those of aborted readings and of the question itself.
    """

    passages: list[int] = field(default_factory=list)
    broken_off: list[int] = field(default_factory=list)
    tokens: int = 0
    ms: float = 0.0

    @property
    def readings(self) -> int:
        """The number of passages whose reading was started."""
        return len(self.passages) + len(self.broken_off)

    def served(self, joined: Collection[int]) -> int:
        """Return how many of the passages the answer has used; `joined` are the ids of passages whose cached states it
        has used.
        """
        return len({*self.passages, *self.broken_off} & set(joined))

    def as_json(self, joined: Collection[int]) -> dict[str, Any]:
        """Return the `read_while_typing` object of an answer's trace."""
        served = self.served(joined)
        return {"passages": self.readings, "served": served, "tokens": self.tokens, "ms": round(self.ms, 1)}
