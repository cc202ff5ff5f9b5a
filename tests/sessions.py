"""Two sessions in one process, whose frames arrive at once; and what is said in them."""

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
    """A question that is answered, with credit for ten tokens."""
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
    """Two sessions whose frames arrive at once, and what came out at either end."""

    device: DeviceSession = field(default_factory=lambda: DeviceSession(HELLO))
    server: ServerSession = field(default_factory=lambda: ServerSession(SESSION, OFFER))
    at_device: list[AtDevice] = field(default_factory=list)
    at_server: list[AtServer] = field(default_factory=list)

    def connect(self) -> "Link":
        """Begin a connection."""
        [hello] = self.device.connect()
        said = codec.from_device(hello)
        assert isinstance(said, m.Hello)
        self.to_device(self.server.accept(said))
        return self

    def to_device(self, frames: Sequence[Frame]) -> None:
        """Carry frames down, and what they cause back up."""
        for frame in frames:
            arrived = self.device.receive(frame)
            self.at_device += arrived.events
            self.to_server(arrived.frames)

    def to_server(self, frames: Sequence[Frame]) -> None:
        """Carry frames up, and what they cause back down."""
        for frame in frames:
            arrived = self.server.receive(frame)
            self.at_server += arrived.events
            self.to_device(arrived.frames)

    def says(self, message: m.Ask | m.Start | m.Credit | m.Cancel | m.JointFromDevice | m.Ping) -> None:
        """The device says something."""
        self.to_server(self.device.send(message))

    def answers(self, *events: m.Event | m.Goaway) -> None:
        """The server says something."""
        for event in events:
            self.to_device(self.server.send(event))


def refused(code: CloseCode, frame: Frame, side: DeviceSession | ServerSession) -> None:
    """The side refuses the frame with that code, and then everything."""
    with pytest.raises(ProtocolError) as caught:
        side.receive(frame)
    assert caught.value.code == code
    assert side.state is SessionState.BROKEN
    with pytest.raises(ProtocolError):
        side.receive(frame)


def event(seq: int, said: m.Event) -> Frame:
    """The frame of an event, whatever a session would say of it."""
    return codec.server_frame(m.Numbered(seq, said))


def lossy(link: Link, *said: m.Ask | m.Start | m.Credit | m.Cancel | m.Weight | m.Drafts) -> None:
    """The device says it, and nobody hears."""
    for message in said:
        assert link.device.send(message)
