"""Faults of the network, and other programs at the server's address: the link survives, and the answer is complete."""

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.sync.server import ServerConnection

import device_app.companion.link.backoff
import device_app.companion.link.heartbeat
import device_app.companion.link.link
from device_app.companion.dispatch import interruption
from device_app.companion.link.link import Link
from device_app.companion.link.request import RemoteRequest
from device_app.companion.link.state import LinkState
from shared.errors import LinkError
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import Serve, Slow
from tests.faults import OFFER, RIVERS, acting, free_port, saying, until
from tests.limits import wait_at_most
from tests.network.proxy import Proxy
from tests.racing import TEXT, Raced, linked


def test_a_server_of_another_version() -> None:
    def later(connection: ServerConnection) -> None:
        connection.recv()
        connection.send('{"type":"closing","code":4002,"message":"Update.","versions":[7]}')
        connection.close(4002)

    with acting(later) as url, linked(url, "any") as link:
        until(lambda: link.state.phase == "refused")
        assert (link.state.cause, "Update" in link.state.why) == ("version", True)


def tokens(seq: int, index: int, text: str) -> m.Numbered:
    return m.Numbered(seq, m.Tokens(1, index, tuple(text.encode())))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(tokens(4, 6, TEXT[6:9]), id="an event left out"),
        pytest.param(tokens(2, 3, TEXT[3:6]), id="an event again"),
        pytest.param(tokens(3, 4, TEXT[4:7]), id="a token left out"),
        pytest.param(tokens(3, 2, TEXT[2:5]), id="a token again"),
        pytest.param(tokens(3, 3, 100 * "x"), id="more than was granted"),
        pytest.param(m.Numbered(3, m.Tokens(9, 0, (1,))), id="of another request"),
        pytest.param(m.Numbered(3, m.Sources(1, (RIVERS,))), id="sources twice"),
        pytest.param(b"no message", id="no message"),
        pytest.param(None, id="hung up"),
    ],
)
def test_a_server_out_of_order_the_device_goes_on(wrong: m.Numbered | bytes | None) -> None:
    def server(connection: ServerConnection) -> None:
        hello = codec.from_device(connection.recv())
        assert isinstance(hello, m.Hello)
        connection.send(codec.server_frame(m.Welcome(m.VERSIONS[-1], "0" * 32, False, 0, OFFER)))
        for frame in connection:
            if isinstance(codec.from_device(frame), m.Ask):
                break
        connection.send(codec.server_frame(m.Numbered(1, m.Sources(1, (RIVERS,)))))
        connection.send(codec.server_frame(tokens(2, 0, TEXT[:3])))
        if wrong is None:
            return
        connection.send(wrong if isinstance(wrong, bytes) else codec.server_frame(wrong))
        for _ in connection:
            pass

    with acting(server) as url, linked(url, "any") as link:
        assert link.wait(30).connected
        raced = Raced(link)
        assert (raced.text, raced.report.moves) == (TEXT, [(3, "device")])


def stuck(written: int) -> Callable[[ServerConnection], None]:
    """Make a server that keeps answering pings, but sends only `written` tokens of an answer and then nothing."""

    def act(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(codec.server_frame(m.Welcome(m.VERSIONS[-1], "0" * 32, False, 0, OFFER)))
        for frame in connection:
            match codec.from_device(frame):
                case m.Ask():
                    connection.send(codec.server_frame(m.Numbered(1, m.Sources(1, (RIVERS,)))))
                    connection.send(codec.server_frame(m.Numbered(2, m.Queued(1, 0, 200))))
                    if written:
                        connection.send(codec.server_frame(tokens(3, 0, TEXT[:written])))
                case m.Ping(number):
                    connection.send(codec.server_frame(m.Pong(number)))

    return act


@pytest.mark.parametrize(("written", "origin"), [(0, "device"), (3, "migrated")])
def test_a_server_that_is_stuck_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, written: int, origin: str) -> None:
    wait_at_most(monkeypatch, token_s=0.3)
    with acting(stuck(written)) as url, linked(url, "any") as link:
        assert link.wait(30).connected
        raced = Raced(link)
        assert (raced.text, raced.report.origin) == (TEXT, origin)
        assert link.state.connected


