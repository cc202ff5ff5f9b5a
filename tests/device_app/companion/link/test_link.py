"""The link to a real server in the test's process: questions, lost connections, refusals and resumption."""

import time
from queue import SimpleQueue

import pytest

from device_app.companion.link.heartbeat import MOST_PINGED
from device_app.companion.link.link import Link
from device_app.companion.link.request import RemoteRequest, RequestEvent
from device_app.companion.link.state import LinkState
from shared.errors import LinkError
from shared.protocol import messages as m
from shared.protocol.device import Lost
from tests.companion import FACTS, Serve
from tests.faults import saying
from tests.racing import QUESTION, linked


class Asked:
    """A question sent over the link, and its events so far."""

    def __init__(self, link: Link, credit: int = 200) -> None:
        self.events: SimpleQueue[RequestEvent] = SimpleQueue()
        self.request = link.ask(m.Ask(1, QUESTION.text, True, 1, 200, credit), lambda _, event: self.events.put(event))

    def heard(self) -> list[RequestEvent]:
        events: list[RequestEvent] = []
        while not events or not isinstance(events[-1], m.Finished | m.Failed | Lost):
            events.append(self.events.get(timeout=30))
        return events


def text(events: list[RequestEvent]) -> str:
    return bytes(token for event in events if isinstance(event, m.Tokens) for token in event.ids).decode()


def until(link: Link, phase: str) -> LinkState:
    deadline = time.monotonic() + 30
    while link.state.phase != phase:
        assert time.monotonic() < deadline, link.state
        time.sleep(0.005)
    return link.state


def test_a_question_is_answered_over_the_link(serve: Serve) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        asked = Asked(link)
        events = asked.heard()
        assert text(events) == FACTS[0][1]
        assert asked.request.sent_bytes > len(QUESTION.text)
        until_measured = time.monotonic() + 30
        while link.state.round_trip_s is None:
            assert time.monotonic() < until_measured
    assert link.state.phase == "closed"


def test_cut_at_any_moment_it_resumes_and_nothing_is_lost(serve: Serve) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        link.wait(30)
        for _ in range(5):
            asked = Asked(link)
            for _ in range(4):
                time.sleep(0.01)
                served.cuts()
            assert text(asked.heard()) == FACTS[0][1]
            until(link, "connected")


def test_a_wrong_token_is_told_and_not_tried_again(serve: Serve) -> None:
    served = serve()
    with linked(served.url, "jackdaw_wrong") as link:
        state = until(link, "refused")
        assert "jackdaw connect" in state.why
        with pytest.raises(LinkError, match="jackdaw connect"):
            Asked(link)


def test_a_server_that_is_not_there_is_tried_again(serve: Serve) -> None:
    served = serve()
    url, token = served.url, served.token()
    served.end()
    with linked(url, token) as link:
        assert "cannot be reached" in until(link, "waiting").why


def test_a_server_that_forgot_the_session_says_so_of_every_request(serve: Serve) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        link.wait(30)
        asked = Asked(link, credit=3)
        while not isinstance(asked.events.get(timeout=30), m.Tokens):
            pass
        served.forgets()
        assert asked.heard()[-1] == Lost(asked.request.number)
        until(link, "connected")
        assert text(Asked(link).heard()) == FACTS[0][1]


def test_who_speaks_before_being_asked_and_hangs_up_ends_no_thread() -> None:
    with saying("SSH-2.0-OpenSSH_9.9\r\n\r\n", asked=False) as url:
        for _ in range(20):  # whether the library has sent its own words by then is by chance
            with linked(url, "token") as link:
                assert link.wait(30).phase in ("waiting", "refused")


def test_what_is_asked_anew_by_who_hears_of_a_loss_is_not_forgotten(serve: Serve) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        again: list[RemoteRequest] = []

        def hear(request: RemoteRequest, heard: RequestEvent) -> None:
            if isinstance(heard, Lost) and not again:
                again.append(link.ask(m.Ask(1, QUESTION.text, True, 1, 200, 200), lambda *_: None))

        link.ask(m.Ask(1, QUESTION.text, True, 1, 200, 200), hear)
        link._forget_all()
        assert list(link._requests.values()) == again != []


def test_pings_of_a_server_that_answers_none_are_bounded(serve: Serve) -> None:
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        with link._lock:
            first = time.monotonic() - 1
            link._heartbeat._pending = {0: first}
            for _ in range(2 * MOST_PINGED):
                link._ping()
            assert len(link._heartbeat._pending) == MOST_PINGED
            assert (min(link._heartbeat._pending.values()), max(link._heartbeat._pending)) == (
                first,
                link._heartbeat._last,
            )


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (LinkState("connecting"), "The server has not answered yet; see: jackdaw status."),
        (
            LinkState("waiting", why="the server cannot be reached: the connection was closed at once"),
            "The server cannot be reached: the connection was closed at once.",
        ),
        (LinkState("closed"), "The server cannot be asked: closed."),
    ],
)
def test_why_nothing_can_be_asked_is_told(state: LinkState, told: str) -> None:
    assert state.why_not() == told
