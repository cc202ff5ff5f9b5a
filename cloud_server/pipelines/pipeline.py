"""Answers a request: runs the chosen pipeline, then generates one answer from the passages that it found.

Independent of sessions and the engine: all results go to the `Turn`.
"""

import time

from cloud_server.monitoring.metrics import Metrics
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PLAIN, choose
from cloud_server.pipelines.runner import Runner
from cloud_server.pipelines.searching import Searching
from cloud_server.pipelines.steps import LookUp
from cloud_server.pipelines.turn import Turn
from shared.protocol import messages as m


class Pipeline:
    """Answers requests, each with the pipeline chosen for it."""

    def __init__(self, answering: Answering, metrics: Metrics) -> None:
        self._answering, self._metrics = answering, metrics

    async def answer(self, turn: Turn) -> None:
        """Search, send the found passages, and generate an answer if the request wants an answer. Raises
        RequestOver.
        """
        name = choose(turn.ask, turn.version, self._answering.preferred)
        if name != PLAIN:
            await self._run(turn, name)
            return
        began = time.monotonic()
        passages = await self._passages(turn)
        self._metrics.search.observe(time.monotonic() - began)
        turn.cite(passages)
        if turn.ask.generate:
            await self.generate(turn, turn.ask)

    async def _passages(self, turn: Turn) -> list[m.PublicPassage]:
        """Return the passages to answer from: those that the request names, or else the nearest relevant passages."""
        ask, answering = turn.ask, self._answering
        if ask.sources or not ask.passages or answering.corpus is None:
            return await turn.compute(lambda: answering.named(ask), searches=bool(ask.sources))
        searching = Searching(answering, answering.inquiry(ask), PLAIN)
        vectors = await turn.compute(lambda: searching.embed(LookUp((ask.question,))))
        [passages] = await turn.compute(
            lambda: searching.look_up(vectors), lambda: searching.provisional(ask), searches=True
        )
        return list(passages)

    async def generate(self, turn: Turn, begin: m.Ask | m.Start) -> None:
        """Queue the job that writes the answer from the passages already sent. Raises RequestOver."""
        job = await turn.compute(lambda: self._answering.job(turn.ask, begin, turn.passages))
        turn.write(job, begin)
        turn.later(lambda: self._answering.count(turn.passages))

    async def _run(self, turn: Turn, name: m.Pipeline) -> None:
        answer = await Runner(turn, self._answering, name, self._metrics.search.observe).run()
        if turn.ask.generate and not answer.whole:
            ask, said = turn.ask, answer.accepted
            job = await turn.compute(lambda: self._answering.job(ask, ask, answer.passages, said))
            turn.write(job, ask)
            turn.later(lambda: self._answering.count(answer.passages))
