"""What the way to a server, or what is at its end, may do: the link lives, and the answer is whole."""

import time
from pathlib import Path

import pytest
from websockets.sync.server import ServerConnection

import device_app.link.link
from device_app.link.link import LinkState
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import Serve, Slow
from tests.faults import OFFER, RIVERS, acting, free_port, saying, until
from tests.network.proxy import Proxy
from tests.racing import TEXT, Raced, linked


def test_a_server_of_another_version() -> None:
    def later(connection: ServerConnection) -> None:
        connection.recv()
        connection.send('{"type":"closing","code":4002,"message":"Update.","versions":[7]}')
        connection.close(4002)

    with acting(later) as url, linked(url, "any") as link:
        until(lambda: link.state.phase == "refused")
        assert "Update" in link.state.why


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
        connection.send(codec.server_frame(m.Welcome(m.VERSION, "0" * 32, False, 0, OFFER)))
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
    rooms = ("cloud_server", "shared/protocol", "device_app/link", "device_app/dispatch")
    files = [file for room in rooms for file in (root / room).glob("*.py")]
    assert len(files) > 20
    assert not [file for file in files if "time.time(" in file.read_text() or ".now(" in file.read_text()]


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
    monkeypatch.setattr(device_app.link.link, "PING_S", 0.1)
    monkeypatch.setattr(device_app.link.link, "SILENT_S", 0.2)
    served = serve(Slow(0.01))
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        raced = Raced(link, acting=lambda raced: proxy.swallow() if len(raced.at) == 10 else None)
        assert (raced.text, raced.report.origin) == (TEXT, "cloud")
        assert proxy.connections == 2


def test_a_server_that_is_away_for_days_is_still_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_app.link.link, "MOST_WAIT_S", 1e-4)
    states: list[LinkState] = []
    with linked(f"ws://127.0.0.1:{free_port()}/", "any") as link, link.watched(states.append):
        until(lambda: len(states) > 1100)  # doubled so often, a wait is more than a float holds
        assert "cannot be reached" in states[-1].why


def test_a_server_that_ends_amid_upgrades_is_tried_again(serve: Serve) -> None:
    served = serve()
    with Proxy(served.port) as proxy:
        proxy.refuses = True
        with linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
            until(lambda: link.state.phase == "waiting")
            assert "hung up" in link.state.why
            proxy.refuses = False
            until(lambda: link.state.connected)


@pytest.mark.parametrize("last", [b"\0" * (m.MOST_FRAME_BYTES + 1), None])
def test_a_server_that_hangs_up_on_everybody_is_tried_ever_less_often(last: bytes | None) -> None:
    connects: list[float] = []

    def server(connection: ServerConnection) -> None:
        connects.append(time.monotonic())
        connection.recv()
        connection.send(codec.server_frame(m.Welcome(m.VERSION, "0" * 32, False, 0, OFFER)))
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
        assert "full" in link.state.why
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
