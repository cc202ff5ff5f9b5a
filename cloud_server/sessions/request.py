"""One request of a device, from its question to its end. All but its computing and searching is on the event loop."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from cloud_server.engine.jobs import Broken, Displaced, Done, Draft, EngineEvent, Job, Supplied, Token
from cloud_server.monitoring.unforeseen import UNFORESEEN, log_unforeseen
from cloud_server.pipelines.drafting import Drafting
from cloud_server.pipelines.provisional import Prompts, Provisional
from cloud_server.pipelines.turn import Round
from cloud_server.pipelines.writing import RequestOver, Writing, until_over
from cloud_server.sessions.joint import Joint, JointCallbacks
from cloud_server.sessions.services import Device
from cloud_server.sessions.token_flow import TokenFlow
from shared.aggregation.messages import Weighed
from shared.aggregation.weights import log_weight
from shared.errors import JackdawError, ProtocolError
from shared.protocol import messages as m

_LONGEST_MS = 2**31 - 1
"""The longest wait, in milliseconds, that a message can hold."""

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class Request:
    """One request of a device. `on_over` is called once, at its end; `joint` is set for a joint answer.

    Implements `Turn`.
    """

    def __init__(self, ask: m.Ask, device: Device, on_over: Callable[[], None]) -> None:
        self.ask = ask
        self.passages: list[m.PublicPassage] = []
        self.joint: Joint | None = None
        self.over = False
        self._device, self._parts, self._on_over = device, device.parts, on_over
        self._flow = TokenFlow(device.session, ask.request, ask.max_tokens)
        self._received_at, self._queued_at = time.monotonic(), 0.0
        self._first_token_at: float | None = None
        self._prompt_tokens = 0
        self._key: int | None = None  # the key of its generation job, once it has one
        self._done: Done | None = None
        self._said = 0  # tokens of the answer that were generated as drafts
        keys = lambda: device.new_key(ask.request), device.release_key
        self._drafting = Drafting(device.parts.generation, device.quota, device.name, *keys)
        self._provisional = Provisional(device.parts.generation, device.name, device.parts.threads.searchers, *keys)
        self._task: asyncio.Task[None] | None = None
        self._waits = False  # queued to search or tokenise: nothing is computed yet

    def write_jointly(self) -> None:
        """Make the answer a joint one, written by the device and the server together."""
        session, number = self._device.session, self.ask.request
        hands = JointCallbacks(self._device.send, self._joint_over, lambda: session.sendable(number) > 0, self.guarded)
        self.joint = Joint(self.ask, self._parts.answering.engine, self._parts.generation, hands)

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start the pipeline's work for the request."""
        self._waits = True  # queued even before its first step
        self._task = asyncio.get_running_loop().create_task(until_over(work))
        self._task.add_done_callback(self._task_ended)

    async def compute(
        self, work: Callable[[], Result], provisional: Prompts | None = None, *, searches: bool = False
    ) -> Result:
        """Run work in a thread, a searcher's if it `searches`; prefill `provisional` meanwhile. Raises RequestOver."""
        self._require_open()
        threads = self._parts.threads.searchers if searches else self._parts.threads.readers
        self._waits = True
        try:
            async with self._device.quota.reading:
                self._waits = False
                with self._provisional.during(provisional if self.ask.generate else None):
                    return await asyncio.get_running_loop().run_in_executor(threads, work)
        except JackdawError as error:  # logged only, as the error may name the server's files
            facts = {"client": self._device.name, "error": type(error).__name__, "detail": str(error)}
            log.error("failed", extra=facts)  # noqa: TRY400  (no traceback is wanted)
            if not self.over:
                self.fail("internal", UNFORESEEN)
            raise RequestOver from error

    def later(self, work: Callable[[], None]) -> None:
        """Run the work in a reader thread, even if the request ends meanwhile."""
        self._parts.threads.later(work)

    @property
    def version(self) -> int:
        """The protocol version that the device speaks."""
        return self._device.session.version

    def may_search(self, count: int) -> bool:
        """Return whether the token's quota allows this many searches now; if so, charge them. Raises RequestOver."""
        self._require_open()
        return self._drafting.may_search(count)

    def draft(self, job: Job) -> Writing | None:
        """Queue a job whose text is not sent to the device; None if it cannot be queued now. Raises RequestOver."""
        self._require_open()
        return self._drafting.begin(job)

    def note(self, looked_up: Round) -> None:
        """Send the device a round of retrieval, if its protocol version and queue allow. Raises RequestOver."""
        self._require_open()
        if number := self._device.session.next_round(self.ask.request):
            queries = tuple(query[: m.MOST_QUERY] for query in looked_up.queries[: m.MOST_QUERIES])
            passages = tuple(looked_up.passages[: m.MOST_PASSAGES])
            self._device.send(m.Round(self.ask.request, number, looked_up.pipeline, queries, passages))

    def cite(self, passages: list[m.PublicPassage]) -> None:
        """Send the device the passages from which the answer will be written. Raises RequestOver."""
        self._require_open()
        self.passages = passages
        named = self.ask.sources or not passages
        self._device.send(m.Sources(self.ask.request, () if named else tuple(passages)))
        if self.joint and not passages:
            self.fail("no_source", "The server found no passages for the question.")
        elif self.joint:
            self.joint.receive(Weighed(log_weight([passage.similarity for passage in passages])))
        self._require_open()

    def say(self, tokens: Sequence[tuple[int, str]]) -> None:
        """Send the answer's next tokens with their text, as far as the device's credit allows. Raises RequestOver."""
        self._require_open()
        self._note_first_token()
        for token, text in tokens:
            self._flow.add(Token(0, 0, token, text))
        self._said += len(tokens)
        self.flush()

    def end(self, done: Done) -> None:
        """End the answer; the tokens sent so far are the whole answer. Raises RequestOver."""
        self._require_open()
        self._done = done
        self.flush()

    def write(self, job: Job, begin: m.Ask | m.Start) -> None:
        """Queue the job that continues the answer after the tokens accepted in `begin`. Raises RequestOver."""
        self._require_open()
        generation, joint = self._parts.generation, self.joint
        if not generation.possible(job):
            rows = " in separate rows" if len(job.rows) > 1 else ""
            self.fail("too_long", f"The question and its sources are too long{rows} for the server's model.")
            return
        if not self._said:
            self._flow.begin(len(begin.accepted), len(job.accepted) - len(begin.accepted))
        if joint:
            job = replace(job, accepted=joint.settled)  # as many as are settled by now
        self._prompt_tokens = job.prompt_tokens
        self._queued_at = time.monotonic()
        self._key = self._device.new_key(self.ask.request)
        promise = generation.ask(self._device.name, self._key, job, joint.upto if joint else self._flow.upto)
        if joint:
            joint.begins(self._key)
        if promise is None:
            wait = round(generation.pace.wait_s(0.0), 1)
            self.fail("busy", "Too many requests are waiting for the server's model already. Ask again later.", wait)
            return
        self._parts.metrics.promised.observe(promise.wait_s)
        if self._said:
            return  # no queue position is sent in the middle of an answer
        wait_ms = min(round(promise.wait_s * 1000), _LONGEST_MS)
        self._device.send(m.Queued(self.ask.request, promise.position, wait_ms))

    def written(self, event: EngineEvent) -> None:
        """Process one event of the generation; `flush` sends the results of all events of a step."""
        if event.key != self._key and self._drafting.take(event):
            return
        match event:
            case Token():
                self._note_first_token()
                if self._done is None:  # no token follows the answer's end
                    self._flow.add(event)
            case Draft() | Supplied():
                self._note_first_token()
                if self.joint:
                    self.joint.written(event)
            case Done():
                self._done = event
            case Broken():
                self.fail("internal", event.why)
            case Displaced():
                self.fail(
                    "busy", "The answer was stopped, since other requests wait for its place in the engine. Ask again."
                )

    @property
    def stands(self) -> bool:
        """Whether tokens or the end of the answer may be waiting to be sent."""
        return bool(self._flow.pending or self._done or self.joint)

    def flush(self) -> None:
        """Send the tokens and events that may be sent now; after the last token, finish the request."""
        if self.joint:
            self.joint.flush()
        if self.over:
            return
        self._flow.flush(self._device.send)
        if self._done and not self._flow.pending:
            rest = self._done.rest if self._device.session.handover == "text" else ""
            self._finish("length" if self._done.cut else "end", rest)

    def allow(self) -> None:
        """Let the generation continue up to the token index that the device's credit allows."""
        if self._key is not None and not (self.joint or self.over):
            self._parts.generation.allow(self._key, self._flow.upto)

    def cancel(self) -> None:
        """End the request as cancelled by the device."""
        self._flow.drop()
        self._finish("cancelled")

    def fail(self, code: m.FailureCode, message: str, retry_after_s: float | None = None) -> None:
        """End the request with a failure message."""
        self.close()
        self._parts.metrics.answers.labels(code).inc()
        log.info("refused", extra={"client": self._device.name, "reason": code})
        retry_after_s = None if retry_after_s is None else min(retry_after_s, 3600.0)
        self._device.send(m.Failed(self.ask.request, code, message, retry_after_s))

    def give_up(self) -> None:
        """Try to send a failure message after an unexpected error, whose cause may be the session itself."""
        if not self.over:
            with suppress(ProtocolError):
                self.fail("internal", UNFORESEEN)

    def close(self) -> None:
        """End the request without a message."""
        if self.over:
            return
        self.over = True
        self._on_over()
        if self._task and self._waits:
            self._task.cancel()  # otherwise a device that asks and cancels repeatedly would queue any number of tasks
        self._drafting.close()
        self._provisional.close()
        if self.joint:
            self.joint.close()
        if self._key is not None:
            if self._done is None:
                self._parts.generation.cancel(self._key)
            self._device.release_key(self._key)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Within the block, let an error fail this request only."""
        try:
            yield
        except Exception as error:
            log_unforeseen(log, "failed", error, client=self._device.name)
            self.give_up()

    def _joint_over(self, reason: str) -> None:
        if self.over:
            return
        if reason == "lost":
            self.fail("internal", "The device sent nothing for the joint answer for too long.")
        else:
            self._finish(reason)

    def _finish(self, reason: str, rest: str = "") -> None:
        waited = (self._first_token_at or time.monotonic()) - self._queued_at if self._queued_at else 0.0
        joined = self._done.joined if self._done else 0
        prompt, generated = self._prompt_tokens + self._drafting.prompt_tokens, self._generated
        generated += max(self._drafting.generated - self._said, 0)  # drafts that were sent count as the answer
        usage = m.Usage(prompt, joined, generated, round(waited * 1000))
        self.close()
        self._parts.metrics.answers.labels(reason).inc()
        log.info("answered", extra={"client": self._device.name, "reason": reason, "tokens": usage.generated})
        self._device.send(m.Finished(self.ask.request, reason, usage, rest))  # type: ignore[arg-type]

    @property
    def _generated(self) -> int:
        """The number of the answer's tokens written so far, by both sides for a joint answer."""
        if self._key is None and not self._said:
            return 0
        written = len(self.joint.settled) if self.joint else self._flow.next
        return max(written - len(self.ask.accepted), 0)

    def _note_first_token(self) -> None:
        if self._first_token_at is None:
            self._first_token_at = time.monotonic()
            self._parts.metrics.first_token.observe(self._first_token_at - self._received_at)

    def _require_open(self) -> None:
        if self.over:
            raise RequestOver

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        """Fail the request if its task failed, as nothing would end it otherwise."""
        error = None if task.cancelled() else task.exception()
        if error:
            log_unforeseen(log, "failed", error, client=self._device.name)
            self.give_up()
