"""The server's side of a session: receives requests, sends events, and keeps events until they are acknowledged."""

from typing import Final, NamedTuple

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.messages import CloseCode
from shared.protocol.session import Session, SessionState

MOST_KEPT_EVENTS: Final = 512
MOST_KEPT_BYTES: Final = 256 * 1024
"""The most bytes of unacknowledged events; beyond this limit, a server sends no more tokens.

The few other events of each request may exceed it.
"""

Arrived = m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice | m.Acknowledge | m.Closing


class Received(NamedTuple):
    """The messages in a frame from the device, and the frames to send in reply."""

    events: list[Arrived]
    frames: list[Frame]


class ServerSession(Session):
    """The server's side of a session."""

    __slots__ = ("_acknowledged", "_ends", "_id", "_kept", "_kept_bytes", "_offer", "_pinged", "_sent", "_welcomed")

    def __init__(self, session: str, offer: m.Offer) -> None:
        """Create a session with the id `session`, which must be unguessable, as its holder can resume the session."""
        super().__init__(offer)
        self._offer = offer
        self._id = session
        self._ends: dict[int, int] = {}
        self._kept: dict[int, Frame] = {}
        self._kept_bytes = self._sent = self._acknowledged = 0
        self._pinged = 0  # the last ping's number on this connection
        self._welcomed = False

    @property
    def id(self) -> str:
        """The session's id."""
        return self._id

    @property
    def kept(self) -> tuple[int, int]:
        """The number of unacknowledged events, and their total bytes."""
        return len(self._kept), self._kept_bytes

    def accept(self, hello: m.Hello) -> list[Frame]:
        """Begin a connection with its received hello; return the frames of the welcome and all unacknowledged events.

        Frames of an older connection must not be passed in any more. Raises ProtocolError, without any change, for a
        device that resumes another session, or after an event that was never sent.
        """
        self._not_broken()
        by_text = hello.vocabulary != self._offer.vocabulary
        if self._welcomed:
            if hello.resume is None or hello.resume.session != self._id or by_text != self._by_text:
                raise ProtocolError(CloseCode.ILLEGAL, "The device tried to resume another device's session.")
            if self.version not in hello.versions:
                raise ProtocolError(
                    CloseCode.ILLEGAL,
                    f"The session stays in protocol version {self.version}, which the device no longer offers.",
                )
            self._acknowledge(hello.resume.last_seq)
        else:
            self.version = max(set(m.VERSIONS).intersection(hello.versions))
        welcome = m.Welcome(self.version, self._id, self._welcomed, self._last, self._offer)
        self._welcomed, self._by_text, self.state = True, by_text, SessionState.OPEN
        self._pinged = 0
        self._comparable = hello.embedder == self._offer.embedder
        return [codec.server_frame(welcome), *self._kept.values()]

    def receive(self, frame: Frame) -> Received:
        """Process a frame from the device other than its hello. Raises ProtocolError, which ends the session."""
        if self.state is not SessionState.OPEN:
            raise ProtocolError(CloseCode.ILLEGAL, "The device's frame arrived without an open connection.")
        try:
            return self._receive(codec.from_device(frame, self.version))
        except ProtocolError:
            self.state = SessionState.BROKEN
            raise

    def sendable(self, request: int) -> int:
        """Return how many tokens or drafts of the request may be sent now; a Credit or Acknowledge allows more."""
        standing = self._requests.get(request)
        return standing.sendable if standing and self._room() else 0

    def next_index(self, request: int) -> int:
        """Return the index of the request's next token; 0 if the request has ended or was never asked."""
        standing = self._requests.get(request)
        return standing.index if standing else 0

    def next_round(self, request: int) -> int:
        """Return the number of the request's next Round message; 0 if none may be sent now."""
        standing = self._requests.get(request)
        return standing.next_round if standing and self._room() else 0

    def send(self, message: m.Event | m.Goaway | m.Closing) -> list[Frame]:
        """Return the frames for a message; none without a connection, when events are only kept. Raises ProtocolError.

        Events of a cancelled request are dropped, except for its end.
        """
        self._not_broken()
        # Tokens first: they are many, and isinstance() of a struct is slow if it is False.
        if not isinstance(message, m.Tokens) and isinstance(message, (m.Goaway, m.Closing)):
            return self._leave(message)
        request = self._requests.get(message.request)
        if request is None or request.done:
            raise ProtocolError(CloseCode.ILLEGAL, f"Request {message.request} has ended, or was never asked.")
        if request.cancelled and not isinstance(message, m.Finished | m.Failed):
            return []
        if not self._room():
            if isinstance(message, m.Queued):
                return []
            if isinstance(message, m.Tokens | m.Drafts | m.Targets | m.Rest | m.Round):
                raise ProtocolError(CloseCode.CREDIT, "Too many events are unacknowledged to send another.")
        frame = codec.server_frame(m.Numbered(self._sent + 1, message))
        request.advance(message)
        self._sent += 1
        self._kept[self._sent] = frame
        self._kept_bytes += len(frame)
        if request.done:
            self._ends[message.request] = self._sent
        return [frame] if self.state is SessionState.OPEN else []

    def _receive(self, message: m.FromDevice) -> Received:
        match message:
            case m.Acknowledge():
                self._acknowledge(message.seq)
            case m.Ask():
                self._ask(message)
            case m.Ping(number):
                if number <= self._pinged:
                    raise ProtocolError(CloseCode.ORDER, f"Ping {number} came after ping {self._pinged}.")
                self._pinged = number
                return Received([], [codec.server_frame(m.Pong(number))])
            case m.Closing():
                self.cut()
            case m.Hello():
                raise ProtocolError(CloseCode.ILLEGAL, "The device said hello twice.")
            case _:
                # After a cut, a device repeats messages that may have been lost.
                if (isinstance(message, m.Start) and self._generates(message.request)) or not self._change(message):
                    return Received([], [])
        return Received([message], [])

    def _leave(self, message: m.Goaway | m.Closing) -> list[Frame]:
        frames = [codec.server_frame(message)] if self.state is SessionState.OPEN else []
        if isinstance(message, m.Closing):
            self.cut()
        return frames

    def _generates(self, number: int) -> bool:
        request = self._requests.get(number)
        return request is not None and request.generate

    def _acknowledge(self, seq: int) -> None:
        if not self._acknowledged <= seq <= self._sent:
            raise ProtocolError(
                CloseCode.ORDER,
                f"The device acknowledged event {seq}, which is not within {self._acknowledged}..{self._sent}.",
            )
        for number in range(self._acknowledged + 1, seq + 1):
            self._kept_bytes -= len(self._kept.pop(number))
        self._acknowledged = seq
        if not self._kept:
            self._kept.clear()  # frees a dictionary's memory, for the many idle sessions
        # A request is alive until its end is acknowledged, which bounds the kept events.
        for number in [number for number, end in self._ends.items() if end <= seq]:
            del self._ends[number], self._requests[number]

    def _room(self) -> bool:
        return len(self._kept) < MOST_KEPT_EVENTS and self._kept_bytes < MOST_KEPT_BYTES
