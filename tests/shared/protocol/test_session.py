"""The order of messages that a session allows, with both sides in one process: frames in, messages out."""

import gc
import tracemalloc

import msgspec
import pytest

from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import ACKNOWLEDGE_EVENTS, DeviceSession, Lost
from shared.protocol.messages import CloseCode
from shared.protocol.server import MOST_KEPT_EVENTS, ServerSession
from shared.protocol.session import SessionState
from tests.sessions import HELLO, OFFER, ONE_AT_A_TIME, PASSAGE, SESSION, USAGE, Link, ask, event, lossy, refused


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


def test_a_start_that_was_lost_is_said_again() -> None:
    link = Link().connect()
    link.says(ask(generate=False, credit=0))
    link.answers(m.Sources(1, ()))
    lossy(link, m.Start(1, 8, (1, 2)))
    link.connect()
    assert link.at_server[-1] == m.Start(1, 8, (1, 2))
    link.answers(m.Tokens(1, 2, (3,)))
    link.connect()  # the start was heard: it is no news
    assert link.at_server.count(m.Start(1, 8, (1, 2))) == 1
    link.answers(m.Tokens(1, 3, (4,)))
    assert link.at_device[-1] == m.Tokens(1, 3, (4,))


def test_a_cancel_that_was_lost_is_said_again() -> None:
    link = Link().connect()
    link.says(ask())
    lossy(link, m.Cancel(1))
    link.connect()
    assert link.at_server[-1] == m.Cancel(1)
    link.answers(m.Sources(1, ()), m.Finished(1, "cancelled", USAGE))
    assert link.at_device[-1] == m.Finished(1, "cancelled", USAGE)


def test_a_question_cancelled_before_it_was_heard_stays_on_the_device() -> None:
    link = Link().connect()
    lossy(link, ask(), ask(2))
    link.device.cut()
    assert link.device.send(m.Cancel(1)) == []
    link.connect()
    assert link.at_device[-1] == Lost(1)
    assert link.at_server[0] == ask(2)


def test_late_tokens_of_a_cancelled_request_reach_nobody() -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Sources(1, ()))
    late = link.server.send(m.Tokens(1, 0, (5,)))
    link.says(m.Cancel(1))
    assert link.server.send(m.Tokens(1, 1, (6,))) == []
    assert link.server.sendable(1) == 0
    assert link.device.send(m.Cancel(1)) == link.device.send(m.Credit(1, 60)) == []
    for again in (m.Cancel(1), m.Credit(1, 60), m.Start(1, 60)):
        assert link.server.receive(codec.device_frame(again)).events == []
    seen = len(link.at_device)
    link.to_device(late)
    assert len(link.at_device) == seen
    link.answers(m.Finished(1, "end", USAGE))
    assert link.at_device[seen:] == [m.Finished(1, "end", USAGE)]
    link.says(m.Cancel(1))
    link.says(m.Credit(1, 60))
    assert link.at_server[-1] == m.Acknowledge(3)


def test_a_new_session_counts_from_one() -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Sources(1, ()), m.Tokens(1, 0, (5,)))
    link.server = ServerSession(SESSION + "-2", OFFER)
    link.connect()
    link.says(ask(2))
    link.answers(m.Sources(2, ()))
    assert link.at_device[-1] == m.Sources(2, ())
    assert link.device.received == 1


def test_what_arrived_is_not_sent_again_and_what_is_kept_is_acknowledged_in_time() -> None:
    link = Link().connect()
    link.says(ask(max_tokens=200, credit=200))
    link.answers(m.Sources(1, ()))
    for index in range(100):
        link.answers(m.Tokens(1, index, (index,)))
        assert link.server.kept[0] < ACKNOWLEDGE_EVENTS
    link.device.cut()
    frames = link.server.send(m.Tokens(1, 100, (100,)))
    assert frames  # the server has not noticed
    [hello] = link.device.connect()
    said = codec.from_device(hello)
    assert isinstance(said, m.Hello)
    assert link.server.accept(said)[1:] == frames


def test_a_server_without_a_connection_keeps_what_it_says() -> None:
    link = Link().connect()
    link.says(ask())
    link.server.cut()
    assert link.server.send(m.Sources(1, ())) == []
    link.connect()
    assert link.at_device[-1] == m.Sources(1, ())


def test_a_server_keeps_a_bounded_window_and_goes_on_after_an_acknowledgement() -> None:
    link = Link().connect()
    link.says(ask(max_tokens=8000, credit=8000))
    link.server.send(m.Sources(1, ()))
    for index in range(MOST_KEPT_EVENTS - 1):
        link.server.send(m.Tokens(1, index, (1,)))
    assert link.server.sendable(1) == 0
    with pytest.raises(ProtocolError):
        link.server.send(m.Tokens(1, MOST_KEPT_EVENTS - 1, (1,)))
    assert link.server.kept[0] == MOST_KEPT_EVENTS
    link.server.receive(codec.device_frame(m.Acknowledge(MOST_KEPT_EVENTS)))
    assert link.server.kept == (0, 0)
    assert link.server.sendable(1) == 8000 - MOST_KEPT_EVENTS + 1


