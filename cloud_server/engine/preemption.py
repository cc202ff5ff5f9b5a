"""Preemption: which running answers give their places in the engine to waiting ones. Pure functions: no clock, no
engine.

An owner is an access token. A place is a number of the engine's sequences and context cells (KV cache entries, one per
token). Both are shared by dominant share (Ghodsi et al., 2011): the larger of an owner's shares of the two. A running
owner gives places to a waiting owner only while its share is larger than the waiting owner's would be.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cloud_server.engine.jobs import Job


@dataclass(frozen=True, slots=True)
class Capacity:
    """A number of the engine's sequences and of its context cells (entries of the KV cache, one per token), such as
    those that are free or that an answer needs.
    """

    sequences: int
    cells: int

    def takes(self, job: Job) -> bool:
        """Return whether the job fits into this capacity, even if it reaches its token limit."""
        return self.holds(needs(job))

    def holds(self, other: "Capacity") -> bool:
        """Return whether another capacity fits into this one."""
        return other.sequences <= self.sequences and other.cells <= self.cells

    def __add__(self, other: "Capacity") -> "Capacity":
        return Capacity(self.sequences + other.sequences, self.cells + other.cells)

    def share(self, whole: "Capacity") -> float:
        """Return this capacity as a share of the capacity `whole`, 0 to 1: the larger of the shares of sequences and
        cells.
        """
        return max(self.sequences / whole.sequences, self.cells / whole.cells)


NOTHING = Capacity(0, 0)


@dataclass(frozen=True, slots=True)
class Allocation:
    """The capacity that one answer holds. `paused`: the answer waits for its client to allow more tokens. The function
    `displaced` expects `paused` only for answers that have waited so long that they may lose their places.
    """

    key: int
    owner: str
    room: Capacity
    paused: bool = False


def needs(job: Job) -> Capacity:
    """Return the most capacity that the job may ever need."""
    return Capacity(len(job.rows), job.cells)


def displaced(
    need: Capacity, owner: str, free: Capacity, whole: Capacity, held: Sequence[Allocation]
) -> list[int] | None:
    """Return the keys of the answers to displace so that the owner's next answer can start; None if it has to wait.
    `need` is what that answer needs; `free` and `whole` are the engine's free and whole capacity.

    Paused answers of any owner are displaced first. Then come answers of the owner with the largest share, while that
    share is larger than the waiting owner's would be. Of one owner's answers, the newest goes first, as least work is
    lost. `held` is sorted oldest first.
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
