"""The engine's measured throughput, and waiting times estimated from it. Work is in answer tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cloud_server.engine.fairness import QUANTUM
from cloud_server.engine.queue import work

MEMORY, OVER_S = 0.1, 30.0
"""MEMORY is the weight (at first 1) that a measurement still has after OVER_S more seconds of work."""

REQUESTS = 20
"""The number of requests over which the mean size of a request is averaged."""


@dataclass(frozen=True, slots=True)
class ExpectedWait:
    """The expected wait of a queued request: the number of requests served before it, and the seconds."""

    position: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """The engine's current load: the remaining prompt work of each access token (owner), and the number of rows
    (prompts with an answer) being decoded.
    """

    prompts: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0

    def before(self, owner: str, prompt: float) -> float:
        """Return the work that is done before a new prompt of the access token `owner` is prefilled, without the
        prompt's own work, which is `prompt`.

        Owners take turns by chunk, and every running row is decoded once per chunk.
        """
        own = self.prompts.get(owner, 0.0)
        mine = own + prompt
        others = sum(min(left, mine) for other, left in self.prompts.items() if other != owner)
        return own + others + self.rows * (mine + others) / QUANTUM


@dataclass(slots=True)
class Throughput:
    """Running averages, weighted towards recent measurements: the work `done` in `seconds` by all answers together, and
    the mean work of a `request` and mean number of tokens of an `answer`. The defaults are used until something is
    measured.
    """

    done: float = 50.0
    seconds: float = 1.0
    request: float = 100.0
    answer: float = 40.0

    def did(self, work: float, seconds: float) -> None:
        """Record an engine step that did `work` in `seconds` seconds."""
        keep = MEMORY ** min(seconds / OVER_S, 1.0)
        self.done = keep * self.done + work
        self.seconds = keep * self.seconds + seconds

    def served(self, prompt_tokens: int, answer_tokens: int, rows: int = 1) -> None:
        """Record a request that was served completely: the prompt tokens computed, and its answer's tokens and rows."""
        self.request += (work(prompt_tokens, rows * answer_tokens) - self.request) / REQUESTS
        self.answer += (answer_tokens - self.answer) / REQUESTS

    def takes_s(self, work: float) -> float:
        """Return the seconds that the engine needs for `work`."""
        return work * self.seconds / max(self.done, 1e-6)

    def wait_s(self, ahead: float) -> float:
        """Return the seconds until the work `ahead` of a request is done and a sequence is free. All sequences are
        assumed to be taken and to become free at even intervals: one in the time that a mean request's work takes.
        """
        return self.takes_s(ahead + self.request)
