"""Measures pipelines on questions with known answers, with the server's own model, embedder and index. Many questions
are generated in one batch, as devices' requests are.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from statistics import fmean
from typing import Self, TypeVar

from cloud_server.access.quota import Quota
from cloud_server.engine.batch import Batch
from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Done, EngineEvent, Job
from cloud_server.engine.queue import FairQueue
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.catalog import PIPELINES, PLAIN
from cloud_server.pipelines.drafting import Drafting
from cloud_server.pipelines.measurements import PipelineRecall
from cloud_server.pipelines.provisional import Prompts
from cloud_server.pipelines.recall import KnownQuestion, interval
from cloud_server.pipelines.runner import Runner
from cloud_server.pipelines.turn import Round
from cloud_server.pipelines.writing import Writing
from cloud_server.settings import Limits
from shared.errors import EngineLost
from shared.protocol import messages as m

LEVEL = 1 - 0.05 / (len(PIPELINES) - 1)
"""The confidence level of each interval, chosen so that in 95 of 100 measurements every interval contains the true
value (Bonferroni).
"""

MOST_TOGETHER = 16
"""The number of questions that are measured at once."""

_MAX_TOKENS = 256
_UNLIMITED = Limits(tokens_per_minute=1e9, searches_per_minute=1e6)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The result of a pipeline for a question: the passages that it found, and the number of tokens that it wrote."""

    passages: tuple[m.PublicPassage, ...]
    tokens: int


@dataclass
class QuestionTurn:
    """A question of a measurement, for which only passages are wanted. Implements `Turn`."""

    ask: m.Ask
    drafting: Drafting
    readers: ThreadPoolExecutor
    passages: list[m.PublicPassage] = field(default_factory=list)
    version: int = max(m.VERSIONS)

    async def compute(
        self,
        work: Callable[[], Result],
        provisional: Prompts | None = None,  # noqa: ARG002
        *,
        searches: bool = False,  # noqa: ARG002
    ) -> Result:
        """Run `work` outside the event loop. Nothing is prefilled, because no answer is wanted."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, work)

    def later(self, work: Callable[[], None]) -> None:
        """Run the work at once, in the event loop, because no device waits for it."""
        work()

    def may_search(self, count: int) -> bool:
        """Return True, as the quota of a measurement is practically unlimited, and charge the searches to it."""
        return self.drafting.may_search(count)

    def draft(self, job: Job) -> Writing | None:
        """Queue a job and return its text; None if the engine has no room for the job."""
        return self.drafting.begin(job)

    def cite(self, passages: list[m.PublicPassage]) -> None:
        """Record the passages that the pipeline found."""
        self.passages = passages

    def note(self, looked_up: Round) -> None:
        """Ignore the round of retrieval, because no device waits for it."""

    def say(self, tokens: Sequence[tuple[int, str]]) -> None:
        """Ignore the answer's tokens, because no device waits for them."""

    def end(self, done: Done) -> None:
        """Ignore the end of the answer, because no device waits for it."""

    def write(self, job: Job, begin: m.Ask | m.Start) -> None:
        """Ignore the job that would write the answer, because no answer is wanted."""


class Workbench:
    """Runs pipelines on questions without devices. Use it in an `async with` block, which starts and stops the
    generation.
    """

    def __init__(self, answering: Answering, batch: Batch) -> None:
        self.generation = Generation(batch, FairQueue(10_000, 10_000), self._deliver, self._lose)
        self._answering = answering
        self._draftings: dict[int, Drafting] = {}
        self._keys = count(1)
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._lost: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self.generation.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.generation.stop()
        self._readers.shutdown(cancel_futures=True)

    async def retrieve(self, pipeline: m.Pipeline, question: str, most: int) -> Retrieval:
        """Run a pipeline on a question, for at most `most` passages. Raises EngineLost, StoreError."""

        def new_key() -> int:
            key = next(self._keys)
            self._draftings[key] = drafting
            return key

        quota = Quota(_UNLIMITED, time.monotonic())
        drafting = Drafting(self.generation, quota, "measure", new_key, self._forget)
        ask = m.Ask(1, question, False, most, _MAX_TOKENS, 0, pipeline=pipeline)
        turn = QuestionTurn(ask, drafting, self._readers)
        try:
            await Runner(turn, self._answering, pipeline).run()
        finally:
            drafting.close()
        if self._lost:
            raise EngineLost(
                "The engine has stopped working. To find out why, run: jackdaw-server doctor"
            ) from self._lost
        return Retrieval(tuple(turn.passages), drafting.generated)

    def _forget(self, key: int) -> None:
        self._draftings.pop(key, None)

    def _deliver(self, events: Sequence[EngineEvent], _spent: Mapping[str, int]) -> None:
        """Pass the generation's events on to the event loop. Called on the generation's thread."""
        with suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._take, events)

    def _lose(self, error: BaseException) -> None:
        """Record that the engine has failed. Called on the generation's thread."""
        self._lost = error

    def _take(self, events: Sequence[EngineEvent]) -> None:
        for event in events:
            if drafting := self._draftings.get(event.key):
                drafting.take(event)


async def measure(
    workbench: Workbench, questions: Sequence[KnownQuestion], most: int, on_progress: Callable[[int], None]
) -> tuple[PipelineRecall, ...]:
    """Run every pipeline on every question. Return, for each pipeline, its recall in its best `most` passages, compared
    with the plain pipeline.

    `on_progress` gets the number of finished runs. Raises EngineLost, StoreError.
    """
    free, over = asyncio.Semaphore(MOST_TOGETHER), count(1)

    async def run(pipeline: m.Pipeline, known: KnownQuestion) -> Retrieval:
        async with free:
            retrieval = await workbench.retrieve(pipeline, known.question, most)
        on_progress(next(over))
        return retrieval

    jobs = [(pipeline, known) for known in questions for pipeline in PIPELINES]
    made = await asyncio.gather(*(run(pipeline, known) for pipeline, known in jobs))
    retrievals = {
        pipeline: [each for (name, _), each in zip(jobs, made, strict=True) if name == pipeline]
        for pipeline in PIPELINES
    }
    return compared(questions, retrievals)


def compared(
    questions: Sequence[KnownQuestion], retrievals: Mapping[m.Pipeline, Sequence[Retrieval]]
) -> tuple[PipelineRecall, ...]:
    """Return each pipeline's recall, and the confidence interval of its difference from the plain pipeline, paired by
    question.
    """
    recalls = {
        pipeline: [known.recall(each.passages) for known, each in zip(questions, made, strict=True)]
        for pipeline, made in retrievals.items()
    }
    measured = []
    for pipeline, recall in recalls.items():
        differences = [mine - plain for mine, plain in zip(recall, recalls[PLAIN], strict=True)]
        low, high = interval(differences, LEVEL)
        firsts = [
            known.recall(each.passages[:1]) > 0 for known, each in zip(questions, retrievals[pipeline], strict=True)
        ]
        tokens = fmean(each.tokens for each in retrievals[pipeline])
        measured.append(PipelineRecall(pipeline, fmean(recall), fmean(firsts), low, high, tokens))
    return tuple(measured)
