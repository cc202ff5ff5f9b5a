"""What one device has asked, and what becomes of it, while its connection comes and goes.

Everything here runs on the event loop's thread, but for finding and tokenising.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol, TypeVar

from cloud_server.access.quota import Quota
from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Broken, Displaced, Done, Draft, Supplied, Token
from cloud_server.engine.jobs import Event as Written
from cloud_server.monitoring.metrics import Metrics
from cloud_server.monitoring.unforeseen import UNFORESEEN, log_unforeseen
from cloud_server.pipelines.answering import Answering
from cloud_server.sessions.joint import Hands, Joint
from shared.aggregation.messages import Weighed
from shared.aggregation.weights import log_weight
from shared.errors import JackdawError, ProtocolError
from shared.protocol import messages as m
from shared.protocol.server import Arrived, ServerSession

MOST_IDS = 512
"""Tokens in one message."""

_LONGEST_MS = 2**31 - 1
"""The longest wait that a message can hold."""

Found = TypeVar("Found")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What requests are served with. `leaving` says whether the server takes nothing new."""

    answering: Answering
    generation: Generation
    readers: Executor
    metrics: Metrics
    log_questions: bool
    leaving: Callable[[], bool]


class Keys(Protocol):
    """Who hears what becomes of a job."""

    def taken(self, requests: "Requests", request: int) -> int:
        """A new key for the request's job."""

    def given_back(self, key: int) -> None:
        """Nothing more comes of the job."""


@dataclass(slots=True)
class _Request:
    """`next` is the index of the next token to send, `before` how many more the engine counts in front of it.

    `joint` is set where the device writes, too. `waits` says whether the task is only in line to search or tokenise.
    """

    ask: m.Ask
    asked: float
    passages: list[m.PublicPassage] = field(default_factory=list)
    key: int | None = None
    next: int = 0
    before: int = 0
    prompt_tokens: int = 0
    queued: float = 0.0
    begun: float | None = None
    pending: deque[Token] = field(default_factory=deque)
    done: Done | None = None
    joint: Joint | None = None
    task: "asyncio.Task[None] | None" = None
    waits: bool = False

    @property
    def written(self) -> int:
        """Tokens of the answer that it has written until now, or both sides have."""
        written = len(self.joint.settled) if self.joint else self.next
        return max(written - len(self.ask.accepted), 0) if self.key is not None else 0


