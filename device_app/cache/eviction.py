"""What to evict where a limit is passed (PerCache, section 4.1.1, has LFU). Pure: states in, names out."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

Policy = Literal["lfu", "lru", "cost"]


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that takes space. `used_at` orders by time; `cost` is what it takes to make it again, in any unit.

    Of a tree, `parent` names what it hangs from.
    """

    name: str
    bytes: int
    uses: int
    used_at: str
    cost: float
    parent: str | None = None


_WORTH: dict[Policy, Callable[[Kept], tuple[float, str]]] = {
    "lfu": lambda one: (one.uses, one.used_at),
    "lru": lambda one: (0, one.used_at),
    # RAGCache's policy: uses times cost to recompute, by bytes. One that was never used is worth one use.
    "cost": lambda one: ((one.uses + 1) * one.cost / max(one.bytes, 1), one.used_at),
}


def victims(kept: Iterable[Kept], limit: int, policy: Policy) -> list[str]:
    """Names to evict, in order, until what is left takes at most `limit` bytes. A parent outlives its children."""
    by_name = {one.name: one for one in kept}
    children = Counter(one.parent for one in by_name.values() if one.parent in by_name)
    worth = _WORTH[policy]
    waiting = [(worth(one), one.name) for one in by_name.values() if not children[one.name]]
    heapq.heapify(waiting)
    total = sum(one.bytes for one in by_name.values())
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
