"""Who is served next: fair queueing over devices by a virtual token counter (Sheng et al., 2024, section 4.1).

Each device's requests are served in order; among devices that wait, the one that was served least work goes first.
What was idle gains no credit by it. Pure but for its own state: no clock, no thread.
"""

from collections import deque
from dataclasses import dataclass

PROMPT_WORK = 0.25
"""A token of a prompt takes about this share of the time that a token of an answer takes, written alone."""


def work(prompt_tokens: int, answer_tokens: float) -> float:
    """What a request takes, in answer tokens."""
    return PROMPT_WORK * prompt_tokens + answer_tokens


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits, and what it takes, in answer tokens."""

    key: int
    work: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands: how many will be served before it, as things are, and their work."""

    position: int
    ahead: float


class FairQueue:
    """Requests waiting for the engine: at most `most` of them, and at most `most_each` of one owner."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most, self._most_each = most, most_each
        self._waiting: dict[str, deque[Waiting]] = {}
        self._served: dict[str, float] = {}

    def __len__(self) -> int:
        """Requests that wait."""
        return sum(map(len, self._waiting.values()))

    def full(self, owner: str) -> bool:
        """Whether nothing more of this owner can wait."""
        return len(self) >= self._most or len(self._waiting.get(owner, ())) >= self._most_each

    def push(self, owner: str, key: int, work: float) -> Place:
        """Let a request wait; where it stands."""
        if owner not in self._waiting:
            least = min((self._served[other] for other in self._waiting), default=self._level())
            self._served[owner] = max(self._served.get(owner, 0.0), least)
            self._waiting[owner] = deque()
        self._waiting[owner].append(Waiting(key, work))
        return self.place(owner, key)

    def place(self, owner: str, key: int) -> Place:
        """Where it stands now. Raises KeyError where it does not wait."""
        before, served = [], self._served[owner]
        for waiting in self._waiting[owner]:
            if waiting.key == key:
                break
            before.append(waiting)
            served += waiting.work
        else:
            raise KeyError(key)
        for other in self._waiting.keys() - {owner}:
            level = self._served[other]
            for waiting in self._waiting[other]:
                if level > served:
                    break
                before.append(waiting)
                level += waiting.work
        return Place(len(before), sum(one.work for one in before))

    def first(self) -> Waiting | None:
        """The request that is served next."""
        return self._waiting[self._next()][0] if self._waiting else None

    def pop(self) -> Waiting:
        """Take it out. Raises ValueError where none waits."""
        owner = self._next()
        waiting = self._waiting[owner].popleft()
        self._served[owner] += waiting.work
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

    def _next(self) -> str:
        return min(self._waiting, key=lambda owner: self._served[owner])

    def _level(self) -> float:
        """Where an owner begins when nobody waits: as those who were served last, so that nobody is owed the past."""
        return max(self._served.values(), default=0.0)

    def _tidy(self, owner: str) -> None:
        if not self._waiting[owner]:
            del self._waiting[owner]
        if not self._waiting:  # nobody is compared with anybody
            self._served.clear()
