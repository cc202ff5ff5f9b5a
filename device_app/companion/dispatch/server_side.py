"""The server's side of a race, over the link, with commands to begin, to limit and to stop its writing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from device_app.companion.dispatch.events import Ended, Failed, Token
from device_app.companion.dispatch.sides import Broke, FoundPassages, Inbox, Waits, Wrote
from device_app.companion.link.request import RemoteRequest, RequestEvent
from shared.ending import Piece
from shared.errors import LinkError, ProtocolError
from shared.protocol import messages as m
from shared.protocol.device import Lost

if TYPE_CHECKING:
    from device_app.companion.link.link import Link

WINDOW = 48
"""The tokens that a server may send beyond those received: at 50 ms each way and 200 tokens/s, 20 are in flight."""

MOST_CHARACTERS = 256
"""The most characters per token on average: the longest tokens of known vocabularies have 128."""


class ServerSide:
    """The server in a race.

    The first request searches, and may also write; later requests continue from the same passages.
    """

    def __init__(self, link: Link, ask: m.Ask, inbox: Inbox) -> None:
        """Prepare the server's side of a race; `ask` is the template of every request, `inbox` takes the events."""
        self.usage: list[m.Usage] = []
        self._link, self._ask, self._inbox = link, ask, inbox
        self._requests: list[RemoteRequest] = []
        self._streams: list[_Stream] = []
        self._sources: tuple[int, ...] = ()

    @property
    def sent_bytes(self) -> int:
        """The bytes that left the device for this answer."""
        return sum(stream.request.sent_bytes for stream in self._streams)

    def search(self, *, generate: bool) -> None:
        """Search for passages and, with `generate`, write an answer in epoch 0. Raises LinkError."""
        self._open(structs.replace(self._ask, generate=generate, credit=self._window(0) if generate else 0), 0, 0)

    def start(self) -> None:
        """Let the server write the answer from the first token, in epoch 0; without an open request, send one."""
        if self._streams:
            self._streams[-1].request.start(self._window(0))
            return
        try:
            self.search(generate=True)
        except LinkError as error:
            self._inbox.put(Broke(Failed("server", 0), str(error), time.monotonic()))

    def begin(self, epoch: int, accepted: Sequence[Piece], text: str) -> None:
        """Continue after the accepted tokens; events of this start carry `epoch`. `text` is the tokens' text."""
        by_text = self._link.by_text
        ids = () if by_text else tuple(piece.token for piece in accepted)
        before = len(accepted) - len(ids)
        most = max(self._ask.max_tokens - before, 1)  # the server does not count tokens that it gets as text
        ask = structs.replace(
            self._ask,
            generate=True,
            max_tokens=most,
            sources=self._sources,
            credit=min(self._window(len(ids)), most),
            accepted=ids,
            accepted_text=text if by_text else "",
        )
        try:
            self._open(ask, epoch, before)
        except LinkError as error:
            self._inbox.put(Broke(Failed("server", epoch), str(error), time.monotonic()))

    def allow(self, upto: int | None) -> None:
        """Allow the server to write tokens below the index `upto`; None lifts the limit."""
        self._streams[-1].limit(upto)

    def stop(self) -> None:
        """Cancel all requests."""
        for stream in self._streams:
            stream.stop()

    def _open(self, ask: m.Ask, epoch: int, before: int) -> None:
        stream = _Stream(self, self._inbox, epoch, before, ask)
        stream.request = self._link.ask(ask, stream.receive)
        self._streams.append(stream)

    def _window(self, index: int) -> int:
        return min(index + WINDOW, self._ask.max_tokens)

    def distrust(self, why: str) -> str:
        """Disconnect from a server that broke the protocol; return the reason as shown to the person."""
        return self._link.distrust(ProtocolError(m.CloseCode.MALFORMED, why))

    def remember(self, passages: tuple[m.PublicPassage, ...]) -> None:
        """Keep the passages of the answer for a later request that continues the answer."""
        self._sources = tuple(passage.id for passage in passages)
        self._inbox.put(FoundPassages(passages))


class _Stream:
    """One request of the server's side. `before` is the answer's index at which the request's own index 0 lies."""

    request: RemoteRequest

    def __init__(self, side: ServerSide, inbox: Inbox, epoch: int, before: int, ask: m.Ask) -> None:
        self._side, self._inbox, self._epoch, self._before = side, inbox, epoch, before
        self._most = ask.max_tokens
        self._next = len(ask.accepted)
        self._characters = 0
        self._first = epoch == 0
        self._granted = ask.credit
        self._upto = self._most
        self._stopped = False

    def limit(self, upto: int | None) -> None:
        """Allow tokens below the answer's index `upto`; None lifts the limit."""
        self._upto = self._most if upto is None else min(upto - self._before, self._most)
        self._allow()

    def stop(self) -> None:
        """Cancel the request."""
        if not self._stopped:
            self._stopped = True
            self.request.cancel()

    def receive(self, request: RemoteRequest, event: RequestEvent) -> None:
        """Handle an event of the request, on the link's thread; may be called before `ask` returns."""
        self.request = request
        now = time.monotonic()
        match event:
            case m.Sources():
                if self._first:
                    self._side.remember(event.passages)
            case m.Round():
                self._inbox.put(event)
            case m.Queued():
                self._inbox.put(Waits(event.wait_ms / 1000))
            case m.Tokens():
                self._characters += len(event.text or "")
                self._next = event.index + len(event.ids)
                if self._characters > MOST_CHARACTERS * (self._next + 1):
                    self._side.distrust("the server sent more text than its tokens can have")
                    return
                for index, piece in enumerate(self._pieces(event), self._before + event.index):
                    self._inbox.put(Wrote(Token("server", self._epoch, index, piece), now))
                self._allow()
            case m.Finished():
                self._stopped = True
                self._side.usage.append(event.usage)
                if event.reason != "cancelled":
                    self._inbox.put(Ended("server", self._epoch))
            case m.Failed():
                self._inbox.put(Broke(Failed("server", self._epoch), event.message or event.code, now))
            case Lost(_, why):
                self._inbox.put(Broke(Failed("server", self._epoch), why or "the server lost this answer", now))

    def _pieces(self, tokens: m.Tokens) -> list[Piece]:
        end = tokens.index + len(tokens.ids)
        if tokens.text is None:
            return [Piece(token, "", index + 1 >= self._most) for index, token in enumerate(tokens.ids, tokens.index)]
        return [Piece(-1, "")] * (len(tokens.ids) - 1) + [Piece(-1, tokens.text, end >= self._most)]

    def _allow(self) -> None:
        """Allow the server to send a window of tokens ahead, with one message for every third of the window."""
        upto = min(self._next + WINDOW, self._upto)
        if not self._stopped and (upto - self._granted >= WINDOW // 3 or self._granted < upto == self._upto):
            self._granted = upto
            self.request.allow(upto)