def test_a_request_takes_its_place_until_its_end_has_arrived() -> None:
    link = Link(server=ServerSession(SESSION, ONE_AT_A_TIME)).connect()
    link.says(ask())
    assert not link.device.may_ask
    end = link.server.send(m.Failed(1, "busy", "Later.", 1.0))
    refused(CloseCode.REQUESTS, codec.device_frame(ask(2)), link.server)
    again = Link(server=ServerSession(SESSION, ONE_AT_A_TIME)).connect()
    again.says(ask())
    again.answers(m.Failed(1, "busy", "Later.", 1.0))
    again.says(ask(2))
    assert again.at_server[-1] == ask(2)
    assert end


def test_another_vocabulary_hands_over_text() -> None:
    link = Link(server=ServerSession(SESSION, msgspec.structs.replace(OFFER, vocabulary="others"))).connect()
    assert link.device.handover == link.server.handover == "text"
    with pytest.raises(ProtocolError):
        link.device.send(ask(accepted=(1, 2)))
    link.says(ask(accepted_text="Bergen is "))
    link.answers(m.Sources(1, ()), m.Tokens(1, 0, (5, 6), "a city"), m.Finished(1, "end", USAGE, "."))
    assert link.at_device[-2:] == [m.Tokens(1, 0, (5, 6), "a city"), m.Finished(1, "end", USAGE, ".")]


def test_the_same_vocabulary_hands_over_token_ids() -> None:
    link = Link().connect()
    assert link.device.handover == link.server.handover == "tokens"
    with pytest.raises(ProtocolError):
        link.device.send(ask(accepted_text="Bergen is "))


def test_a_server_that_leaves_is_asked_nothing_more_until_the_next_welcome() -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Goaway("restarting", 30.0))
    assert link.at_device[-1] == m.Goaway("restarting", 30.0)
    assert not link.device.may_ask
    with pytest.raises(ProtocolError):
        link.device.send(ask(2))
    link.answers(m.Sources(1, ()))
    link.connect()
    assert link.device.may_ask


def test_a_ping_is_answered_and_one_that_was_cut_off_is_forgotten() -> None:
    link = Link().connect()
    link.says(m.Ping(1))
    assert link.at_device[-1] == m.Pong(1)
    link.device.send(m.Ping(2))
    link.connect()
    refused(CloseCode.ORDER, codec.server_frame(m.Pong(2)), link.device)


def test_ping_numbers_rise_on_each_connection() -> None:
    link = Link().connect()
    link.server.receive(codec.device_frame(m.Ping(7)))
    link.connect()
    link.server.receive(codec.device_frame(m.Ping(2)))
    with pytest.raises(ProtocolError) as refused:
        link.server.receive(codec.device_frame(m.Ping(2)))
    assert refused.value.code == CloseCode.ORDER


def test_closing_ends_the_connection_and_not_the_session() -> None:
    link = Link().connect()
    link.says(ask())
    [frame] = link.server.send(m.Closing(CloseCode.RESTARTING, "Back soon.", 2.0))
    assert link.server.state is SessionState.CUT
    assert link.device.receive(frame).events == [m.Closing(CloseCode.RESTARTING, "Back soon.", 2.0)]
    assert link.device.state is SessionState.CUT
    link.connect()
    assert link.device.alive == (1,)


def test_a_session_may_be_resumed_by_its_own_device_alone() -> None:
    link = Link().connect()
    for hello in (
        HELLO,
        msgspec.structs.replace(HELLO, resume=m.Resume(SESSION + "-2", 0)),
        msgspec.structs.replace(HELLO, vocabulary="others", resume=m.Resume(SESSION, 0)),
        msgspec.structs.replace(HELLO, resume=m.Resume(SESSION, 1)),
    ):
        with pytest.raises(ProtocolError):
            link.server.accept(hello)
    assert link.server.state is SessionState.OPEN


def test_what_is_sent_wrongly_changes_nothing() -> None:
    link = Link().connect()
    link.says(ask(credit=1))
    link.answers(m.Sources(1, ()))
    for wrong in (m.Tokens(1, 1, (5,)), m.Tokens(1, 0, (5, 6)), m.Sources(1, ()), m.Finished(2, "end", USAGE)):
        with pytest.raises(ProtocolError):
            link.server.send(wrong)
    for asked in (ask(1), ask(2, max_tokens=8192), ask(2, generate=False, accepted=(1,)), ask(2, accepted=(1,) * 64)):
        with pytest.raises(ProtocolError):
            link.device.send(asked)
    with pytest.raises(ProtocolError):
        link.device.send(m.Start(1, 5))
    link.answers(m.Tokens(1, 0, (5,)), m.Finished(1, "end", USAGE))
    link.says(ask(2))
    assert link.device.alive == (2,)