class Requests:
    """A device's. `name` is its token's, `send` says what becomes of a request, as far as the session lets it."""

    def __init__(
        self, session: ServerSession, name: str, parts: Parts, keys: Keys, quota: Quota, send: Callable[[m.Event], None]
    ) -> None:
        self._session, self._name, self._parts, self._keys, self._quota = session, name, parts, keys, quota
        self._send = send
        self._requests: dict[int, _Request] = {}

    def __len__(self) -> int:
        """Those that are being answered."""
        return len(self._requests)

    def handle(self, message: Arrived) -> None:
        """Take what the device says. Raises ProtocolError; any other error fails the request that it is about."""
        try:
            self._handle(message)
        except ProtocolError:
            raise
        except Exception as error:
            self._broke(getattr(message, "request", None), error)

    def _handle(self, message: Arrived) -> None:
        match message:
            case m.Weight() | m.Drafts() | m.Targets() | m.Switch() | m.Fetch():
                if (standing := self._requests.get(message.request)) and standing.joint:
                    standing.joint.hear(message)
            case m.Ask():
                standing = self._requests[message.request] = _Request(message, time.monotonic())
                standing.joint = self._joint(message) if message.ahead else None
                if refused := self._refused(message):
                    self._fail(message.request, *refused)
                else:
                    self._begin(standing, self._find(standing))
            case m.Start():
                if standing := self._requests.get(message.request):
                    self._start(standing, message)
            case m.Credit():
                self._flush(message.request)
                self._allow(message.request)
            case m.Acknowledge():
                for request, standing in list(self._requests.items()):
                    if standing.pending or standing.done or standing.joint:
                        self._flush(request)
                        self._allow(request)
            case m.Cancel():
                self._cancel(message.request)

    def written(self, event: Written, request: int) -> None:
        """Take what the generation brought; `flush` sends it."""
        if standing := self._requests.get(request):
            try:  # `_guarded` for every token would cost as much as encoding it
                self._written(event, request, standing)
            except Exception as error:
                self._broke(request, error)

    def _written(self, event: Written, request: int, standing: _Request) -> None:
        match event:
            case Token():
                self._begun(standing)
                standing.pending.append(event)
            case Draft() | Supplied():
                self._begun(standing)
                if standing.joint:
                    standing.joint.written(event)
            case Done():
                standing.done = event
            case Broken():
                self._fail(request, "internal", event.why)
            case Displaced():
                self._fail(request, "busy", "Others wait for its place in the engine. Ask again.")

    def flush(self, requests: Iterable[int] | None = None) -> None:
        """Send what may be sent of these, or of all."""
        for request in tuple(self._requests) if requests is None else requests:
            try:
                self._flush(request)
            except Exception as error:
                self._broke(request, error)

    def look(self, now: float, cut_at: float | None) -> None:
        """Write no more with a device that says nothing of an answer; `cut_at` is since when it is not there."""
        for standing in tuple(self._requests.values()):
            if standing.joint:
                standing.joint.look(now, cut_at)

    def end(self) -> None:
        """Nobody waits for them."""
        for request in list(self._requests):
            self._drop(request)

    def _begun(self, standing: _Request) -> None:
        if standing.begun is None:
            standing.begun = time.monotonic()
            self._parts.metrics.first_token.observe(standing.begun - standing.asked)

    def _refused(self, ask: m.Ask) -> tuple[m.FailureCode, str, float | None] | None:
        now = time.monotonic()
        if self._parts.leaving():
            return "going_away", "The server ends. Ask again in a minute.", None
        if unknown := self._unknown(ask):
            return unknown
        if ask.generate and (used_up := self._used_up(now)):
            return used_up
        if ask.passages or ask.sources:  # named ones are read from the same index
            if wait := self._quota.searches_wait_s(now):
                return "limit", "This token has used its searches of the minute.", wait
            self._quota.searched(now)
        return None

    def _used_up(self, now: float) -> tuple[m.FailureCode, str, float | None] | None:
        wait = self._quota.tokens_wait_s(now)
        return ("limit", "This token has used its tokens of the minute.", wait) if wait else None

    def _unknown(self, begin: m.Ask | m.Start) -> tuple[m.FailureCode, str, float | None] | None:
        if self._parts.answering.knows(begin.accepted):
            return None
        return "invalid", "The answer to go on with holds a token that the server's model does not know.", None

    def _start(self, standing: _Request, start: m.Start) -> None:
        if refused := self._unknown(start) or self._used_up(time.monotonic()):
            self._fail(start.request, *refused)
        else:
            self._begin(standing, self._generate(standing, start))

    def _begin(self, standing: _Request, work: Coroutine[None, None, None]) -> None:
        standing.waits = True  # before its first step, too
        standing.task = asyncio.get_running_loop().create_task(work)
        standing.task.add_done_callback(partial(self._ended, standing))

    def _ended(self, standing: _Request, task: "asyncio.Task[None]") -> None:
        """Whatever ended the work: nobody waits for what does not come."""
        error = None if task.cancelled() else task.exception()
        if error:
            log_unforeseen(log, "failed", error, client=self._name)
            if self._alive(standing):
                self._give_up(standing.ask.request)

    async def _find(self, standing: _Request) -> None:
        ask = standing.ask
        if self._parts.log_questions:
            log.info("asked", extra={"client": self._name, "question": ask.question})
        begun = time.monotonic()
        try:
            standing.passages = await self._read(standing, lambda: self._parts.answering.find(ask))
        except JackdawError as error:
            self._failed(standing, error)
            return
        self._parts.metrics.search.observe(time.monotonic() - begun)
        if self._alive(standing):
            named = ask.sources or not standing.passages
            self._send(m.Sources(ask.request, () if named else tuple(standing.passages)))
            if standing.joint:
                if not standing.passages:
                    self._fail(ask.request, "no_source", "The server found nothing for it.")
                    return
                standing.joint.receive(Weighed(log_weight([one.similarity for one in standing.passages])))
            if ask.generate and self._alive(standing):
                await self._generate(standing, ask)

    async def _generate(self, standing: _Request, begin: m.Ask | m.Start) -> None:
        ask, generation, joint = standing.ask, self._parts.generation, standing.joint
        try:
            job = await self._read(standing, lambda: self._parts.answering.job(ask, begin, standing.passages))
        except JackdawError as error:
            self._failed(standing, error)
            return
        if not self._alive(standing):
            return
        if not generation.possible(job):
            rows = " in so many rows" if len(job.rows) > 1 else ""
            too_long = f"The question and its sources are too long{rows} for the server's model."
            self._fail(ask.request, "too_long", too_long)
            return
        standing.next, standing.before = len(begin.accepted), len(job.accepted) - len(begin.accepted)
        if joint:
            job = replace(job, accepted=joint.settled)  # as far as it is by now
        standing.prompt_tokens = job.prompt_tokens
        standing.queued = time.monotonic()
        standing.key = self._keys.taken(self, ask.request)
        upto = joint.upto if joint else self._upto(ask.request, standing)
        promise = generation.ask(self._name, standing.key, job, upto)
        if joint:
            joint.begins(standing.key)
        if promise is None:
            wait = round(generation.pace.wait_s(0.0), 1)
            self._fail(ask.request, "busy", "Too many requests wait already.", wait)
            return
        self._parts.metrics.promised.observe(promise.wait_s)
        self._send(m.Queued(ask.request, promise.position, min(round(promise.wait_s * 1000), _LONGEST_MS)))

    def _flush(self, request: int) -> None:
        standing = self._requests.get(request)
        if standing is None:
            return
        if standing.joint:
            standing.joint.flush()
        pending = standing.pending
        while pending and (count := min(self._session.sendable(request), len(pending), MOST_IDS)):
            tokens = [pending.popleft() for _ in range(count)]
            text = "".join(token.text for token in tokens) if self._session.handover == "text" else None
            self._send(m.Tokens(request, standing.next, tuple(token.token for token in tokens), text))
            standing.next += count
        if standing.done and not pending:
            done = standing.done
            rest = done.rest if self._session.handover == "text" else ""
            self._finish(standing, "length" if done.cut else "end", rest)

    def _allow(self, request: int) -> None:
        standing = self._requests.get(request)
        if standing and standing.key is not None and not standing.joint:
            self._parts.generation.allow(standing.key, self._upto(request, standing))

    def _upto(self, request: int, standing: _Request) -> int:
        return standing.before + standing.next + self._session.sendable(request)

    def _joint(self, ask: m.Ask) -> Joint:
        def finish(reason: str) -> None:
            standing = self._requests.get(ask.request)
            if standing and reason == "lost":
                self._fail(ask.request, "internal", "The device said nothing of the answer for too long.")
            elif standing:
                self._finish(standing, reason)

        hands = Hands(
            self._send,
            finish,
            lambda: self._session.sendable(ask.request) > 0,
            lambda: self._guarded(ask.request),
        )
        return Joint(ask, self._parts.answering.engine, self._parts.generation, hands)

    def _cancel(self, request: int) -> None:
        if standing := self._requests.get(request):
            standing.pending.clear()
            self._finish(standing, "cancelled")

    def _finish(self, standing: _Request, reason: str, rest: str = "") -> None:
        request, done = standing.ask.request, standing.done
        waited = (standing.begun or time.monotonic()) - standing.queued if standing.queued else 0.0
        usage = m.Usage(standing.prompt_tokens, done.joined if done else 0, standing.written, round(waited * 1000))
        self._drop(request)
        self._parts.metrics.answers.labels(reason).inc()
        log.info("answered", extra={"client": self._name, "reason": reason, "tokens": usage.generated})
        self._send(m.Finished(request, reason, usage, rest))  # type: ignore[arg-type]

    def _failed(self, standing: _Request, error: JackdawError) -> None:
        """What went wrong here is for the log: it may name the server's files."""
        log.error("failed", extra={"client": self._name, "error": type(error).__name__, "detail": str(error)})
        if self._alive(standing):
            self._fail(standing.ask.request, "internal", UNFORESEEN)

    @contextmanager
    def _guarded(self, request: int) -> Iterator[None]:
        """What goes wrong within fails this request, and none that is served behind it."""
        try:
            yield
        except Exception as error:
            self._broke(request, error)

    def _broke(self, request: int | None, error: Exception) -> None:
        log_unforeseen(log, "failed", error, client=self._name)
        if request in self._requests:
            self._give_up(request)

    def _give_up(self, request: int) -> None:
        """Say so, if that can be said: its session may be what is wrong."""
        with suppress(ProtocolError):
            self._fail(request, "internal", UNFORESEEN)

    def _fail(self, request: int, code: m.FailureCode, message: str, retry_after_s: float | None = None) -> None:
        self._drop(request)
        self._parts.metrics.answers.labels(code).inc()
        log.info("refused", extra={"client": self._name, "reason": code})
        self._send(m.Failed(request, code, message, None if retry_after_s is None else min(retry_after_s, 3600.0)))

    def _drop(self, request: int) -> None:
        standing = self._requests.pop(request, None)
        if standing and standing.task and standing.waits:
            standing.task.cancel()  # or whoever asks and cancels has any number of them in line
        if standing and standing.joint:
            standing.joint.close()
        if standing and standing.key is not None:
            if standing.done is None:
                self._parts.generation.cancel(standing.key)
            self._keys.given_back(standing.key)

    def _alive(self, standing: _Request) -> bool:
        return self._requests.get(standing.ask.request) is standing

    async def _read(self, standing: _Request, work: Callable[[], Found]) -> Found:
        standing.waits = True
        async with self._quota.reading:
            standing.waits = False
            return await asyncio.get_running_loop().run_in_executor(self._parts.readers, work)
