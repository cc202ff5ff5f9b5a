"""Carries out the steps of a pipeline: has the model write texts, in the same batch as all answers, and searches the
corpus.

Every pipeline ends: rounds, queries and texts are limited. At a limit, or if the access token's quota is used up or the
engine has no room, the question itself is looked up, as `plain` does.
"""

import time
from collections.abc import Callable

from cloud_server.engine.jobs import Done
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES, PLAIN
from cloud_server.pipelines.fusion import fused
from cloud_server.pipelines.searching import Searching
from cloud_server.pipelines.steps import (
    MOST_QUERIES,
    MOST_ROUNDS,
    MOST_WRITES,
    Answer,
    LookUp,
    Passages,
    Reply,
    Say,
    Step,
    Write,
    Written,
    WrittenToken,
)
from cloud_server.pipelines.turn import Round, Turn
from cloud_server.pipelines.writing import Writing
from shared.protocol import messages as m


class _Abandoned(Exception):
    """Raised inside the runner to end a pipeline that has reached a limit or cannot write."""


class Runner:
    """Runs the named pipeline for one request. `searched` is called with the seconds that each round's search took."""

    def __init__(
        self,
        turn: Turn,
        answering: Answering,
        name: m.Pipeline,
        searched: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._turn, self._answering, self._name, self._searched = turn, answering, name, searched
        self._inquiry = answering.inquiry(turn.ask)
        self._searching = Searching(answering, self._inquiry, name)
        self._rounds = self._writes = 0
        self._said: tuple[int, ...] = ()
        self._cited: Passages | None = None
        self._last_done: Done | None = None

    async def run(self) -> Answer:
        """Run the pipeline to its end, and send the passages of its answer. Raises RequestOver."""
        try:
            answer = await self._driven(self._name)
            if answer is None and self._cited is not None:
                answer = Answer(self._cited, self._said)
            if answer is None and self._name != PLAIN:
                answer = await self._driven(PLAIN)
        finally:
            self._turn.later(self._searching.close)
        answer = answer or Answer(())
        self._cite(answer.passages)
        if answer.whole and self._last_done and self._turn.ask.generate:
            self._turn.end(self._last_done)
        return answer

    async def _driven(self, name: m.Pipeline) -> Answer | None:
        """Run the named pipeline. Return None if it found nothing or was abandoned."""
        steps = PIPELINES[name](self._inquiry)
        reply: Reply = None
        try:
            while True:
                reply = await self._reply(name, steps.send(reply))
        except StopIteration as ended:
            answer: Answer | None = ended.value
            return answer
        except _Abandoned:
            return None
        finally:
            steps.close()

    async def _reply(self, name: m.Pipeline, step: Step) -> Reply:
        match step:
            case Write():
                return await self._write(step)
            case LookUp():
                return await self._look_up(name, step)
            case Say():
                self._say(step)
                return None

    async def _write(self, step: Write) -> Written:
        self._writes += 1
        if self._writes > MOST_WRITES:
            raise _Abandoned
        job = await self._turn.compute(lambda: self._answering.draft_job(self._turn.ask, step))
        writing = self._turn.draft(job)
        if writing is None:
            raise _Abandoned
        if step.searched or step.before_question:
            await self._read_ahead(writing, step)
        done = await writing.end()
        if done is None:
            raise _Abandoned
        self._last_done = done
        tokens = tuple(WrittenToken(token.token, token.text, token.probability) for token in writing.tokens)
        return Written(tokens, not done.cut, step.stops)

    async def _read_ahead(self, writing: Writing, step: Write) -> None:
        """Read clusters ahead: near the last query, and again near the first half of a text that will be looked up,
        once that half is written.
        """
        await self._turn.compute(self._searching.begin)
        await writing.reach(1)
        self._searching.starts()
        if not step.searched:
            return
        await writing.reach(step.most // 2)
        if not writing.over:
            text = "".join(token.text for token in writing.tokens)
            await self._turn.compute(lambda: self._searching.refine(text))

    async def _look_up(self, name: m.Pipeline, step: LookUp) -> tuple[Passages, ...]:
        self._rounds += 1
        fits = self._rounds <= MOST_ROUNDS and 0 < len(step.queries) <= MOST_QUERIES
        allowed = fits and self._turn.may_search(len(step.queries))
        if not allowed and name != PLAIN:
            raise _Abandoned
        began = time.monotonic()
        vectors = await self._turn.compute(lambda: self._searching.embed(step))
        rankings = await self._turn.compute(
            lambda: self._searching.look_up(vectors),
            lambda: self._searching.provisional(self._turn.ask),
            searches=True,
        )
        self._searched(time.monotonic() - began)
        if name != PLAIN:
            self._turn.note(Round(name, step.queries, fused(rankings, self._inquiry.most)))
        return rankings

    def _say(self, step: Say) -> None:
        if self._turn.ask.generate:
            self._cite(step.passages)
            self._turn.say([(token.token, token.text) for token in step.tokens])
            self._said += tuple(token.token for token in step.tokens)

    def _cite(self, passages: Passages) -> None:
        if self._cited is None:
            self._cited = passages
            self._turn.cite(list(passages))
