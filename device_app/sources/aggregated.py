"""An answer that this device and the server write together, token by token (DRAGON, section 4): the device's end.

`shared.aggregation` decides; here are the threads, the link and the clock. Private passages, and what the model here
makes of them, stay: what leaves is the question, draft tokens, one number for how well the passages fit, and
acknowledgements. Whatever becomes of the server, the answer goes on: then this device writes the rest alone.
"""

import math
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Final, Self

from device_app.cache.qkv_tree import QKVTree
from device_app.link.link import Heard, Link, RemoteRequest
from device_app.sources.drafting import Broke, Drafting
from device_app.sources.local import LocalSource
from models.engine import Ends
from models.interruptible import interruptible
from models.sampling import SamplingSettings
from shared.aggregation import messages as a
from shared.aggregation.aggregator import Aggregator, Phase
from shared.aggregation.gathering import GATHER_S, Gathering
from shared.aggregation.terms import Terms
from shared.aggregation.weights import log_weight
from shared.aggregation.wire import heard
from shared.ending import Piece, Speller, ended
from shared.errors import EngineError, LinkError, ProtocolError
from shared.prompt import Prompt
from shared.protocol import messages as m
from shared.protocol.device import Lost
from shared.trace import Trace

AHEAD: Final = 8
"""Drafts beyond what is known to be settled; see `Terms`."""

PATIENCE_S: Final = 5.0
"""Seconds without a token, while something of the server is waited for, after which the device goes on alone."""


@dataclass(frozen=True, slots=True)
class Together:
    """What is asked, of what private passages, and how it is to be written."""

    question: str
    prompt: Prompt
    similarities: Sequence[float]
    sampling: SamplingSettings
    max_tokens: int
    passages: int


@dataclass(slots=True)
class Report:
    """What became of it: tokens that both sides settled, and why the device went on alone, if it did."""

    passages: tuple[m.PublicPassage, ...] = ()
    together: int = 0
    alone: str = ""
    drafts_sent: int = 0
    sent_bytes: int = 0
    judged: dict[a.Side, tuple[int, int]] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[m.PublicPassage, ...]:
        """The server's passages, if a token was drawn from them."""
        return self.passages if self.together else ()

    @property
    def sent(self) -> tuple[str, ...]:
        """What left the device, in words."""
        drafts = (f"{self.drafts_sent} draft tokens of the answer",) if self.drafts_sent else ()
        return ("the question", "how well your passages fit it, as one number", *drafts, "acknowledgements")


_Ear = SimpleQueue["a.Event | Broke | Heard"]


