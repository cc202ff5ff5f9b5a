"""One public question: both sides race to the first token, then the cheaper side writes the answer (DiSCo, section 4).

`policy` and `migration` decide; this loop carries their commands out with threads, a link and a clock. Its output is
one stream of pieces, whichever side wrote them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from device_app.companion import waiting
from device_app.companion.dispatch.events import Allow, Begin, Command, Ended, Failed, Stop, Tick, Token
from device_app.companion.dispatch.handover import Handover, Terms, plan_handover
from device_app.companion.dispatch.interruption import Interruption
from device_app.companion.dispatch.migration import Migration, MigrationPhase
from device_app.companion.dispatch.policy import Decision
from device_app.companion.dispatch.race_report import Question, RaceReport, measured, pace
from device_app.companion.dispatch.race_sides import Linked, RaceSides
from device_app.companion.dispatch.sides import Broke, FoundPassages, Wrote
from device_app.companion.rounds import Rounds
from device_app.inference.local import LocalSource
from device_app.question.answer import LookedUp
from shared.ending import Piece, Speller
from shared.errors import EngineError, LinkError
from shared.protocol import messages as m
from shared.side import Side, other
from shared.trace import Trace

if TYPE_CHECKING:
    from device_app.companion.link.link import Link

TICK_S = 0.2

ALONE = 1 << 20
"""The epoch in which the device writes alone after the server was given up; no other epoch gets this high."""


class Race:
    """The race for one answer. `terms(length)` returns the hand-over terms for a prompt of `length` tokens."""

    def __init__(
        self,
        link: Link,
        source: Callable[[], LocalSource],
        question: Question,
        decision: Decision,
        terms: Callable[[int], Terms],
        trace: Trace,
    ) -> None:
        self.report = RaceReport(reasons=[decision.reason])
        self._link, self._source, self._question, self._decision = link, source, question, decision
        self._terms_of, self._trace = terms, trace
        self._sides = RaceSides(link, source, question)
        self._failed: dict[Side, str] = {}
        self._passages: tuple[m.PublicPassage, ...] = ()
        self._prompt, self._moving = 0, ""

    def __enter__(self) -> Self:
        """Start to watch the state of the link to the server, and return the race."""
        self._sides.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop both sides and complete `report`."""
        self._sides.close()
        self._note()

    def search(self) -> Generator[LookedUp, None, tuple[m.PublicPassage, ...]]:
        """Let the server search, and write if due: yield its rounds of retrieval, return passages. Raises LinkError."""
        with self._trace.step("search"):
            self._passages = yield from self._search()
        return self._passages

    @property
    def rounds(self) -> Rounds:
        """The server's rounds of retrieval so far."""
        return self._sides.rounds

    def pieces(self) -> Iterator[Piece]:
        """Yield the answer as it is written. Raises EngineError; LinkError if the server alone may begin, and fails."""
        source = self._source()
        self._sides.vocabulary = source.engine.info.vocabulary
        yield from self._spelled(self._written(self._first_token(source)), source)

    @property
    def by_server(self) -> int | None:
        """The index from which the server wrote up to the end; None if the device wrote the end."""
        index, side = self.report.moves[-1] if self.report.moves else (0, self.report.winner)
        return index if side == "server" else None

    def rewritten(self, accepted: Sequence[Piece]) -> Iterator[Piece]:
        """Drop the server's unreadable text and yield the device's, after `accepted`. Raises the errors of `pieces`."""
        source = self._source()
        if not self.report.moves:
            self.report.winner = None
        self.report.moves[-1:] = []
        self._sides.stop_both()
        self._blame("server", "the server wrote no readable text")
        self._failed = {"server": self.report.reasons[-1]}
        self.report.model = source.engine.info.model
        self.report.winner = self.report.winner or "device"
        yield from self._spelled(self._by_device(accepted), source)

    def _by_device(self, accepted: Sequence[Piece]) -> Iterator[Piece]:
        self._sides.resume_device(ALONE, self._passages, accepted)
        with self._trace.step("write"):
            while True:
                match self._sides.next_event(TICK_S):
                    case Wrote(Token("device", epoch, _, piece), at) if epoch == ALONE:
                        self._sides.first.setdefault("device", at)
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

    def _search(self) -> Generator[LookedUp, None, tuple[m.PublicPassage, ...]]:
        at_once = self._decision.server_after_s == 0
        self._sides.search(generate=at_once)
        self.report.sent.append("the question")
        began = time.monotonic()
        deadline = began + waiting.LIMITS.sources_s
        while (left := deadline - time.monotonic()) > 0:
            match self._sides.next_event(left):
                case FoundPassages(passages):
                    return passages
                case m.Round():
                    # a round extends the wait, up to a limit
                    deadline = min(time.monotonic() + waiting.LIMITS.sources_s, began + waiting.LIMITS.rounds_s)
                    yield self.rounds.looked_up[-1]
                case Broke(_, why, _):
                    raise LinkError(self._link.blamed(why))
        raise LinkError(self._link.blamed("no answer came in time. See `jackdaw status`, or ask with --local-only"))

    def _first_token(self, source: LocalSource) -> Wrote:
        """Start each side when it is due; return the first token, whose side wins the race."""
        waits: dict[Side, float | None] = {
            "device": self._decision.device_after_s,
            "server": self._decision.server_after_s,
        }
        with self._trace.step("race"):
            while True:
                due = {
                    side: self._sides.began + wait
                    for side, wait in waits.items()
                    if wait is not None and side not in self._sides.started and side not in self._failed
                }
                now, is_quiet = time.monotonic(), self._sides.is_quiet  # a first token may have come already
                if waits["device"] is None and is_quiet and self._sides.is_stuck(now):
                    waits["device"] = 0.0
                    self._blame("server", "the server's first token is too late")
                for side, at in due.items():
                    if at <= now and is_quiet:
                        self._sides.start(side, self._passages)
                if len(self._failed) == 2:
                    raise EngineError(f"Neither side could answer: {'; '.join(self._failed.values())}")
                later = [at - now for at in due.values() if at > now]
                match self._sides.next_event(min(later, default=TICK_S)):
                    case Wrote() as wrote if wrote.token.side not in self._failed:
                        self._won(wrote, source)
                        return wrote
                    case Broke(Failed(side, _), why, _) if side not in self._failed:
                        self._fail(side, why, waits)
                    case Ended(side, _) if side not in self._failed:
                        self._fail(
                            side, "the device wrote nothing" if side == "device" else "the server wrote nothing", waits
                        )
                    case Linked(False) if "server" not in self._failed:  # each failed attempt reports it again
                        self._fail("server", "the connection was lost", waits)

    def _fail(self, side: Side, why: str, waits: dict[Side, float | None]) -> None:
        """Record that a side failed, and let the other start at once: set its wait, in `waits`, to 0 seconds."""
        waits[other(side)] = 0.0
        self._blame(side, why)
        self._failed[side] = self.report.reasons[-1]

    def _blame(self, side: Side, why: str) -> None:
        """Record why a side failed. Raises LinkError if no other side may write the first token."""
        if side == "device":
            self.report.reasons.append(why)
            return
        self.report.blame(self._link.blamed(why))
        if self._question.server_begins and self.report.winner is None:
            raise LinkError(self._link.blamed(why))

    def _won(self, wrote: Wrote, source: LocalSource) -> None:
        side = wrote.token.side
        self.report.winner = side
        self._sides.first[side] = wrote.at
        offer = self._link.state.offer
        self.report.model = offer.model if side == "server" and offer else source.engine.info.model
        self._prompt = source.count(self._question.prompt(self._passages, source.template))
        loser = other(side)
        if loser in self._sides.started and loser not in self._failed:
            aimed = plan_handover(self._terms_of(self._prompt), side, 0)
            if loser == "device" and isinstance(aimed, Handover):
                self._sides.allow("device", 0)  # its prefill will be needed
            else:
                self._sides.stop(loser)

    def _written(self, first: Wrote) -> Iterator[Piece]:
        """Yield the answer's pieces in order, beginning with the winner's first token, each when it is due."""
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
                if migration.phase is MigrationPhase.OVER:
                    self.report.settle_doubts(self._moving, self._link.blamed)
                    yield from self._read(migration)
                    return
                commands += self._received(interruption, self._until(migration, interruption))
                if Allow("device", migration.epoch, None) in commands and "server" in migration.failed:
                    self._blame("server", "the server did not continue the answer")

    def _read(self, migration: Migration[Piece]) -> Iterator[Piece]:
        """Yield the pieces that are due. The time that the reader takes does not count as waiting for the server."""
        started = time.monotonic()
        yield from migration.buffer.due(started)
        self._sides.patience.paused(time.monotonic() - started)

    def _until(self, migration: Migration[Piece], interruption: Interruption[Piece]) -> float:
        """Return the seconds to wait for an event: until a token is due, a wait is over, or the next tick."""
        now = time.monotonic()
        moments = (now + TICK_S, migration.buffer.next_due(), interruption.until)
        return max(min(moment for moment in moments if moment is not None) - now, 0.0)

    def _received(self, interruption: Interruption[Piece], seconds: float) -> list[Command]:
        event = self._sides.next_event(seconds)
        now = time.monotonic()
        match event:
            case Wrote(token, at):
                self._sides.times[token.side].append(at)
                return interruption.receive(token)
            case Ended():
                return interruption.receive(event)
            case Broke(failed, why, _):
                self._blame(failed.side, why)
                return interruption.receive(failed)
            case Linked(False):
                return interruption.lost(now)
            case Linked(True):
                interruption.back()
        commands = interruption.passed(now, connected=self._link.state.answering)
        return commands + interruption.doubted() if self._sides.is_stuck(now) else commands

    def _carry_out(self, command: Command, migration: Migration[Piece]) -> None:
        match command:
            case Begin("device", epoch, accepted, reason):
                self._moves(reason)
                self._sides.resume_device(epoch, self._passages, migration.buffer.tokens()[:accepted])
            case Begin("server", epoch, accepted, reason):
                self._moves(reason)
                self._sides.resume_server(epoch, migration.buffer.tokens()[:accepted])
                self.report.sent.append(f"{accepted} tokens of the answer")
            case Allow(side, _, upto):
                self._sides.allow(side, upto)
            case Stop(side, _):
                self._sides.stop(side)

    def _moves(self, why: str) -> None:
        self._moving = why
        self.report.reasons.append(why)
        if self._link.by_text:
            self.report.reasons.append("the answer moves as text, as the server's model has another vocabulary")

    def _note(self) -> None:
        """Add the race's measurements to the report."""
        sides = self._sides
        if self._question.is_alone and sides.server_starts:
            self.report.sent.insert(0, "the question")
        self.report.sent_bytes = sides.sent_bytes
        self.report.server_read = sum(self._prompt + accepted for accepted in sides.server_starts)
        self.report.server_wrote = sides.server_tokens
        if self.report.origin != "cloud":
            self._trace.tokens_prefilled += sides.trace.tokens_prefilled
            self._trace.tokens_cached += sides.trace.tokens_cached
        self.report.rates = {side: rate for side, times in sides.times.items() if (rate := pace(times))}
        if self._passages or (self._question.is_alone and self._prompt):
            outcome = measured(sides.started, sides.first, self._prompt, time.monotonic())
            self.report.outcome = replace(outcome, is_alone=self._question.is_alone)
