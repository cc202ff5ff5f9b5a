"""Who holds the engine, and whose answers give their places away to whoever waits. Pure: no clock, no engine.

Sequences and cells are shared by dominant share (Ghodsi et al., 2011): of an owner it is the larger of its parts of
both. While somebody waits, an owner gives places away to another one that will still hold less than it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cloud_server.engine.jobs import Job


@dataclass(frozen=True, slots=True)
class Capacity:
    """Sequences of an engine, and cells of its context: free ones, all of them, or those that an answer needs."""

    sequences: int
    cells: int

    def takes(self, job: Job) -> bool:
        """Whether the answer can join, and still reach its limit together with all the others."""
        return self.holds(needs(job))

    def holds(self, other: "Capacity") -> bool:
        """Whether the other one fits in."""
        return other.sequences <= self.sequences and other.cells <= self.cells

    def __add__(self, other: "Capacity") -> "Capacity":
        return Capacity(self.sequences + other.sequences, self.cells + other.cells)

    def share(self, whole: "Capacity") -> float:
        """The dominant share of the whole, 0 to 1."""
        return max(self.sequences / whole.sequences, self.cells / whole.cells)


NOTHING = Capacity(0, 0)


@dataclass(frozen=True, slots=True)
class Allocation:
    """What one answer holds; it is `paused` when its reader has allowed it nothing more for long."""

    key: int
    owner: str
    room: Capacity
    paused: bool = False


def needs(job: Job) -> Capacity:
    """What an answer comes to need."""
    return Capacity(len(job.rows), job.cells)


def displaced(
    need: Capacity, owner: str, free: Capacity, whole: Capacity, held: Sequence[Allocation]
) -> list[int] | None:
    """Which answers have to give their places away for the owner's next one to join; None where it has to wait.

    Resting answers go first, whoever's they are; then those of the owner that holds most, as long as that is more than
    the claimant will hold. Of one owner the youngest goes first, as least is lost with it. `held` is oldest first.
    """
    left, chosen = list(held), list[int]()
    while not free.holds(need):
        shares = {allocation.owner: _held(allocation.owner, left).share(whole) for allocation in left}
        going = _resting(left, shares) or _surplus(left, shares, owner, (_held(owner, left) + need).share(whole))
        if going is None:
            return None
        left.remove(going)
        chosen.append(going.key)
        free += going.room
    return chosen


def _resting(held: Sequence[Allocation], shares: dict[str, float]) -> Allocation | None:
    return max(
        (allocation for allocation in reversed(held) if allocation.paused),
        key=lambda allocation: shares[allocation.owner],
        default=None,
    )


def _surplus(held: Sequence[Allocation], shares: dict[str, float], claimant: str, claim: float) -> Allocation | None:
    giving = (
        allocation for allocation in reversed(held) if allocation.owner != claimant and shares[allocation.owner] > claim
    )
    return max(giving, key=lambda allocation: shares[allocation.owner], default=None)


def _held(owner: str, held: Sequence[Allocation]) -> Capacity:
    return sum((allocation.room for allocation in held if allocation.owner == owner), NOTHING)
