"""The device's side of a session: converts the server's frames to events, and requests to frames."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.messages import CloseCode
from shared.protocol.repeating import needed_again
from shared.protocol.session import Session, SessionState

ACKNOWLEDGE_EVENTS: Final = 32
ACKNOWLEDGE_BYTES: Final = 64 * 1024
"""The numbers of received events, and of their bytes, after which a device acknowledges: far fewer than the
unacknowledged events that a server keeps.

A device also acknowledges at the end of each request.
"""


class Lost(NamedTuple):
    """The event that the server does not know a request: it restarted, forgot the session, or never received it.

    `why` is the server's protocol error, if the device closed the connection because of one; otherwise "".
    """

    request: int
    why: str = ""


Arrived = m.Welcome | m.Goaway | m.Closing | m.Event | m.Pong | Lost


class Received(NamedTuple):
    """The events in a frame from the server, and the frames to send in reply."""

    events: list[Arrived]
    frames: list[Frame]


class DeviceSession(Session):
    """The device's side of a session."""

    __slots__ = (
        "_acknowledged",
        "_commands",
        "_going",
        "_hello",
        "_id",
        "_joint",
        "_pinged",
        "_ponged",
        "_received",
        "_resuming",
        "_unacknowledged_bytes",
    )

    def __init__(self, hello: m.Hello) -> None:
        """Create a session.

        `hello` describes the device; after a lost connection, the session adds `resume` to `hello`.
        """
        super().__init__(None)
        self._hello = hello
        self._id: str | None = None
        self._commands: dict[int, tuple[m.Ask] | tuple[m.Ask, m.Start]] = {}
        self._joint: dict[int, list[m.JointFromDevice]] = {}
        self._received = self._acknowledged = self._unacknowledged_bytes = self._pinged = self._ponged = 0
        self._going = self._resuming = False

    @property
    def id(self) -> str | None:
        """The session's id on the server; None before the first welcome."""
        return self._id

    @property
    def next_request(self) -> int:
        """The number for the next Ask message."""
        return self._last + 1

    @property
    def received(self) -> int:
        """The number of the last received event."""
        return self._received

    @property
    def may_ask(self) -> bool:
        """Whether the server accepts another request, which without a connection is sent on the next one."""
        room = self.offer is not None and len(self._requests) < self.offer.requests
        return room and not self._going and self.state is not SessionState.BROKEN

    def connect(self) -> list[Frame]:
        """Begin a new connection and return its first frames.

        Frames of an older connection must not be passed in any more.
        """
        self._not_broken()
        self.cut()
        resume = m.Resume(self._id, self._received) if self._id else None
        hello = msgspec.structs.replace(self._hello, resume=resume)
        frame = codec.device_frame(hello)
        self._resuming = resume is not None
        self.state = SessionState.GREETING
        return [frame]

    def cut(self) -> None:
        """Record that the connection is lost, and forget the pings sent on it."""
        super().cut()
        self._ponged = self._pinged

    def receive(self, frame: Frame) -> Received:
        """Process a frame from the server. Raises ProtocolError, which ends the session."""
        if self.state not in (SessionState.GREETING, SessionState.OPEN):
            raise ProtocolError(CloseCode.ILLEGAL, "The server's frame arrived without an open connection.")
        try:
            return self._receive(frame)
        except ProtocolError:
            self.state = SessionState.BROKEN
            raise

    def send(
        self, message: m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice | m.Ping | m.Closing
    ) -> list[Frame]:
        """Return the frames for a message: none if the message is too late, or has to wait for a connection.

        Raises ProtocolError.
        """
        self._not_broken()
        frame = codec.device_frame(message, self.version)
        match message:
            case m.Ask():
                if self._going:
                    raise ProtocolError(CloseCode.ILLEGAL, "The server is shutting down and accepts no new requests.")
                self._ask(message)
                self._commands[message.request] = (message,)
            case m.Start() | m.Credit() | m.Cancel():
                if not self._change(message):
                    return []
                if isinstance(message, m.Start):
                    self._commands[message.request] = (self._commands[message.request][0], message)
            case _ if isinstance(message, m.JointFromDevice):
                if not self._change(message):
                    return []
                self._joint.setdefault(message.request, []).append(message)
            case m.Ping():
                if message.number <= self._pinged:
                    raise ProtocolError(CloseCode.ILLEGAL, "A ping's number must be greater than the last ping's.")
                self._pinged = message.number
                if self.state is not SessionState.OPEN:
                    self._ponged = message.number
            case m.Closing():
                said = [frame] if self.state in (SessionState.GREETING, SessionState.OPEN) else []
                self.cut()
                return said
            case _:
                raise ProtocolError(CloseCode.ILLEGAL, "Only the session itself sends Hello and Acknowledge.")
        return [frame] if self.state is SessionState.OPEN else []

    def _receive(self, frame: Frame) -> Received:
        message = codec.from_server(frame)
        if self.state is SessionState.GREETING and not isinstance(message, m.Welcome | m.Closing):
            raise ProtocolError(CloseCode.ILLEGAL, "The server sent another message before its welcome.")
        match message:
            case m.Numbered():
                return self._event(message, len(frame))
            case m.Pong():
                if not self._ponged < message.number <= self._pinged:
                    raise ProtocolError(CloseCode.ORDER, "The server sent a pong without a ping.")
                self._ponged = message.number
            case m.Welcome():
                return self._welcome(message)
            case m.Goaway():
                self._going = True
            case m.Closing():
                self.cut()
        return Received([message], [])

    def _event(self, message: m.Numbered, size: int) -> Received:
        if message.seq != self._received + 1:
            expected = self._received + 1
            raise ProtocolError(CloseCode.ORDER, f"The server sent event {message.seq} where {expected} is next.")
        event = message.event
        request = self._requests.get(event.request)
        if request is None:
            raise ProtocolError(CloseCode.ILLEGAL, "The server sent an event for a request that is not open.")
        request.advance(event)
        self._received = message.seq
        self._unacknowledged_bytes += size
        if isinstance(event, m.Drafts | m.Targets) and (said := self._joint.get(event.request)):
            said[:] = needed_again(self._commands[event.request][0], said, event)
        if request.done:
            self._forget(event.request)
        frames: list[Frame] = []
        behind = self._received - self._acknowledged
        if request.done or behind >= ACKNOWLEDGE_EVENTS or self._unacknowledged_bytes >= ACKNOWLEDGE_BYTES:
            frames.append(codec.device_frame(m.Acknowledge(self._received)))
            self._acknowledge()
        # Events in flight of a cancelled request are dropped; its end is kept, for the usage.
        return Received([] if request.cancelled and not request.done else [event], frames)

    def _welcome(self, welcome: m.Welcome) -> Received:
        if self.state is SessionState.OPEN:
            raise ProtocolError(CloseCode.ILLEGAL, "The server sent a second welcome on one connection.")
        if welcome.version not in self._hello.versions:
            raise ProtocolError(
                CloseCode.VERSION,
                f"The server chose protocol version {welcome.version}, which the device did not offer.",
            )
        resumed, by_text = welcome.resumed, welcome.offer.vocabulary != self._hello.vocabulary
        if resumed and not (self._resuming and welcome.session == self._id and by_text == self._by_text):
            raise ProtocolError(CloseCode.ILLEGAL, "The server resumed another session than the device asked for.")
        if resumed and welcome.version != self.version:  # the requests were encoded for that version
            raise ProtocolError(CloseCode.ILLEGAL, "The server resumed a session with another protocol version.")
        if resumed and welcome.offer != self.offer:  # requests may exceed the new offer
            raise ProtocolError(CloseCode.ILLEGAL, "The server resumed a session, but changed its offer.")
        if welcome.asked > (self._last if resumed else 0):
            raise ProtocolError(
                CloseCode.ORDER, f"The server claims to know request {welcome.asked}, which the device never sent."
            )
        # A question that was cancelled before the server received it is not sent again.
        lost = [
            number
            for number, request in self._requests.items()
            if not resumed or (number > welcome.asked and request.cancelled)
        ]
        for number in lost:
            self._forget(number)
        if not resumed:
            self._received = 0
        self._id, self.offer, self._by_text = welcome.session, welcome.offer, by_text
        self.version = welcome.version
        self._comparable = welcome.offer.embedder == self._hello.embedder
        self._going, self.state = False, SessionState.OPEN
        self._acknowledge()
        return Received([welcome, *map(Lost, lost)], list(self._again(welcome.asked)))

    def _again(self, asked: int) -> Iterator[Frame]:
        """Yield the frames that repeat the commands of every open request after a reconnect, as some may be lost.

        `asked` is the highest number of a request that reached the server, whose Ask is not repeated.
        """
        for number, request in self._requests.items():
            for command in self._commands[number]:
                if number > asked or not isinstance(command, m.Ask):
                    yield codec.device_frame(command, self.version)
            for said in self._joint.get(number, ()):
                yield codec.device_frame(said)
            if request.credit:
                yield codec.device_frame(m.Credit(number, request.credit))
            if request.cancelled:
                yield codec.device_frame(m.Cancel(number))

    def _forget(self, number: int) -> None:
        del self._requests[number], self._commands[number]
        self._joint.pop(number, None)

    def _acknowledge(self) -> None:
        self._acknowledged, self._unacknowledged_bytes = self._received, 0
