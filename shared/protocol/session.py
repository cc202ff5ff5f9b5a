"""The part of a session that both sides share: requests in their legal order, over one or more connections.

Both sides keep a session after `cut`: the server numbers its events and keeps them until they are acknowledged, and the
device repeats its requests; a new connection resumes at the point where the old one was lost. A received message that
breaks the rules ends the session (ProtocolError, then `codec.closing`); an illegal `send` raises and changes nothing.
Uses no clock: the callers decide how long a session outlives its connection, how soon a hello must come and who may
resume.
"""

from enum import IntEnum
from typing import Literal

from shared.errors import ProtocolError
from shared.protocol import messages as m
from shared.protocol.messages import CloseCode
from shared.protocol.request import Request


class SessionState(IntEnum):
    """The state of a session's connection."""

    CUT = 0
    GREETING = 1
    OPEN = 2
    BROKEN = 3  # the other side broke the protocol; no new connection repairs that


class Session:
    """The requests of one device to one server."""

    __slots__ = ("_by_text", "_comparable", "_last", "_requests", "offer", "state", "version")

    def __init__(self, offer: m.Offer | None) -> None:
        """Create a session. `offer` is the server's; a device passes None and receives the offer in the welcome."""
        self._requests: dict[int, Request] = {}
        self._last = 0
        self._by_text = False
        self._comparable = False  # whether both sides use one embedder, so that similarities can be compared
        self.offer = offer
        self.version = 0  # 0 until the first welcome; then fixed for the session
        self.state = SessionState.CUT

    @property
    def handover(self) -> Literal["tokens", "text"]:
        """The form in which an answer is handed over: token ids, or text if the two vocabularies differ."""
        return "text" if self._by_text else "tokens"

    @property
    def alive(self) -> tuple[int, ...]:
        """The numbers of the requests that have not ended."""
        return tuple(number for number, request in self._requests.items() if not request.done)

    def cut(self) -> None:
        """Record that the connection is lost."""
        if self.state is not SessionState.BROKEN:
            self.state = SessionState.CUT

    def _ask(self, ask: m.Ask) -> None:
        if self.offer is None:
            raise ProtocolError(CloseCode.ILLEGAL, "A request came before the server's welcome.")
        if ask.request <= self._last:
            raise ProtocolError(CloseCode.ORDER, f"Request {ask.request} came after request {self._last}.")
        if len(self._requests) >= self.offer.requests:
            raise ProtocolError(
                CloseCode.REQUESTS, f"The server accepts at most {self.offer.requests} requests at a time."
            )
        if ask.max_tokens > self.offer.max_tokens:
            raise ProtocolError(CloseCode.ILLEGAL, f"The server's answers have at most {self.offer.max_tokens} tokens.")
        if "question" not in self.offer.receives:
            raise ProtocolError(CloseCode.ILLEGAL, "The server does not accept questions.")
        self._takes_answers(ask)
        if ask.ahead and not (self._comparable and "drafts" in self.offer.receives):
            raise ProtocolError(
                CloseCode.ILLEGAL,
                "The server does not accept drafts, or uses another embedder: no joint answers.",
            )
        if ask.pipeline and (self.version == 1 or ask.pipeline not in self.offer.pipelines):
            raise ProtocolError(CloseCode.ILLEGAL, "The server does not offer that pipeline.")
        self._requests[ask.request] = Request(ask, by_text=self._by_text, rounds=self.version > 1)
        self._last = ask.request

    def _change(self, message: m.Start | m.Credit | m.Cancel | m.JointFromDevice) -> bool:
        """Apply a message to its request. Return False for a message without effect, as after the request's end."""
        if message.request > self._last:
            raise ProtocolError(
                CloseCode.ILLEGAL, f"A message came for request {message.request}, which was never asked."
            )
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
            case m.RoundTrip() if not (self.offer and "scheduled" in self.offer.aggregation):
                raise ProtocolError(
                    CloseCode.ILLEGAL, "The server did not offer to choose the deciding side by round-trip times."
                )
            case m.FollowingWeight() if not (self.offer and self.offer.follows_text):
                raise ProtocolError(CloseCode.ILLEGAL, "The server did not offer weights that follow the text.")
            case _:
                return request.on_message(message)
        return True

    def _takes_answers(self, message: m.Ask | m.Start) -> None:
        if (message.accepted or message.accepted_text) and self.offer and "answer" not in self.offer.receives:
            raise ProtocolError(CloseCode.ILLEGAL, "The server does not continue answers.")

    def _not_broken(self) -> None:
        if self.state is SessionState.BROKEN:
            raise ProtocolError(CloseCode.ILLEGAL, "The session is over, because the other side broke the protocol.")
