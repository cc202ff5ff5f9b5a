"""Chooses the entries to evict when a limit is exceeded (PerCache, section 4.1.1, uses LFU). Pure."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Policy = Literal["lfu", "lru", "cost"]


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry that takes space. `used_at` orders by time; `cost` is the cost of recreating the entry, in any unit.

    In a tree, `parent` is the name of its parent node; else None.
    """

    name: str
    bytes: int
    uses: int
    used_at: str
    cost: float
    parent: str | None = None


_WORTH: dict[Policy, Callable[[Kept], tuple[float, str]]] = {
    "lfu": lambda entry: (entry.uses, entry.used_at),
    "lru": lambda entry: (0, entry.used_at),
    # RAGCache's policy: uses times cost to recompute, by bytes. An unused entry counts as one use.
    "cost": lambda entry: ((entry.uses + 1) * entry.cost / max(entry.bytes, 1), entry.used_at),
}


def victims(kept: Iterable[Kept], limit: int, policy: Policy) -> list[str]:
    """Return the names to evict, in order, until at most `limit` bytes are left.

    A parent is evicted after its children.
    """
    by_name = {entry.name: entry for entry in kept}
    children = Counter(entry.parent for entry in by_name.values() if entry.parent in by_name)
    worth = _WORTH[policy]
    waiting = [(worth(entry), entry.name) for entry in by_name.values() if not children[entry.name]]
    heapq.heapify(waiting)
    total = sum(entry.bytes for entry in by_name.values())
    chosen = []
    while total > limit and waiting:
        _, name = heapq.heappop(waiting)
        chosen.append(name)
        total -= by_name[name].bytes
        parent = by_name[name].parent
        if parent in by_name:
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(waiting, (worth(by_name[parent]), parent))
    return chosen
