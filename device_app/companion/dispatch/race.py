"""One public question: both sides race to the first token, then the answer goes to whom it costs least (DiSCo, 4).

Decisions are `policy`'s and `migration`'s; here is the loop that carries them out with threads, a link and a clock.
What comes out is one stream of pieces, whichever side wrote them.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Literal, Self

from device_app.companion.dispatch.cost import Side
from device_app.companion.dispatch.dispatcher import Outcome
from device_app.companion.dispatch.interruption import Interruption
from device_app.companion.dispatch.migration import (
    Allow,
    Begin,
    Command,
    Ended,
    Failed,
    Finish,
    GiveUp,
    Migration,
    Phase,
    Plan,
    Stop,
    Terms,
    Tick,
    Token,
    other,
    plan,
)
from device_app.companion.dispatch.patience import Patience
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.sides import Broke, DeviceSide, Ear, Found, Heard, ServerSide, Waits, Wrote, said
from device_app.companion.link.link import Link
from device_app.inference.local import LocalSource
from device_app.question.answer import AT
from models.sampling import SamplingSettings
from shared.ending import Piece, Speller
from shared.errors import EngineError, LinkError
from shared.printable import counted
from shared.protocol import messages as m
from shared.public import public_prompt
from shared.trace import Trace

SOURCES_S = 10.0
"""Seconds within which a server has to say what it found."""

STUCK_S = 5.0
"""Seconds without a token, beyond the wait that it promised, after which the device begins beside a server."""

TICK_S = 0.2

ALONE = 1 << 20
"""The epoch in which the device writes after all that went before is given up: no other comes near it."""

_DOUBTS = ("the server may have failed", "the server failed")
"""Why an answer was begun on the device, said while the server might have come back."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and how it is to be answered."""

    text: str
    sampling: SamplingSettings
    max_tokens: int
    passages: int


@dataclass(slots=True)
class Report:
    """What became of a race, for the answer's trace and ledger. `moves` are the indexes at which it changed sides."""

    reasons: list[str] = field(default_factory=list)
    moves: list[tuple[int, Side]] = field(default_factory=list)
    winner: Side | None = None
    sent_bytes: int = 0
    sent: list[str] = field(default_factory=list)
    outcome: Outcome | None = None
    rates: dict[Side, float] = field(default_factory=dict)
    model: str = ""

    def learned(self, answer: int, *, cut: bool) -> Outcome:
        """The outcome, with the answer's length."""
        assert self.outcome is not None
        return replace(self.outcome, answer=answer, answer_cut=cut)

    @property
    def origin(self) -> Literal["device", "cloud", "migrated"]:
        """Who wrote the answer."""
        if self.moves:
            return "migrated"
        return "cloud" if self.winner == "server" else "device"


@dataclass(frozen=True, slots=True)
class _Linked:
    """The connection to the server changed."""

    connected: bool


