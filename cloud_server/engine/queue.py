"""Who is served next: requests wait in a queue for each owner (a token's name), and owners take turns by work.

Pure but for its own state: no clock, no thread.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cloud_server.engine.fairness import RoundRobin

PROMPT_WORK = 0.25
"""A token of a prompt takes about this share of the time that a token of an answer takes, written alone."""


def work(prompt_tokens: int, answer_tokens: float) -> float:
    """What a request takes, in answer tokens."""
    return PROMPT_WORK * prompt_tokens + answer_tokens


@dataclass(frozen=True, slots=True)
class QueuedRequest:
    """A request that waits, and what it takes, in answer tokens."""

    key: int
    work: float


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Where a request stands: how many will be served before it, as things are, and their work."""

    position: int
    ahead: float


class FairQueue:
    """Requests waiting for the engine: about `most` of them, and at most `most_each` of one owner.

    Once there are so many, only an owner that has less than its share of them may add another.
    """

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._waiting: dict[str, deque[QueuedRequest]] = {}
        self._turns = RoundRobin()

    def __len__(self) -> int:
        """Requests that wait."""
        return sum(map(len, self._waiting.values()))

    def full(self, owner: str) -> bool:
        """Whether nothing more of this owner can wait."""
        own, owners = len(self._waiting.get(owner, ())), len(self._waiting.keys() | {owner})
        return own >= self._most_each or (len(self) >= self._most and own >= max(self._most // owners, 1))

    def push(self, owner: str, key: int, work: float) -> QueuePosition:
        """Let a request wait behind the owner's others; where it stands."""
        self._waiting.setdefault(owner, deque()).append(QueuedRequest(key, work))
        return self.place(owner, key)

    def put_back(self, owner: str, key: int, work: float) -> None:
        """Let a request wait before the owner's others: it was served in part and gave its place away."""
        self._waiting.setdefault(owner, deque()).appendleft(QueuedRequest(key, work))

    def place(self, owner: str, key: int) -> QueuePosition:
        """Where it stands now. Raises KeyError where it does not wait."""
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
        """Take out the request that is served next; None where none waits.

        `joins` says of an owner and its first request whether that can be served now: else others go before it.
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
        """Take out a request that nobody waits for any more, at no charge; whether it was there."""
        for owner, queue in self._waiting.items():
            if any(waiting.key == key for waiting in queue):
                self._waiting[owner] = deque(waiting for waiting in queue if waiting.key != key)
                self._tidy(owner)
                return True
        return False

    def _tidy(self, owner: str) -> None:
        if not self._waiting[owner]:
            del self._waiting[owner]
        if not self._waiting:  # nobody is compared with anybody
            self._turns = RoundRobin()