@pytest.mark.long
def test_an_idle_session_is_small_even_after_long_answers() -> None:
    def used() -> ServerSession:
        link = Link().connect()
        for number in (1, 2):
            link.says(ask(number, max_tokens=300, credit=300))
            link.answers(m.Sources(number, (PASSAGE,)), *(m.Tokens(number, index, (index,)) for index in range(300)))
            link.answers(m.Finished(number, "length", USAGE))
        return link.server

    used()
    gc.collect()
    tracemalloc.start()
    sessions = [used() for _ in range(20)]
    gc.collect()
    each = tracemalloc.get_traced_memory()[0] / len(sessions)
    tracemalloc.stop()
    assert each <= 4096


@pytest.mark.parametrize(
    ("code", "frame"),
    [
        (CloseCode.ORDER, event(1, m.Tokens(1, 0, (5,)))),  # again
        (CloseCode.ORDER, event(3, m.Tokens(1, 0, (5,)))),  # one is missing
        (CloseCode.ILLEGAL, codec.server_frame(m.Welcome(2, SESSION, False, 0, OFFER))),
        (CloseCode.ORDER, codec.server_frame(m.Pong(1))),
        (CloseCode.MALFORMED, b"\x00"),
    ],
)
def test_a_device_refuses_a_server_out_of_step(code: CloseCode, frame: Frame) -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Sources(1, ()))
    refused(code, frame, link.device)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (CloseCode.ORDER, ask(1)),
        (CloseCode.ILLEGAL, m.Cancel(2)),
        (CloseCode.ILLEGAL, m.Credit(2, 5)),
        (CloseCode.ILLEGAL, m.Start(2, 5)),
        (CloseCode.ORDER, m.Acknowledge(2)),
        (CloseCode.ILLEGAL, ask(2, max_tokens=8192)),
        (CloseCode.ILLEGAL, ask(2, accepted_text="so far")),
        (CloseCode.ILLEGAL, ask(2, accepted=(1,) * 64)),
        (CloseCode.ILLEGAL, ask(2, pipeline="flare")),  # which is not offered
        (CloseCode.ILLEGAL, HELLO),
    ],
)
def test_a_server_refuses_what_a_device_may_not_say(code: CloseCode, said: m.FromDevice) -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Sources(1, ()))
    refused(code, codec.device_frame(said), link.server)


@pytest.mark.parametrize(
    ("code", "welcome"),
    [
        (CloseCode.VERSION, m.Welcome(3, SESSION, False, 0, OFFER)),
        (CloseCode.ILLEGAL, m.Welcome(2, SESSION, True, 0, OFFER)),
        (CloseCode.ORDER, m.Welcome(2, SESSION, False, 1, OFFER)),
        (CloseCode.ILLEGAL, m.Goaway("", 1.0)),
    ],
)
def test_a_device_refuses_a_welcome_that_does_not_fit_its_hello(code: CloseCode, welcome: m.Welcome | m.Goaway) -> None:
    device = DeviceSession(HELLO)
    device.connect()
    refused(code, codec.server_frame(welcome), device)


@pytest.mark.parametrize(
    "welcome",
    [
        m.Welcome(2, SESSION + "-2", True, 1, OFFER),
        m.Welcome(2, SESSION, True, 2, OFFER),
        m.Welcome(2, SESSION, True, 1, msgspec.structs.replace(OFFER, vocabulary="others")),
        m.Welcome(1, SESSION, True, 1, OFFER),
    ],
)
def test_a_device_refuses_to_resume_what_is_not_its_session(welcome: m.Welcome) -> None:
    link = Link().connect()
    link.says(ask())
    link.device.connect()
    with pytest.raises(ProtocolError):
        link.device.receive(codec.server_frame(welcome))
    assert link.device.state is SessionState.BROKEN


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (CloseCode.ORDER, m.Tokens(1, 1, (5,))),
        (CloseCode.CREDIT, m.Tokens(1, 0, tuple(range(11)))),
        (CloseCode.ILLEGAL, m.Tokens(2, 0, (5,))),
        (CloseCode.ILLEGAL, m.Tokens(1, 0, (5,), "five")),
        (CloseCode.ILLEGAL, m.Sources(1, ())),
        (CloseCode.ILLEGAL, m.Finished(1, "cancelled", USAGE)),
        (CloseCode.ORDER, m.Round(1, 2, "hyde", (), ())),
        (CloseCode.ILLEGAL, m.Round(2, 1, "hyde", (), ())),
    ],
)
def test_a_device_refuses_what_a_server_may_not_say(code: CloseCode, said: m.Event) -> None:
    link = Link().connect()
    link.says(ask())
    link.answers(m.Sources(1, ()))
    refused(code, event(2, said), link.device)