def test_clocks_an_hour_apart(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    real, hour = time.time, [0.0]

    def jumps() -> float:
        hour[0] = 3600.0 - hour[0]
        return real() + hour[0]

    served = serve(Slow(0.003))
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        monkeypatch.setattr(time, "time", jumps)
        raced = Raced(link, acting=lambda raced: served.cuts() if len(raced.at) == 20 else None)
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")


def test_nothing_between_the_two_looks_at_a_wall_clock() -> None:
    root = Path(__file__).parents[2]
    rooms = ("cloud_server", "shared/protocol", "device_app/companion/link", "device_app/companion/dispatch")
    separate = {root / "cloud_server/cli", root / "cloud_server/retrieval"}
    files = [file for room in rooms for file in (root / room).rglob("*.py") if file.parent not in separate]
    assert len(files) > 20
    looking = {file.name for file in files if "time.time(" in file.read_text() or ".now(" in file.read_text()}
    # At the start of the server, at its certificate's dates, for a pairing code, which other processes see as well,
    # where an index is made, and for the age of unfinished files.
    assert looking == {"build.py", "self_signed.py", "certificate_renewal.py", "milvus_index.py", "saved_states.py"}


@pytest.mark.long
def test_half_open_tcp_is_noticed_while_answering(serve: Serve) -> None:
    served = serve(Slow(0.01))
    swallowed: list[float] = []
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected

        def swallow(raced: Raced) -> None:
            if len(raced.at) == 10:
                proxy.swallow()
                proxy.refuses = True
                swallowed.append(time.monotonic())

        raced = Raced(link, acting=swallow)
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        longest = raced.gaps.index(max(raced.gaps))
        assert 2.5 < raced.at[longest + 1] - swallowed[0] < 4.5


def test_half_open_tcp_heals_by_another_connection(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in (device_app.companion.link.link, device_app.companion.link.heartbeat):
        monkeypatch.setattr(room, "PING_S", 0.1)
    monkeypatch.setattr(device_app.companion.link.heartbeat, "SILENT_S", 0.2)
    monkeypatch.setattr(interruption, "GRACE_S", 30.0)
    served = serve(Slow(0.01))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        raced = Raced(link, acting=lambda raced: proxy.swallow() if len(raced.at) == 10 else None)
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")
        assert proxy.connections == 2


def test_a_server_that_is_away_for_days_is_still_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_app.companion.link.backoff, "MOST_WAIT_S", 1e-4)
    states: list[LinkState] = []
    with linked(f"ws://127.0.0.1:{free_port()}/", "any") as link, link.watched(states.append):
        until(lambda: len(states) > 1100)  # doubled so often, a wait is more than a float holds
        assert (states[-1].cause, "cannot be reached" in states[-1].why) == ("unreachable", True)


def test_a_server_that_ends_amid_upgrades_is_tried_again(serve: Serve) -> None:
    served = serve()
    with Proxy(served.port) as proxy:
        proxy.refuses = True
        with linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
            until(lambda: link.state.phase == "waiting")
            assert "closed at once" in link.state.why
            proxy.refuses = False
            until(lambda: link.state.connected)


@pytest.mark.parametrize("last", [b"\0" * (m.MOST_FRAME_BYTES + 1), None])
def test_a_server_that_hangs_up_on_everybody_is_tried_ever_less_often(last: bytes | None) -> None:
    connects: list[float] = []

    def server(connection: ServerConnection) -> None:
        connects.append(time.monotonic())
        connection.recv()
        connection.send(codec.server_frame(m.Welcome(m.VERSIONS[-1], "0" * 32, False, 0, OFFER)))
        if last is not None:
            connection.send(last)
        connection.socket.close() if last is None else connection.close()

    with acting(server) as url, linked(url, "any"):
        until(lambda: len(connects) == 5)
        assert connects[-1] - connects[-2] > 0.2  # the fifth attempt waits half of 0.8 s at least


@pytest.mark.parametrize("after", [40 * "9", "-1", "\u00b2", "soon", ""])
def test_a_refusal_with_any_wait_at_all(after: str) -> None:
    answer = f"HTTP/1.1 503 Full\r\nRetry-After: {after}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with saying(answer) as url, linked(url, "any") as link:
        until(lambda: link.state.phase == "waiting")
        assert (link.state.cause, "full" in link.state.why) == ("busy", True)
        assert 0 < (link.state.retry_s or 0) <= 3600


@pytest.mark.parametrize(
    "answer",
    [
        "HTTP/1.1 302 Found\r\nLocation: https://192.0.2.1/login\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n",
        "220 mail.example ESMTP\r\n",
    ],
)
def test_what_is_no_companion_server(answer: str) -> None:
    with saying(answer) as url, linked(url, "any") as link:
        until(lambda: link.state.phase == "refused")
        assert link.state.why


@pytest.mark.parametrize(
    ("status", "where"),
    [
        *((status, "there") for status in ("300 Choose", "301 Moved", "302 Found", "307 Moved", "308 Moved")),
        *(("302 Found", where) for where in ("http://[", "ws://", "/", "ws://127.0.0.1:99999/", "ü", "wss://a..b/")),
    ],
)
def test_a_redirect_is_not_followed(status: str, where: str) -> None:
    met: list[ServerConnection] = []
    with acting(met.append) as there:
        to = there if where == "there" else where
        answer = f"HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        with saying(answer) as url, linked(url, "any") as link:
            until(lambda: link.state.phase == "refused")
            assert (link.state.cause, "the server has moved" in link.state.why) == ("elsewhere", True)
    assert not met


def upgraded(said: bytes) -> Callable[[ServerConnection], None]:
    """A server that upgrades to WebSocket, sends these raw bytes, and closes the connection."""

    def act(connection: ServerConnection) -> None:
        connection.socket.sendall(said)
        connection.socket.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while connection.socket.recv(1000):
                pass

    return act


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x81\x02\xff\xff", id="text that is no UTF-8"),
        pytest.param(b"\xff" * 50, id="reserved bits"),
        pytest.param(b"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", id="a frame without end"),
        pytest.param(b"\x02\x00" * 100_000, id="a message in ever more pieces"),
        pytest.param(b"\x8a\x00" * 100 + b"\x89\x7d" + b"a" * 125, id="pings and pongs nobody asked for"),
        pytest.param(b"\x88\x01\x00", id="a goodbye cut short"),
        pytest.param(b"\x88\x02\x00\x01", id="a goodbye with no code"),
        pytest.param(b"\x88\x04\x03\xe8\xff\xff", id="a goodbye that is no UTF-8"),
    ],
)
def test_whatever_a_server_says_below_the_protocol_is_tried_again(said: bytes) -> None:
    with acting(upgraded(said)) as url, linked(url, "any") as link:
        until(lambda: link.state.phase == "waiting")
        assert link.state.why
        assert link._thread.is_alive()


