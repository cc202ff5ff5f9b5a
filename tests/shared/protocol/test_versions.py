"""Two protocol versions: the exact bytes that each side sends to a peer that supports only the first version."""

from collections.abc import Callable

import msgspec
import pytest

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.device import DeviceSession
from shared.protocol.messages import CloseCode
from shared.protocol.server import MOST_KEPT_EVENTS, ServerSession
from shared.protocol.session import SessionState
from tests.sessions import HELLO, OFFER, PASSAGE, SESSION, USAGE, Link, ask, event, lossy, refused

OLD_HELLO = '{"type":"hello","versions":[1],"vocabulary":"words","embedder":"embedder","client":"old"}'
OLD_WELCOME = (
    '{"type":"welcome","version":1,"session":"a-name-nobody-guesses","resumed":false,"asked":0,"offer":{"model":"model",'
    '"vocabulary":"words","embedder":"embedder","context":2048,"requests":4,"max_tokens":8000,"resume_for_s":60.0,'
    '"receives":["question","answer","drafts"]}}'
)
OLD_ASK = bytes.fromhex(  # as version 1's page had it
    "dc001001 01 b05768657265206973204265726765 6e3f c3 03 40 10 96cb0000000000000000 00 cb3ff0000000000000"
    "cb0000000000000000 cb3ff0000000000000 00 90 a0 90 00 a7636f75706c6564 a4626f7468 01 00"
)
QUESTION = m.Ask(1, "Where is Bergen?", True, 3, 64, 16)
ROUND = m.Round(1, 1, "hyde", ("Bergen lies in Norway.",), (PASSAGE,))


def old_device() -> tuple[ServerSession, dict[str, object]]:
    """Return a server's session that a device of version 1 has opened, and the server's welcome."""
    server = ServerSession(SESSION, OFFER)
    hello = codec.from_device(OLD_HELLO)
    assert isinstance(hello, m.Hello)
    [welcome] = server.accept(hello)
    return server, msgspec.json.decode(welcome)


def new_device() -> DeviceSession:
    """Return a device that speaks both versions, connected to a server that speaks only the first."""
    device = DeviceSession(HELLO)
    device.connect()
    device.receive(OLD_WELCOME)
    return device


def test_a_device_of_version_1_is_answered_in_its_words() -> None:
    server, welcome = old_device()
    assert welcome["version"] == server.version == 1
    assert server.receive(OLD_ASK).events == [QUESTION]
    assert server.next_round(1) == 0
    assert server.send(m.Sources(1, ()))
    with pytest.raises(ProtocolError):
        server.send(ROUND)
    frames = [*server.send(m.Tokens(1, 0, (504, 314))), *server.send(m.Finished(1, "end", USAGE))]
    assert frames == [
        bytes.fromhex("932102 9512 0100 92cd01f8cd013a c0"),
        bytes.fromhex("932103 9513 01 a3656e64 94 64 14 03 05 a0"),
    ]


def test_a_server_of_version_1_is_asked_in_its_words() -> None:
    device = new_device()
    assert device.version == 1
    assert device.send(QUESTION) == [OLD_ASK]
    assert device.receive(event(1, m.Sources(1, (PASSAGE,)))).events == [m.Sources(1, (PASSAGE,))]


def test_a_question_is_said_again_in_the_words_of_its_session() -> None:
    device = new_device()
    assert device.send(QUESTION) == [OLD_ASK]
    device.connect()
    again = device.receive(OLD_WELCOME.replace('"resumed":false', '"resumed":true'))
    assert again.frames[0] == OLD_ASK


def test_both_speak_the_highest_that_both_do() -> None:
    link = Link().connect()
    assert link.device.version == link.server.version == 2
    link.says(ask(pipeline="hyde"))
    assert link.at_server == [ask(pipeline="hyde")]
    later = codec.from_device(OLD_HELLO.replace("[1]", "[1,2,3]"))
    assert isinstance(later, m.Hello)
    server = ServerSession(SESSION, OFFER)
    server.accept(later)
    assert server.version == 2


def test_what_was_not_heard_is_said_again_with_its_pipeline() -> None:
    link = Link().connect()
    lossy(link, ask(pipeline="hyde"))
    link.connect()
    assert link.at_server[0] == ask(pipeline="hyde")


@pytest.mark.parametrize("more", [b"\xa0", b"\xa4hyde"])
def test_version_1_has_no_field_for_a_pipeline(more: bytes) -> None:
    server, _ = old_device()
    refused(CloseCode.MALFORMED, b"\xdc\x00\x11" + OLD_ASK[3:] + more, server)


