"""The legal order of a session, both sides in one process: frames in, messages out."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import Arrived as AtDevice
from shared.protocol.device import DeviceSession, Lost
from shared.protocol.messages import CloseCode
from shared.protocol.server import Arrived as AtServer
from shared.protocol.server import ServerSession
from shared.protocol.session import State

SESSION = "a-name-nobody-guesses"
OFFER = m.Offer("model", "words", "embedder", 2048, 4, 256, 60.0)
HELLO = m.Hello((1,), "words", "embedder", "jackdaw 0.1.0")
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

    def says(self, message: m.Ask | m.Start | m.Credit | m.Cancel | m.Ping) -> None:
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
    assert side.state is State.BROKEN
    with pytest.raises(ProtocolError):
        side.receive(frame)


def event(seq: int, said: m.Event) -> Frame:
    """The frame of an event, whatever a session would say of it."""
    return codec.server_frame(m.Numbered(seq, said))


def test_a_question_is_answered() -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Queued(1, 2, 300), m.Sources(1, (PASSAGE,)), m.Tokens(1, 0, (5, 6)), m.Tokens(1, 2, (7,)))
    link.answers(m.Finished(1, "end", USAGE))
    welcome, queued, sources, first, second, finished = link.at_device
    assert isinstance(welcome, m.Welcome)
    assert not welcome.resumed
    assert queued == m.Queued(1, 2, 300)
    assert sources == m.Sources(1, (PASSAGE,))
    assert (first, second) == (m.Tokens(1, 0, (5, 6)), m.Tokens(1, 2, (7,)))
    assert finished == m.Finished(1, "end", USAGE)
    assert link.at_server == [ask(), m.Acknowledge(5)]
    assert link.device.alive == link.server.alive == ()
    assert link.server.kept == (0, 0)


def test_a_search_may_be_started_after_accepted_tokens() -> None:
    link = Link().connect()
    link.says(ask(generate=False, credit=0))
    link.answers(m.Sources(1, (PASSAGE,)))
    assert link.server.sendable(1) == 0
    link.says(m.Start(1, 8, (1, 2, 3)))
    assert link.server.sendable(1) == 5
    link.answers(m.Tokens(1, 3, (4,)), m.Finished(1, "end", USAGE))
    assert link.at_device[-2:] == [m.Tokens(1, 3, (4,)), m.Finished(1, "end", USAGE)]


def test_what_was_in_flight_both_ways_arrives_after_a_cut() -> None:
    link = Link().connect()
    link.says(ask(credit=1))
    link.answers(m.Sources(1, ()))
    link.server.send(m.Tokens(1, 0, (5,)))
    link.device.send(m.Credit(1, 9))
    link.device.send(ask(2))
    link.connect()
    assert link.at_server[-2:] == [m.Credit(1, 9), ask(2)]
    assert link.at_device[-1] == m.Tokens(1, 0, (5,))
    assert link.server.sendable(1) == 8
    link.answers(m.Tokens(1, 1, (6,)), m.Finished(1, "end", USAGE), m.Failed(2, "busy", "Later.", 3.0))
    assert link.device.alive == link.server.alive == ()


def test_a_session_that_is_gone_loses_its_requests() -> None:
    link = Link().connect()
    link.says(ask(credit=1))
    link.server = ServerSession(SESSION + "-2", OFFER)
    link.connect()
    assert link.at_device[-1] == Lost(1)
    assert link.device.alive == ()
    link.says(ask(link.device.next_request, accepted=(1, 2)))
    link.answers(m.Sources(2, ()), m.Tokens(2, 2, (3,)), m.Finished(2, "end", USAGE))
    assert link.at_device[-2] == m.Tokens(2, 2, (3,))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (CloseCode.ORDER, m.Tokens(1, 1, (5,))),
        (CloseCode.CREDIT, m.Tokens(1, 0, tuple(range(11)))),
        (CloseCode.ILLEGAL, m.Tokens(2, 0, (5,))),
        (CloseCode.ILLEGAL, m.Tokens(1, 0, (5,), "five")),
        (CloseCode.ILLEGAL, m.Sources(1, ())),
        (CloseCode.ILLEGAL, m.Finished(1, "cancelled", USAGE)),
    ],
)
def test_a_device_refuses_what_a_server_may_not_say(code: CloseCode, said: m.Event) -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Sources(1, ()))
    refused(code, event(2, said), link.device)
