"""A device's and a server's protocol session in one process, whose frames arrive at once, and messages for them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import Arrived as AtDevice
from shared.protocol.device import DeviceSession
from shared.protocol.messages import CloseCode
from shared.protocol.server import Arrived as AtServer
from shared.protocol.server import ServerSession
from shared.protocol.session import SessionState

SESSION = "a-name-nobody-guesses"
OFFER = m.Offer("model", "words", "embedder", 2048, 4, 8000, 60.0, pipelines=("plain", "hyde"))
ONE_AT_A_TIME = msgspec.structs.replace(OFFER, requests=1)
HELLO = m.Hello(m.VERSIONS, "words", "embedder", "jackdaw 0.1.0")
USAGE = m.Usage(100, 20, 3, 5)
PASSAGE = m.PublicPassage(7, "Bergen", "cities.jsonl", "Bergen is a city.", 0.8, 0.9)


def ask(request: int = 1, **changes: object) -> m.Ask:
    """Return a question to be answered, with credit for ten tokens."""
    fields: dict[str, object] = {
        "question": "Where is Bergen?",
        "generate": True,
        "passages": 3,
        "max_tokens": 64,
        "credit": 10,
    }
    return m.Ask(request, **(fields | changes))  # type: ignore[arg-type]


@dataclass
class Link:
    """A device's and a server's session whose frames arrive at once, and the messages that each received."""

    device: DeviceSession = field(default_factory=lambda: DeviceSession(HELLO))
    server: ServerSession = field(default_factory=lambda: ServerSession(SESSION, OFFER))
    at_device: list[AtDevice] = field(default_factory=list)
    at_server: list[AtServer] = field(default_factory=list)

    def connect(self) -> "Link":
        """Open a connection between the two sessions."""
        [hello] = self.device.connect()
        said = codec.from_device(hello)
        assert isinstance(said, m.Hello)
        self.to_device(self.server.accept(said))
        return self

    def to_device(self, frames: Sequence[Frame]) -> None:
        """Deliver frames to the device, and its replies to the server."""
        for frame in frames:
            arrived = self.device.receive(frame)
            self.at_device += arrived.events
            self.to_server(arrived.frames)

    def to_server(self, frames: Sequence[Frame]) -> None:
        """Deliver frames to the server, and its replies to the device."""
        for frame in frames:
            arrived = self.server.receive(frame)
            self.at_server += arrived.events
            self.to_device(arrived.frames)

    def says(self, message: m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice | m.Ping) -> None:
        """Send a message from the device."""
        self.to_server(self.device.send(message))

    def answers(self, *events: m.Event | m.Goaway) -> None:
        """Send a message from the server."""
        for event in events:
            self.to_device(self.server.send(event))


def refused(code: CloseCode, frame: Frame, side: DeviceSession | ServerSession) -> None:
    """Check that the session refuses the frame with this close code, and refuses every later frame."""
    with pytest.raises(ProtocolError) as caught:
        side.receive(frame)
    assert caught.value.code == code
    assert side.state is SessionState.BROKEN
    with pytest.raises(ProtocolError):
        side.receive(frame)


def event(seq: int, said: m.Event) -> Frame:
    """Return the frame of an event, without the checks of a session."""
    return codec.server_frame(m.Numbered(seq, said))


def lossy(link: Link, *said: m.Ask | m.Start | m.Credit | m.Cancel | m.Weight | m.Drafts) -> None:
    """Let the device send messages that are lost on the way."""
    for message in said:
        assert link.device.send(message)