@pytest.mark.parametrize("chosen", ["plain", "hyde"])
def test_no_pipeline_is_named_to_a_server_of_version_1(chosen: str) -> None:
    device = new_device()
    with pytest.raises(ProtocolError):
        device.send(ask(pipeline=chosen))
    assert device.send(QUESTION) == [OLD_ASK]


def test_a_round_that_a_server_of_version_1_says_ends_the_session() -> None:
    device = new_device()
    device.send(QUESTION)
    refused(CloseCode.ILLEGAL, event(1, ROUND), device)


def test_a_session_is_resumed_in_its_version_alone() -> None:
    server, _ = old_device()
    with pytest.raises(ProtocolError) as caught:
        server.accept(msgspec.structs.replace(HELLO, versions=(2,), resume=m.Resume(SESSION, 0)))
    assert caught.value.code == CloseCode.ILLEGAL
    server.accept(msgspec.structs.replace(HELLO, resume=m.Resume(SESSION, 0)))
    assert server.version == 1


def test_a_welcome_in_another_version_than_the_session_s_is_refused() -> None:
    link = Link().connect()
    link.device.connect()
    refused(CloseCode.ILLEGAL, codec.server_frame(m.Welcome(1, SESSION, True, 0, OFFER)), link.device)


def test_a_new_session_may_be_in_another_version() -> None:
    link = Link().connect()
    link.says(ask(pipeline="hyde"))
    link.device.connect()
    link.device.receive(OLD_WELCOME)
    assert (link.device.version, link.device.alive) == (1, ())


def sources(link: Link) -> None:
    """Let the server send the answer's sources."""
    link.answers(m.Sources(1, ()))


def middle(link: Link) -> None:
    """Let the server send the sources and the first token, so that the answer is under way."""
    link.answers(m.Sources(1, ()), m.Tokens(1, 0, (5,)))


@pytest.mark.parametrize("before", [lambda link: None, sources, middle])
def test_a_round_comes_anywhere_before_the_end(before: Callable[[Link], None]) -> None:
    link = Link().connect()
    link.says(ask())
    before(link)
    assert link.server.next_round(1) == 1
    link.answers(ROUND)
    assert link.at_device[-1] == ROUND
    assert link.server.next_round(1) == 2


def test_rounds_are_bounded() -> None:
    link = Link().connect()
    link.says(ask())
    for number in range(1, m.MOST_ROUNDS + 1):
        link.answers(msgspec.structs.replace(ROUND, number=number))
    assert link.server.next_round(1) == 0
    beyond = [33, 65, [21, 1, m.MOST_ROUNDS + 1, "hyde", [], []]]
    refused(CloseCode.MALFORMED, msgspec.msgpack.encode(beyond), link.device)


def test_no_round_of_an_answer_that_is_written_together() -> None:
    link = Link().connect()
    link.says(ask(ahead=4, credit=0))
    assert link.server.next_round(1) == 0
    refused(CloseCode.ILLEGAL, event(1, ROUND), link.device)


def test_no_pipeline_is_named_for_an_answer_that_is_written_together() -> None:
    link = Link().connect()
    with pytest.raises(ProtocolError):
        link.device.send(ask(ahead=4, credit=0, pipeline="hyde"))


def test_rounds_of_a_request_that_was_cancelled_or_is_over_are_not_said() -> None:
    link = Link().connect()
    link.says(ask())
    link.says(ask(2))
    link.says(m.Cancel(1))
    link.answers(m.Sources(2, ()), m.Finished(2, "end", USAGE))
    assert link.server.next_round(1) == link.server.next_round(2) == link.server.next_round(3) == 0
    assert link.server.send(ROUND) == []


def test_a_server_leaves_rounds_out_while_too_much_is_unacknowledged() -> None:
    link = Link().connect()
    link.says(ask(credit=8000, max_tokens=8000))
    link.server.cut()
    link.server.send(m.Sources(1, ()))
    for index in range(MOST_KEPT_EVENTS - 1):
        link.server.send(m.Tokens(1, index, (5,)))
    assert link.server.next_round(1) == 0
    with pytest.raises(ProtocolError):
        link.server.send(ROUND)
    link.connect()
    assert link.server.next_round(1) == 1


def test_rounds_come_after_a_cut() -> None:
    link = Link().connect()
    link.says(ask())
    link.server.send(ROUND)
    assert link.server.state is SessionState.OPEN
    link.connect()
    assert link.at_device[-1] == ROUND