@settings(max_examples=50, deadline=None)
@given(
    said=st.one_of(st.binary(max_size=300), st.binary(max_size=125).map(lambda data: bytes((130, len(data))) + data))
)
def test_whatever_bytes_a_server_says_the_link_lives(said: bytes) -> None:
    with acting(upgraded(said)) as url, linked(url, "any") as link:
        until(lambda: link.state.phase in ("waiting", "refused"))
        assert link.state.why


class Unforeseen(Exception):
    """An error that the link does not expect."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_link_that_fails_from_within_leaves_no_answer_waiting(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise Unforeseen

    served = serve(Slow(0.005))
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        raced = Raced(link, acting=lambda raced: monkeypatch.setattr(link, "_take", fails))
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        assert (link.state.phase, link.state.cause) == ("refused", "crashed")
        with pytest.raises(LinkError, match="failed"):
            Raced(link)


def test_a_server_faster_than_its_own_question(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's answer arrives before the device's thread has returned from sending the question."""
    ask = Link.ask

    def slowly(*arguments: Any) -> RemoteRequest:
        request = ask(*arguments)
        time.sleep(0.2)
        return request

    monkeypatch.setattr(Link, "ask", slowly)
    served = serve()
    with linked(served.url, served.token()) as link:
        assert link.wait(30).connected
        raced = Raced(link)
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")