class Aggregated:
    """One answer. Use it with `with`: whoever leaves early stops both sides; `report` is whole then."""

    def __init__(self, link: Link, source: LocalSource, asked: Together, trace: Trace, tree: QKVTree | None) -> None:
        """Raises LinkError where the server cannot write along, and why; nothing has left the device then."""
        offer = link.state.offer
        if not link.state.connected or offer is None:
            raise LinkError(f"the server cannot be asked: {link.state.why or link.state.phase}")
        if why := link.apart:
            raise LinkError(why)
        self.report = Report()
        self._link, self._source, self._asked, self._trace, self._tree = link, source, asked, trace, tree
        self._terms = Terms(
            side="device",
            rule="coupled",
            place="both",
            seed=asked.sampling.seed,
            vocabulary=source.engine.info.vocabulary,
            max_tokens=min(asked.max_tokens, offer.max_tokens),
            ends=Ends(source.engine),
            ahead=AHEAD,
        )
        self._machine = Aggregator(self._terms)
        self._gathering = Gathering(AHEAD)
        self._ear: _Ear = SimpleQueue()
        self._request: RemoteRequest | None = None
        self._drafts: Drafting | None = None
        self._sent_at = self._moved_at = 0.0
        self._heard_end = False
        self._leaving = ExitStack()

    def __enter__(self) -> Self:
        """Ask the server."""
        try:
            self._request = self._link.ask(self._ask(), lambda _, heard: self._ear.put(heard))
        except LinkError as error:  # it was there a moment ago
            self._ear.put(a.Lost(str(error)))
        self._leaving.callback(self._leave)
        self._moved_at = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop both sides."""
        self._leaving.close()

    def pieces(self) -> Generator[Piece, None, None]:
        """The answer as it is written. Raises EngineError where the model here fails, ContextFull."""
        speller = Speller(self._source.engine.detokenize)
        log_h = log_weight(self._asked.similarities)
        commands = self._machine.receive(a.Weighed(log_h))
        for piece in self._settled(commands):
            yield speller.spelled(piece)
        if rest := speller.rest():
            yield rest

    def _settled(self, commands: list[a.Command]) -> Generator[Piece, None, None]:
        self._do(commands)
        self._begin()
        with self._trace.step("write together"):
            while True:
                for position, token in self._do(self._next()):
                    if token in self._terms.ends:
                        break
                    self._trace.first_token()
                    self._trace.tokens_decoded += 1
                    yield Piece(token, "", cut=position + 1 == self._terms.max_tokens)
                    self._moved_at = time.monotonic()  # whoever reads may have taken long
                if self._machine.phase is Phase.OVER:
                    return

    def _begin(self) -> None:
        """Read the prompt; the server searches meanwhile."""
        asked, trace = self._asked, self._trace
        stopped = threading.Event()
        source = replace(self._source, engine=interruptible(self._source.engine, stopped.is_set))
        decoder = source.decoder(asked.prompt, asked.similarities, ahead=AHEAD + 1, trace=trace, tree=self._tree)
        self._drafts = Drafting(decoder, self._terms, asked.sampling, self._ear.put)
        self._leaving.callback(self._drafts.close)
        self._leaving.callback(stopped.set)
        self._moved_at = time.monotonic()

    def _next(self) -> list[a.Command]:
        """What is to be done about the next thing that happens, or does not in time."""
        now = time.monotonic()
        moments = [self._moved_at + PATIENCE_S]
        if self._gathering:
            moments.append(self._sent_at + GATHER_S)
        try:
            event = self._ear.get(timeout=max(min(moments) - now, 0.0))
        except Empty:
            event = None
        if self._gathering and time.monotonic() - self._sent_at >= GATHER_S:
            self._send()
        if event is not None:
            return self._hear(event)
        if time.monotonic() - self._moved_at < PATIENCE_S:
            return []
        self._moved_at = time.monotonic()
        if self._machine.phase is Phase.ALONE or not self._machine.waits:
            return []  # the model here takes its time
        return self._lose("the server was waited for too long")

    def _hear(self, event: a.Event | Broke | Heard) -> list[a.Command]:
        match event:
            case Broke(why):
                raise EngineError(why)
            case m.Sources(_, passages):
                self.report.passages = passages
            case m.Weight() | m.Drafts() | m.Targets() | m.Switch():
                return self._told(heard(event, self._terms.vocabulary))
            case m.Finished() | m.Failed() | Lost():
                self._heard_end = True
                return self._lose(_why(event))
            case m.Queued() | m.Tokens() | m.Rest():
                pass
            case _:
                return self._machine.receive(event)
        return []

    def _told(self, message: a.Event) -> list[a.Command]:
        try:
            return self._machine.receive(message)
        except ProtocolError as error:
            return self._lose(f"the server does not keep to the protocol: {error}")

    def _lose(self, why: str) -> list[a.Command]:
        commands = self._machine.receive(a.Lost(why))
        self._cancel()
        return commands

    def _do(self, commands: Sequence[a.Command]) -> list[tuple[int, int]]:
        """Carry the commands out; the positions and tokens that are settled by them."""
        settled = []
        for command in commands:
            match command:
                case a.Emit(position, token):
                    settled.append((position, token))
                case a.Send(a.Weight(log_h)):
                    self._say(m.Weight(1, None if log_h == -math.inf else log_h))
                case a.Send(a.Drafts() as drafts):
                    self._gathering.add(drafts)
                case a.Send(a.Stop()):
                    self._cancel()
                case a.RollBack() if self._drafts:
                    self._drafts.correct(command)
                case a.GoAlone(position, reason):
                    self.report.together, self.report.alone = position, reason
                case a.Finish():
                    self._send()
        if self._gathering and time.monotonic() - self._sent_at >= GATHER_S:
            self._send()
        if self._drafts:
            self._drafts.allow(len(self._machine.settled) + self._terms.ahead)
        return settled

    def _send(self) -> None:
        self._sent_at = time.monotonic()
        for drafts in self._gathering.take():
            self.report.drafts_sent += len(drafts.tokens)
            self._say(m.Drafts(1, drafts.epoch, drafts.position, drafts.tokens))

    def _say(self, message: m.Weight | m.Drafts) -> None:
        if self._request and not self._heard_end:
            self._request.tell(message)

    def _cancel(self) -> None:
        self._gathering.take()
        if self._request and not self._heard_end:
            self._request.cancel()
            self._heard_end = True

    def _leave(self) -> None:
        self._cancel()
        if not self.report.alone:
            self.report.together = len(self._machine.settled)
        self.report.judged = {side: (one.drafts, one.accepted) for side, one in self._machine.judged.items()}
        if self._request:
            self.report.sent_bytes = self._request.sent_bytes

    def _ask(self) -> m.Ask:
        asked = self._asked
        return m.Ask(
            request=1,
            question=asked.question,
            generate=True,
            passages=asked.passages,
            max_tokens=self._terms.max_tokens,
            credit=0,
            sampling=m.Sampling(**asdict(asked.sampling)),
            ahead=self._terms.ahead,
        )


def joint_pieces(joint: Aggregated) -> Generator[Piece, None, None]:
    """The answer up to where it repeats itself; whoever stops reading stops both sides."""
    with joint, closing(joint.pieces()) as pieces:
        yield from ended(pieces)


def _why(event: m.Finished | m.Failed | Lost) -> str:
    match event:
        case m.Failed(_, _, message) if message:
            return message
        case Lost():
            return "the server has lost this answer"
    return "the server stopped writing"
