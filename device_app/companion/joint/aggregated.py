"""The device's side of a joint answer, which device and server write token by token (DRAGON, section 4).

`shared.aggregation` decides; this module has the threads, the link and the clock. Private passages never leave. The
next-token distributions computed from them leave only with `link.privacy = open`, as do weights that follow the text.
Four things always leave: the question, the drafted tokens or the final ones, one number for how relevant the
passages are to the question, and acknowledgements. If the server fails, the device writes the rest alone.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, Self

from device_app.cache.states.tree import QKVTree
from device_app.companion import waiting
from device_app.companion.joint.drafting import Broke, DraftEvent, Drafting, Errand, Own
from device_app.companion.joint.following import FollowingShare
from device_app.companion.joint.joint_request import JointQuestion, JointReport, JointRequest, ending
from device_app.companion.joint.scheduling import Scheduling
from device_app.companion.link.compatibility import too_few
from device_app.companion.link.request import RequestEvent
from device_app.companion.waiting import next_event
from device_app.inference.local import LocalSource
from models.engine import Ends
from models.following_weights import FollowingWeights
from shared.aggregation import messages as a
from shared.aggregation.aggregator import Aggregator, JointPhase
from shared.aggregation.terms import Terms
from shared.aggregation.weights import log_weight, row_weights
from shared.aggregation.wire import Assembly, from_wire
from shared.ending import Piece, Speller
from shared.errors import LinkError, ProtocolError
from shared.prompt import Prompt
from shared.protocol import messages as m
from shared.protocol.device import Lost
from shared.trace import Trace

if TYPE_CHECKING:
    from device_app.companion.link.link import Link

__all__ = ["AHEAD", "Aggregated", "JointQuestion"]

AHEAD: Final = 8
"""The most tokens that are drafted beyond the last token known to be final; see `Terms`."""

PACE_S: Final = 1.0
"""Seconds by which each token that both sides agreed on extends the wait for the server."""

LATE: Final = "the server took too long"

MOST_WAITING: Final = 512
"""The maximum number of queued server messages. With the rule "coupled" for accepting drafts, it is at least twice the
maximum number of the answer's tokens.
"""


class Aggregated:
    """One joint answer: a context manager that sends the request; `pieces` then takes the private prompt.

    Leaving the context early stops both sides; `report` is complete afterwards.
    """

    def __init__(
        self, link: Link, source: LocalSource, asked: JointQuestion, trace: Trace, tree: QKVTree | None
    ) -> None:
        """Prepare the answer without sending anything. `tree` holds kept attention states; None if none may be used.

        Raises LinkError, with the reason, if the server cannot take part.
        """
        offer = link.state.offer
        if not link.state.connected or offer is None:
            raise LinkError(link.state.why_not())
        if why := link.incompatible_reason:
            raise LinkError(why)
        if few := too_few(offer, asked.max_tokens):
            raise LinkError(link.blamed(few))
        self.report = JointReport()
        self._link, self._source, self._asked, self._trace, self._tree = link, source, asked, trace, tree
        self._terms = Terms(
            side="device",
            rule=asked.by,
            place=asked.at,
            seed=asked.sampling.seed,
            vocabulary=source.engine.info.vocabulary,
            max_tokens=min(asked.max_tokens, offer.max_tokens),
            ends=Ends(source.engine),
            ahead=AHEAD,
        )
        self._machine = Aggregator(self._terms)
        ask = asked.ask(self._terms, link.state.round_trip_s)
        told_s, trip_s = ask.round_trip_ms / 1000, lambda: link.state.round_trip_s
        self._scheduling = Scheduling(self._machine, self.report, trip_s, changes=asked.changes, told_s=told_s)
        self._tells = "scheduled" in offer.aggregation
        self._assembly = Assembly(self._terms.vocabulary)
        self._inbox: SimpleQueue[DraftEvent | RequestEvent | a.Lost | a.Reweight] = SimpleQueue()
        self._request = JointRequest(link, ask, self._listen, tells_weights=asked.tells_weights)
        self._drafts: Drafting | None = None
        self._follows = asked.follows(offer)
        self._share: FollowingShare | None = None
        self._limit = self._terms.max_tokens
        self._drafts_received = self._rejected = 0
        self._moved_at = self._waited_s = 0.0

    def __enter__(self) -> Self:
        """Send the request: the server searches and reads its passages while the device reads the private ones."""
        try:
            self._request.begin()
        except LinkError as error:  # the link was up a moment ago
            self._inbox.put(a.Lost(str(error)))
        return self

    def __exit__(self, *_: object) -> None:
        """Stop both sides: the server first, so that it need not wait until the engine on this device is free."""
        self._request.cancel()
        if self._drafts:
            self._drafts.close()
        if self._share:
            self._share.weights.close()  # after the drafts, which use them
        if not self.report.alone:
            self.report.together = len(self._machine.settled)
        self.report.judged = {side: (counts.drafts, counts.accepted) for side, counts in self._machine.judged.items()}
        self._request.count(self.report)

    def give_up(self, why: str) -> None:
        """Discard all tokens written with the server, for the reason `why`; the engine is free afterwards."""
        self._lose(why)
        self.report.together, self.report.alone = 0, self._link.blamed(why)
        if self._drafts:
            self._drafts.close()

    def follow(self, weights: FollowingWeights) -> None:
        """Let the weights of both sides' passages follow the text, if the settings and the server allow it."""
        if self._follows:
            self._share = FollowingShare(weights, self._inbox.put)

    def pieces(
        self, prompt: Prompt, similarities: Sequence[float], most: int | None = None
    ) -> Generator[Piece, None, None]:
        """Yield the answer as it is written from the prompt's private passages, which have these similarities.

        Yields at most `most` tokens. Raises EngineError if this device's model fails, ContextFull, StoreError.
        """
        self._limit = min(self._limit, self._limit if most is None else most)
        share, sampling = self._share, self._asked.sampling
        own = Own(prompt, share.weights if share else row_weights(similarities))
        weighed = a.Weighed(log_weight(similarities), share.weights.every if share else 0)
        self._drafts = Drafting(
            self._source, own, self._terms, sampling, self._trace, self._tree, on_draft=self._inbox.put
        )
        self._moved_at = time.monotonic()
        speller = Speller(self._source.engine.detokenize)
        with self._trace.step("write together"):
            for piece in self._settled(self._machine.receive(weighed)):
                yield speller.spelled(piece)
        if rest := speller.rest():
            yield rest

    def _settled(self, commands: list[a.Command]) -> Generator[Piece, None, None]:
        while True:
            for position, token in self._do(commands):
                if token in self._terms.ends:
                    break
                self._trace.first_token()
                self._trace.tokens_decoded += 1
                with self._scheduling.reader():
                    yield Piece(token, "", cut=position + 1 == self._limit)
                self._moved_at = time.monotonic()  # the reader may have been slow
                if position + 1 == self._limit:
                    return
            if self._machine.phase is JointPhase.OVER:
                return
            commands = self._next()

    def _next(self) -> list[a.Command]:
        """Wait for an event, and return the commands that follow; [] if none came, or if the event asks for nothing.

        The wait ends when gathered messages are due to be sent. If only the server could let the answer go on and it
        has been silent or slow for too long, the server counts as lost.
        """
        due = self._request.due
        until = self._moved_at + waiting.LIMITS.token_s
        if due is not None:
            until = min(until, due)
        started, awaited = time.monotonic(), self._awaits
        event = next_event(self._inbox, until)
        if awaited:
            self._waited_s += time.monotonic() - started
        if self._waited_s > waiting.LIMITS.token_s + PACE_S * len(self._machine.settled) and self._awaits:
            return self._lose(self._link.blamed(LATE)) + (self._receive(event) if event else [])
        if due is not None and time.monotonic() >= due:
            self._flush()
        if event is not None:
            return self._receive(event)
        if time.monotonic() - self._moved_at < waiting.LIMITS.token_s:
            return []
        self._moved_at = time.monotonic()
        if not self._awaits:
            return []  # the device's model is slow
        return self._lose(self._link.blamed(LATE))

    @property
    def _awaits(self) -> bool:
        """Whether only the server can let the answer continue."""
        ready = self._drafts is not None and self._drafts.ready
        return ready and self._machine.phase is not JointPhase.ALONE and self._machine.waits

    def _receive(self, event: DraftEvent | RequestEvent | a.Lost | a.Reweight) -> list[a.Command]:
        match event:
            case Broke(error):
                raise error
            case Errand() if self._drafts:
                self._drafts.ran(event)
            case a.Drafted():
                self._drafts_received += 1
                return self._machine.receive(event)
            case a.Lost() | a.Reweight():
                return self._machine.receive(event)
            case m.Sources(_, passages):
                self.report.passages = passages
                if self._share:
                    self._share.add(passages)
            case m.Weight() | m.Drafts() | m.Targets() | m.Switch() | m.Rest():
                return self._on_message(event)
            case m.Finished() | m.Failed() | Lost():
                self._request.ended()
                return self._lose(self._link.blamed(ending(event)))
        return []

    def _on_message(self, said: m.JointFromServer) -> list[a.Command]:
        try:
            if isinstance(said, m.Rest):
                if not (rest := self._assembly.put(said)):
                    return []
                self._moved_at = time.monotonic()
                return self._machine.receive(rest)
            if isinstance(said, m.Drafts):
                self._scheduling.observe_server(said.step_us)
            return self._machine.receive(from_wire(said, self._terms.vocabulary))
        except ProtocolError as error:
            return self._lose(self._link.blamed(self._link.distrust(error)))

    def _lose(self, why: str) -> list[a.Command]:
        commands = self._machine.receive(a.Lost(why))
        self._request.cancel()
        return commands

    def _do(self, commands: Sequence[a.Command]) -> list[tuple[int, int]]:
        """Carry out the commands; return the position and id of each token that they make final."""
        settled = []
        for command in commands:
            match command:
                case a.Emit(position, token):
                    settled.append((position, token))
                case a.Send(message):
                    self._request.send(message, self._step_s)
                case a.RollBack() if self._drafts:
                    self._drafts.correct(command)
                case a.GoAlone(position, reason):
                    self.report.together, self.report.alone = position, reason
                    self.report.waited_s = 0.0 if position else self._waited_s
        self._scheduling.watch()
        if self._share and self._machine.phase is JointPhase.TOGETHER:
            self._share.advance(self._machine.settled, self._limit)
        if settled and self._scheduling.gives(self._drafts):
            settled += self._do(self._machine.receive(a.HandOver()))
        due = self._request.due
        if self._machine.phase is JointPhase.OVER or self._rejects() or (due is not None and time.monotonic() >= due):
            self._flush()
        if self._drafts:
            self._drafts.allow(min(len(self._machine.settled) + self._terms.ahead, self._limit), self._drafts_received)
        return settled

    def _listen(self, event: RequestEvent) -> None:
        """Queue an event of the request.

        A server that keeps to the protocol never fills the queue; events of another are dropped until it times out.
        """
        most = MOST_WAITING
        if self._terms.rule == "coupled":
            most = max(most, 2 * self._terms.max_tokens)
        if self._inbox.qsize() < most or isinstance(event, m.Finished | m.Failed | Lost):
            self._inbox.put(event)

    @property
    def _step_s(self) -> float:
        return self._scheduling.step_s(self._drafts)

    def _rejects(self) -> bool:
        """Return whether a server draft was rejected since the last call, which the server should learn at once."""
        judged = self._machine.judged["server"]
        before, self._rejected = self._rejected, judged.drafts - judged.accepted
        return self._rejected > before

    def _flush(self) -> None:
        if self._tells and (round_trip_s := self._scheduling.news_s()):
            self._request.tell_round_trip(round_trip_s)
        self._request.flush(self._step_s)
