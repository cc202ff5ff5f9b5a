"""What both sides of a session are: requests in their legal order, over as many connections as it takes.

After `cut` both sides go on: the server's events are numbered and kept until they are acknowledged, the device's
requests are said again as they stand; a new connection resumes where the old one was lost. Whoever breaks the rules on
receipt ends the session (ProtocolError, then `codec.closing`); a wrong `send` raises and changes nothing. Knows no
clock: how long a session outlives its connection, how fast a hello must come and who may come back is the edges'.
"""

from enum import IntEnum
from typing import Literal

from shared.errors import ProtocolError
from shared.protocol import messages as m
from shared.protocol.messages import CloseCode
from shared.protocol.request import Request


class SessionState(IntEnum):
    """Of a session's connection."""

    CUT = 0
    GREETING = 1
    OPEN = 2
    BROKEN = 3  # by the other side's mistake; no new connection will repair it


class Session:
    """The requests of one device on one server."""

    __slots__ = ("_by_text", "_comparable", "_last", "_requests", "offer", "state", "version")

    def __init__(self, offer: m.Offer | None) -> None:
        """`offer` is the server's; a device learns it from the welcome."""
        self._requests: dict[int, Request] = {}
        self._last = 0
        self._by_text = False
        self._comparable = False  # similarities of both sides
        self.offer = offer
        self.version = 0  # until the first welcome; then for as long as the session lives
        self.state = SessionState.CUT

    @property
    def handover(self) -> Literal["tokens", "text"]:
        """How an answer changes sides: as token ids, or as text where the other side's vocabulary is another."""
        return "text" if self._by_text else "tokens"

    @property
    def alive(self) -> tuple[int, ...]:
        """Requests that have not ended."""
        return tuple(number for number, request in self._requests.items() if not request.done)

    def cut(self) -> None:
        """The connection is gone."""
        if self.state is not SessionState.BROKEN:
            self.state = SessionState.CUT

    def _ask(self, ask: m.Ask) -> None:
        if self.offer is None:
            raise ProtocolError(CloseCode.ILLEGAL, "Nothing can be asked before a welcome.")
        if ask.request <= self._last:
            raise ProtocolError(CloseCode.ORDER, f"Request {ask.request} came after request {self._last}.")
        if len(self._requests) >= self.offer.requests:
            raise ProtocolError(CloseCode.REQUESTS, f"The server takes {self.offer.requests} requests at a time.")
        if ask.max_tokens > self.offer.max_tokens:
            raise ProtocolError(CloseCode.ILLEGAL, f"The server writes {self.offer.max_tokens} tokens at most.")
        if "question" not in self.offer.receives:
            raise ProtocolError(CloseCode.ILLEGAL, "The server takes no questions.")
        self._takes_answers(ask)
        if ask.ahead and not (self._comparable and "drafts" in self.offer.receives):
            raise ProtocolError(CloseCode.ILLEGAL, "The server takes no drafts, or compares passages otherwise.")
        if ask.pipeline and (self.version == 1 or ask.pipeline not in self.offer.pipelines):
            raise ProtocolError(CloseCode.ILLEGAL, "The server does not offer that pipeline.")
        self._requests[ask.request] = Request(ask, by_text=self._by_text, rounds=self.version > 1)
        self._last = ask.request

    def _change(self, message: m.Start | m.Credit | m.Cancel | m.JointFromDevice) -> bool:
        """Whether it changed anything: it may have crossed the request's end."""
        if message.request > self._last:
            raise ProtocolError(CloseCode.ILLEGAL, f"Request {message.request} was never asked.")
        request = self._requests.get(message.request)
        if request is None or request.done or request.cancelled:
            return False
        match message:
            case m.Start():
                self._takes_answers(message)
                request.start(message)
            case m.Credit():
                return request.grant(message.upto)
            case m.Cancel():
                request.cancelled = True
            case _:
                return request.on_message(message)
        return True

    def _takes_answers(self, message: m.Ask | m.Start) -> None:
        if (message.accepted or message.accepted_text) and self.offer and "answer" not in self.offer.receives:
            raise ProtocolError(CloseCode.ILLEGAL, "The server goes on with no answers.")

    def _not_broken(self) -> None:
        if self.state is SessionState.BROKEN:
            raise ProtocolError(CloseCode.ILLEGAL, "The other side broke the protocol: this session is over.")
