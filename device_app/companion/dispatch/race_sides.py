"""The two sides of one race: starts and stops them, reads their common queue, and records times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

from device_app.companion import waiting
from device_app.companion.dispatch.device_side import DeviceSide
from device_app.companion.dispatch.events import Failed, Token
from device_app.companion.dispatch.patience import ServerPatience
from device_app.companion.dispatch.race_report import Question
from device_app.companion.dispatch.server_side import ServerSide
from device_app.companion.dispatch.sides import Broke, FoundPassages, Inbox, SideEvent, Waits, Wrote, spelled
from device_app.companion.rounds import Rounds
from device_app.companion.waiting import next_event
from device_app.inference.local import LocalSource
from shared.ending import Piece
from shared.protocol import messages as m
from shared.side import Side
from shared.trace import Trace

if TYPE_CHECKING:
    from device_app.companion.link.link import Link


@dataclass(frozen=True, slots=True)
class Linked:
    """The event that the connection to the server changed."""

    connected: bool


class RaceSides:
    """The two sides of a race. `rounds` are the server's rounds of retrieval.

    `started` and `first` hold the times when each side was started and wrote its first token, `times` when each token
    came: seconds of the monotonic clock, from `began` on. The server may write only tokens below `vocabulary`.
    `server_starts` holds, for each start of the server, the accepted tokens that it had to read after the prompt;
    `server_tokens` counts the tokens that it wrote.
    """

    def __init__(self, link: Link, source: Callable[[], LocalSource], question: Question) -> None:
        ask = m.Ask(
            request=1,
            question=question.text,
            generate=False,
            passages=question.passages,
            max_tokens=min(question.max_tokens, link.state.offer.max_tokens if link.state.offer else m.MOST_TOKENS),
            credit=0,
            sampling=m.Sampling(**asdict(question.sampling)),
            pipeline=question.pipeline,
        )
        self._link, self._source = link, source
        self._inbox: SimpleQueue[SideEvent | Linked] = SimpleQueue()
        inbox: Inbox = self._inbox  # type: ignore[assignment]  # the sides put only some of the queue's types
        self._device = DeviceSide(source, question, inbox)
        self._server = ServerSide(link, ask, inbox)
        self.began = time.monotonic()
        limits, began = waiting.LIMITS, self.began
        alone = ServerPatience(limits.alone_s, began, limits.token_s)
        self.patience = alone if question.server_begins else ServerPatience(limits.token_s, began)
        self.vocabulary = 2**31
        self.rounds = Rounds()
        self.started: dict[Side, float] = {}
        self.first: dict[Side, float] = {}
        self.times: dict[Side, list[float]] = {"device": [], "server": []}
        self.server_starts: list[int] = []
        self.server_tokens = 0
        self._watch = ExitStack()

    def __enter__(self) -> Self:
        """Start to put the link's state changes into the race's queue."""
        self._watch.enter_context(self._link.watched(lambda state: self._inbox.put(Linked(state.answering))))
        return self

    def close(self) -> None:
        """Stop both sides, the server first, and wait until the engine on this device is free."""
        with self._watch:
            self._server.stop()
            self._device.close()

    @property
    def trace(self) -> Trace:
        """The trace of the device's side."""
        return self._device.trace

    @property
    def sent_bytes(self) -> int:
        """The bytes that left the device for the race."""
        return self._server.sent_bytes

    def search(self, *, generate: bool) -> None:
        """Ask the server for passages and, with `generate`, for an answer from them. Raises LinkError."""
        if generate:
            self.started["server"] = time.monotonic()
            self.server_starts.append(0)
        self._server.search(generate=generate)

    def start(self, side: Side, passages: Sequence[m.PublicPassage]) -> None:
        """Let a side write the answer from the first token."""
        self.started[side] = time.monotonic()
        if side == "device":
            self._device.begin(0, passages, ())
        else:
            self.patience.begin(self.started[side])
            self.server_starts.append(0)
            self._server.start()

    def resume_device(self, epoch: int, passages: Sequence[m.PublicPassage], accepted: Sequence[Piece]) -> None:
        """Let the device continue after the accepted tokens; events of this start carry the number `epoch`."""
        self.started.setdefault("device", time.monotonic())
        self._device.begin(epoch, passages, accepted)

    def resume_server(self, epoch: int, accepted: Sequence[Piece]) -> None:
        """Let the server continue after the accepted tokens; events of this start carry the number `epoch`."""
        self.started.setdefault("server", time.monotonic())
        self.server_starts.append(len(accepted))
        text = spelled(accepted, self._source().engine.detokenize) if self._link.by_text else ""
        self._server.begin(epoch, accepted, text)

    def allow(self, side: Side, upto: int | None) -> None:
        """Allow a side to write tokens below the index `upto`; None lifts the limit."""
        (self._device if side == "device" else self._server).allow(upto)

    def stop(self, side: Side) -> None:
        """Stop a side's stream, because it is not needed any more."""
        (self._device if side == "device" else self._server).stop()

    def stop_both(self) -> None:
        """Stop both sides, and drop their queued events."""
        self._server.stop()
        self._device.close()
        while not self._inbox.empty():
            self._inbox.get()

    @property
    def is_quiet(self) -> bool:
        """Whether `next_event` would have to wait for an event."""
        return self._inbox.empty()

    def next_event(self, seconds: float) -> SideEvent | Linked | None:
        """Return the next event, waiting for at most `seconds`; None if there is none."""
        event = next_event(self._inbox, time.monotonic() + seconds)
        now = time.monotonic()
        match event:
            case Waits(promised):
                self.patience.promised(now, promised)
                return None
            case m.Round():
                self.patience.worked(now)
                self.rounds.add(event)
            case FoundPassages(passages):
                self.rounds.begin_answer(passages)
            case Wrote(Token("server", epoch, _, piece), _):
                if piece.token >= self.vocabulary:
                    why = self._server.distrust("the server sent a token outside its vocabulary")
                    return Broke(Failed("server", epoch), why, now)
                self.patience.received(now)
                self.server_tokens += 1
        return event

    def is_stuck(self, now: float) -> bool:
        """Return whether the server was started and the time limit for its next message is over."""
        return "server" in self.started and now >= self.patience.until
