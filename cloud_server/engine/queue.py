"""The waiting queue: one queue per owner (a token's name), and owners take turns by work.

It has no clock, no thread and no I/O.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cloud_server.engine.fairness import RoundRobin

PROMPT_WORK = 0.25
"""The cost of a prompt token relative to an answer token that is decoded alone."""


def work(prompt_tokens: int, answer_tokens: float) -> float:
    """Return the cost of a request in answer tokens."""
    return PROMPT_WORK * prompt_tokens + answer_tokens


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A queued request, by its key, and its `work`: its cost in answer tokens."""

    key: int
    work: float


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """How many requests are expected to be served before a queued request, and their total work in answer tokens."""

    position: int
    ahead: float


class FairQueue:
    """The requests waiting for the engine: about `most` in total, and at most `most_each` per access token (owner).

    Once `most` requests wait, only an owner with less than an equal share of them may add another.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._waiting: dict[str, deque[QueuedRequest]] = {}
        self._turns = RoundRobin()

    def __len__(self) -> int:
        """Return the number of queued requests."""
        return sum(map(len, self._waiting.values()))

    def full(self, owner: str) -> bool:
        """Return whether the owner may queue no more requests."""
        own, owners = len(self._waiting.get(owner, ())), len(self._waiting.keys() | {owner})
        return own >= self._most_each or (len(self) >= self._most and own >= max(self._most // owners, 1))

    def push(self, owner: str, key: int, work: float) -> QueuePosition:
        """Append a request to the owner's queue. Return its position."""
        self._waiting.setdefault(owner, deque()).append(QueuedRequest(key, work))
        return self.place(owner, key)

    def put_back(self, owner: str, key: int, work: float) -> None:
        """Insert a preempted request at the front of the owner's queue."""
        self._waiting.setdefault(owner, deque()).appendleft(QueuedRequest(key, work))

    def place(self, owner: str, key: int) -> QueuePosition:
        """Return a request's current position in the queue. Raises KeyError if it is not queued."""
        if not any(waiting.key == key for waiting in self._waiting.get(owner, ())):
            raise KeyError(key)
        turns, left = self._turns.copy(), {name: deque(queue) for name, queue in self._waiting.items()}
        position, ahead = 0, 0.0
        while True:
            following = turns.next(left)
            waiting = left[following].popleft()
            if waiting.key == key:
                return QueuePosition(position, ahead)
            if not left[following]:
                del left[following]
            turns.charge(following, waiting.work)
            position, ahead = position + 1, ahead + waiting.work

    def pop(self, joins: Callable[[str, int], bool] = lambda _owner, _key: True) -> QueuedRequest | None:
        """Remove and return the request that is served next; None if no request can be served.

        `joins(owner, key)` returns whether the owner's first request can start now; otherwise other owners go first.
        """
        ready = [owner for owner, queue in self._waiting.items() if joins(owner, queue[0].key)]
        if not ready:
            return None
        owner = self._turns.next(ready)
        waiting = self._waiting[owner].popleft()
        self._turns.charge(owner, waiting.work)
        self._tidy(owner)
        return waiting

    def remove(self, key: int) -> bool:
        """Remove a cancelled request, at no charge. Return whether it was queued."""
        for owner, queue in self._waiting.items():
            if any(waiting.key == key for waiting in queue):
                self._waiting[owner] = deque(waiting for waiting in queue if waiting.key != key)
                self._tidy(owner)
                return True
        return False

    def _tidy(self, owner: str) -> None:
        if not self._waiting[owner]:
            del self._waiting[owner]
        if not self._waiting:  # with no owner waiting, start the turns afresh
            self._turns = RoundRobin()
