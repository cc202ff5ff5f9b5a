"""How fast the engine works, as measured, and how long a request will wait by that. Work is in answer tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cloud_server.engine.fairness import QUANTUM
from cloud_server.engine.queue import work

MEMORY, OVER_S = 0.1, 30.0
"""What the pace weighs that was measured so many seconds of work ago."""

REQUESTS = 20
"""Over about so many requests their size is averaged."""


@dataclass(frozen=True, slots=True)
class ExpectedWait:
    """How many requests are served before this one, and the wait that is expected of that, in seconds."""

    position: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What shares the engine now: the work left of each owner's prompts, and the rows whose answers are written."""

    prompts: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0

    def before(self, owner: str, prompt: float) -> float:
        """Work that is done until a prompt of the owner is computed, without its own: prompts take turns by owner, and
        every row is decoded once for each chunk.
        """
        own = self.prompts.get(owner, 0.0)
        mine = own + prompt
        others = sum(min(left, mine) for other, left in self.prompts.items() if other != owner)
        return own + others + self.rows * (mine + others) / QUANTUM


@dataclass(slots=True)
class Throughput:
    """What was measured, the newest most: work done in a second by all answers together, and work and answer tokens of
    one request.
    """

    done: float = 50.0
    seconds: float = 1.0
    request: float = 100.0
    answer: float = 40.0

    def did(self, work: float, seconds: float) -> None:
        """Note a step."""
        keep = MEMORY ** min(seconds / OVER_S, 1.0)
        self.done = keep * self.done + work
        self.seconds = keep * self.seconds + seconds

    def served(self, prompt_tokens: int, answer_tokens: int, rows: int = 1) -> None:
        """Note a request that was served to its end."""
        self.request += (work(prompt_tokens, rows * answer_tokens) - self.request) / REQUESTS
        self.answer += (answer_tokens - self.answer) / REQUESTS

    def takes_s(self, work: float) -> float:
        """Seconds that so much work takes."""
        return work * self.seconds / max(self.done, 1e-6)

    def wait_s(self, ahead: float) -> float:
        """Until the work before is done and a sequence is free; they are all taken, and end at even intervals."""
        return self.takes_s(ahead + self.request)