class Race:
    """One answer. `terms` are those of a prompt of so many tokens."""

    def __init__(
        self,
        link: Link,
        source: Callable[[], LocalSource],
        question: Question,
        decision: Decision,
        terms: Callable[[int], Terms],
        trace: Trace,
    ) -> None:
        self.report = Report(reasons=[decision.reason])
        self._link, self._source, self._question, self._decision = link, source, question, decision
        self._terms_of, self._trace = terms, trace
        self._ear: SimpleQueue[Heard | _Linked] = SimpleQueue()
        sampling = question.sampling
        ask = m.Ask(
            request=1,
            question=question.text,
            generate=False,
            passages=question.passages,
            max_tokens=min(question.max_tokens, link.state.offer.max_tokens if link.state.offer else m.MOST_TOKENS),
            credit=0,
            sampling=m.Sampling(**asdict(sampling)),
        )
        ear: Ear = self._ear  # type: ignore[assignment]  # the sides put in less than is taken out
        self._device = DeviceSide(source, question.text, sampling, question.max_tokens, ear)
        self._server = ServerSide(link, ask, ear)
        self._begun = time.monotonic()
        self._started: dict[Side, float] = {}
        self._first: dict[Side, float] = {}
        self._times: dict[Side, list[float]] = {"device": [], "server": []}
        self._failed: dict[Side, str] = {}
        self._patience = Patience(STUCK_S, self._begun)
        self._vocabulary = 2**31
        self._passages: tuple[m.PublicPassage, ...] = ()
        self._prompt = 0
        self._moving = ""
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        """Watch the link."""
        self._leaving.callback(self._note)
        self._leaving.callback(self._device.close)
        self._leaving.callback(self._server.stop)
        self._leaving.enter_context(self._link.watched(lambda state: self._ear.put(_Linked(state.answering))))
        return self

    def __exit__(self, *_: object) -> None:
        """Stop both sides; `report` is whole then."""
        self._leaving.close()

    def search(self) -> tuple[m.PublicPassage, ...]:
        """The server's sources; what was decided to start at once has started. Raises LinkError."""
        with self._trace.step("search"):
            self._passages = self._search()
        return self._passages

    def pieces(self) -> Iterator[Piece]:
        """The answer from the sources, as it is written. Raises EngineError where neither side can."""
        source = self._source()
        self._vocabulary = source.engine.info.vocabulary
        yield from self._spelled(self._written(self._first_token(source)), source)

    @property
    def by_server(self) -> int | None:
        """The index from which on the server wrote, to the end; None where it did not."""
        index, side = self.report.moves[-1] if self.report.moves else (0, self.report.winner)
        return index if side == "server" else None

    def rewritten(self, accepted: Sequence[Piece]) -> Iterator[Piece]:
        """The answer behind these tokens by the device, as what the server wrote there is none. Raises EngineError."""
        source = self._source()
        self._blame("it wrote nothing that can be read")
        self._server.stop()
        self._device.close()
        self._failed = {"server": self.report.reasons[-1]}
        while not self._ear.empty():
            self._ear.get()
        self.report.model = source.engine.info.model
        if self.report.moves:
            self.report.moves[-1:] = []
        else:
            self.report.winner = "device"
        yield from self._spelled(self._by_device(accepted), source)

    def _by_device(self, accepted: Sequence[Piece]) -> Iterator[Piece]:
        self._started.setdefault("device", time.monotonic())
        self._device.begin(ALONE, self._passages, accepted)
        with self._trace.step("write"):
            while True:
                match self._hear(TICK_S):
                    case Wrote(Token("device", epoch, _, piece), at) if epoch == ALONE:
                        self._first.setdefault("device", at)
                        yield piece
                    case Ended("device", epoch) if epoch == ALONE:
                        return
                    case Broke(Failed("device", epoch), why, _) if epoch == ALONE:
                        raise EngineError(why)

    def _spelled(self, pieces: Iterator[Piece], source: LocalSource) -> Iterator[Piece]:
        speller = Speller(source.engine.detokenize)
        for piece in pieces:
            self._trace.first_token()
            self._trace.tokens_decoded += 1
            yield speller.spelled(piece)
        if rest := speller.rest():
            yield rest

    def _search(self) -> tuple[m.PublicPassage, ...]:
        at_once = self._decision.server_after_s == 0
        if at_once:
            self._started["server"] = time.monotonic()
        self._server.search(generate=at_once)
        self.report.sent.append("the question")
        deadline = self._begun + SOURCES_S
        while (left := deadline - time.monotonic()) > 0:
            match self._hear(left):
                case Found(passages):
                    return passages
                case Broke(_, why, _):
                    raise LinkError(self._link.blamed(why))
        raise LinkError(self._link.blamed("it did not answer in time. See `jackdaw status`, or ask with --local-only"))

    def _first_token(self, source: LocalSource) -> Wrote:
        """Start each side when it is due; the first token that comes here wins (a tie does not occur in one queue)."""
        waits: dict[Side, float | None] = {
            "device": self._decision.device_after_s,
            "server": self._decision.server_after_s,
        }
        with self._trace.step("race"):
            while True:
                due = {
                    side: self._begun + wait
                    for side, wait in waits.items()
                    if wait is not None and side not in self._started and side not in self._failed
                }
                now = time.monotonic()
                if waits["device"] is None and self._is_stuck(now):
                    waits["device"] = 0.0
                    self._blame("it keeps its first token for too long")
                for side, at in due.items():
                    if at <= now:
                        self._start(side)
                if len(self._failed) == 2:
                    raise EngineError(f"Neither side could answer: {'; '.join(self._failed.values())}")
                later = [at - now for at in due.values() if at > now]
                match self._hear(min(later, default=TICK_S)):
                    case Wrote() as wrote if wrote.token.side not in self._failed:
                        self._won(wrote, source)
                        return wrote
                    case Broke(Failed(side, _), why, _) if side not in self._failed:
                        self._fail(side, why, waits)
                    case Ended(side, _) if side not in self._failed:
                        self._fail(side, "the device wrote nothing" if side == "device" else "it wrote nothing", waits)
                    case _Linked(False) if "server" not in self._failed:  # every attempt that fails says so again
                        self._fail("server", "the connection was lost", waits)

    def _fail(self, side: Side, why: str, waits: dict[Side, float | None]) -> None:
        """The other side starts now, whatever was decided."""
        waits[other(side)] = 0.0
        if side == "server":
            self._blame(why)
        else:
            self.report.reasons.append(why)
        self._failed[side] = self.report.reasons[-1]

    def _start(self, side: Side) -> None:
        self._started[side] = time.monotonic()
        if side == "device":
            self._device.begin(0, self._passages, ())
        else:
            self._patience.begin(self._started[side])
            self._server.start()

    def _won(self, wrote: Wrote, source: LocalSource) -> None:
        side = wrote.token.side
        self.report.winner = side
        self._first[side] = wrote.at
        offer = self._link.state.offer
        self.report.model = offer.model if side == "server" and offer else source.engine.info.model
        self._prompt = source.count(public_prompt(self._question.text, self._passages, source.template))
        loser = other(side)
        if loser in self._started and loser not in self._failed:
            aimed = plan(self._terms_of(self._prompt), side, 0)
            if loser == "device" and isinstance(aimed, Plan):
                self._device.allow(0)  # what it prefills, it will need
            else:
                self._stop(loser)

    def _written(self, first: Wrote) -> Iterator[Piece]:
        """The answer's pieces in order, each when it is due."""
        token = first.token
        migration: Migration[Piece] = Migration(self._terms_of(self._prompt), token.side, token.epoch)
        self.report.moves = migration.moves
        interruption = Interruption(migration)
        commands = migration.receive(token)
        with self._trace.step("write"):
            while True:
                yield from self._read(migration)
                commands += migration.receive(Tick())
                for command in commands:
                    self._carry_out(command, migration)
                commands = []
                if migration.phase is Phase.OVER:
                    self._settle_doubts()
                    yield from self._read(migration)
                    return
                commands += self._heard(interruption, self._until(migration, interruption))
                if Allow("device", migration.epoch, None) in commands and "server" in migration.failed:
                    self._blame("it did not go on with the answer")

    def _read(self, migration: Migration[Piece]) -> Iterator[Piece]:
        """What is due to the reader, who may take his time: that is no fault of the server."""
        started = time.monotonic()
        yield from migration.buffer.due(started)
        self._patience.paused(time.monotonic() - started)

    def _until(self, migration: Migration[Piece], interruption: Interruption[Piece]) -> float:
        """Seconds until something has to be done though nothing is heard."""
        now = time.monotonic()
        moments = (now + TICK_S, migration.buffer.next_due(), interruption.until)
        return max(min(moment for moment in moments if moment is not None) - now, 0.0)

    def _heard(self, interruption: Interruption[Piece], seconds: float) -> list[Command]:
        event = self._hear(seconds)
        now = time.monotonic()
        match event:
            case Wrote(token, at):
                self._times[token.side].append(at)
                return interruption.hear(token)
            case Ended():
                return interruption.hear(event)
            case Broke(failed, why, _):
                if failed.side == "server":
                    self._blame(why)
                else:
                    self.report.reasons.append(why)
                return interruption.hear(failed)
            case _Linked(False):
                return interruption.lost(now)
            case _Linked(True):
                interruption.back()
        commands = interruption.passed(now, connected=self._link.state.answering)
        return commands + interruption.doubted() if self._is_stuck(now) else commands

    def _carry_out(self, command: Command, migration: Migration[Piece]) -> None:
        match command:
            case Begin("device", epoch, accepted, reason):
                self._moves(reason)
                self._started.setdefault("device", time.monotonic())
                self._device.begin(epoch, self._passages, migration.buffer.tokens()[:accepted])
            case Begin("server", epoch, accepted, reason):
                self._moves(reason)
                self._started.setdefault("server", time.monotonic())
                tokens = migration.buffer.tokens()[:accepted]
                text = said(tokens, self._source().engine.detokenize) if self._link.by_text else ""
                self._server.begin(epoch, tokens, text)
                self.report.sent.append(f"{accepted} tokens of the answer")
            case Allow("device", _, upto):
                self._device.allow(upto)
            case Allow("server", _, upto):
                self._server.allow(upto)
            case Stop(side, _):
                self._stop(side)
            case Finish() | GiveUp():
                pass

    def _settle_doubts(self) -> None:
        """Once it is over, it is known what became of a server that might have failed."""
        report = self.report
        if report.moves and report.moves[-1][1] == "device" and self._moving in _DOUBTS:
            report.reasons = [why for why in report.reasons if why not in _DOUBTS]
            reason = f"the device went on after {counted(report.moves[-1][0], 'token')}"
            if any(why.startswith(AT) for why in report.reasons):
                report.reasons.append(reason)
            else:
                self._blame(f"it was lost; {reason}")

    def _blame(self, why: str) -> None:
        """Tell once that the server did not do its part."""
        blamed = self._link.blamed(why)
        if blamed not in self.report.reasons:
            self.report.reasons.append(blamed)

    def _moves(self, why: str) -> None:
        self._moving = why
        self.report.reasons.append(why)
        if self._link.by_text:
            self.report.reasons.append("it moves as text, as the server's model has another vocabulary")

    def _stop(self, side: Side) -> None:
        if side == "device":
            self._device.stop()
        else:
            self._server.stop()

    def _hear(self, seconds: float) -> Heard | _Linked | None:
        try:
            event = self._ear.get(timeout=max(seconds, 0.0))
        except Empty:
            return None
        now = time.monotonic()
        match event:
            case Waits(seconds):
                self._patience.promised(now, seconds)
                return None
            case Wrote(Token("server", epoch, _, piece), _):
                if piece.token >= self._vocabulary:
                    why = self._server.distrust("a token came that its vocabulary lacks")
                    return Broke(Failed("server", epoch), why, now)
                self._patience.heard(now)
        return event

    def _is_stuck(self, now: float) -> bool:
        return "server" in self._started and now >= self._patience.until

    def _note(self) -> None:
        """What the race taught."""
        now = time.monotonic()
        report, started = self.report, self._started
        report.sent_bytes = self._server.sent_bytes
        if report.origin != "cloud":
            self._trace.tokens_prefilled += self._device.trace.tokens_prefilled
            self._trace.tokens_cached += self._device.trace.tokens_cached
        for side, times in self._times.items():
            if len(times) >= 8:
                report.rates[side] = (len(times) - 1) / max(times[-1] - times[0], 1e-6)
        if self._passages:
            first = {side: at - started[side] for side, at in self._first.items() if side in started}
            waited = now - started["server"] if "server" in started and "server" not in first else None
            ours = self._first.get("device")
            if report.winner == "device" and ours is not None and started.get("server", now) <= ours:
                waited = ours - started["server"]
            report.outcome = Outcome(
                prompt=self._prompt,
                device_started="device" in started,
                server_started="server" in started,
                device_s=first.get("device"),
                server_s=first.get("server"),
                server_waited_s=waited,
            )
