"""The loop of search and generation that answers a request: one search, then one answer from what it found.

Knows no session and no engine: what becomes of it is said to the `Turn`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cloud_server.engine.jobs import Job
from cloud_server.monitoring.metrics import Metrics
from cloud_server.pipelines.answering import Answering
from shared.protocol import messages as m

Result = TypeVar("Result")


class RequestOver(Exception):
    """The request has ended: nobody waits for what its pipeline would do next."""


@dataclass(frozen=True, slots=True)
class Round:
    """A round of retrieval: what was looked up by which pipeline, and what that found, the best first."""

    pipeline: m.Pipeline
    queries: Sequence[str]
    passages: Sequence[m.PublicPassage]


class Turn(Protocol):
    """What a pipeline may do for one request. Any method raises RequestOver."""

    @property
    def ask(self) -> m.Ask:
        """What the device has asked."""

    @property
    def passages(self) -> list[m.PublicPassage]:
        """What the answer is to be written from, the best first; empty before `cite`."""

    async def compute(self, work: Callable[[], Result]) -> Result:
        """Search or tokenise outside the event loop, one piece of work of a token's devices at a time.

        What goes wrong in it fails the request.
        """

    def cite(self, passages: list[m.PublicPassage]) -> None:
        """Say from which passages the answer will be written."""

    def note(self, looked_up: Round) -> None:
        """Tell the device what was looked up, as far as it has words and room for that: at any time before the end."""

    def write(self, job: Job, begin: m.Ask | m.Start) -> None:
        """Queue the job, which goes on from where `begin` says that the answer stands."""


class Pipeline:
    """Answers requests."""

    def __init__(self, answering: Answering, metrics: Metrics) -> None:
        self._answering, self._metrics = answering, metrics

    async def answer(self, turn: Turn) -> None:
        """Search, say what was found, and generate where that is asked for. Raises RequestOver."""
        began = time.monotonic()
        passages = await turn.compute(lambda: self._answering.find(turn.ask))
        self._metrics.search.observe(time.monotonic() - began)
        turn.cite(passages)
        if turn.ask.generate:
            await self.generate(turn, turn.ask)

    async def generate(self, turn: Turn, begin: m.Ask | m.Start) -> None:
        """Have the answer written from what was cited. Raises RequestOver."""
        job = await turn.compute(lambda: self._answering.job(turn.ask, begin, turn.passages))
        turn.write(job, begin)
