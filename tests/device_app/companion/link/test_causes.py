"""Every kind of fault between device and server has a text that names a remedy, and a real situation that causes it."""

from collections.abc import Callable
from contextlib import suppress
from typing import get_args

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

import device_app.companion.link.heartbeat
import device_app.companion.link.link
from device_app.companion.link.causes import REMEDIES, Cause, of_code, of_status
from device_app.tui.link import Standing, words
from shared.protocol import codec
from shared.protocol import messages as m
from tests.faults import OFFER, acting, free_port, saying, until
from tests.racing import linked

CAUSES = set(get_args(Cause))
Act = Callable[[ServerConnection], None]


def test_every_cause_has_a_mend_and_words() -> None:
    assert set(REMEDIES) == CAUSES
    assert all(mend.endswith((".", "?")) or "jackdaw " in mend for mend in REMEDIES.values())
    for cause in CAUSES:
        for phase in ("waiting", "refused"):
            assert 10 < len(words(Standing(phase, "why", 100.0, cause), 0.0, roomy=True).plain) < 36


def test_every_code_and_status_has_its_cause() -> None:
    assert {of_code(code) for code in (None, *m.CloseCode, 1001, 1006, 1011)} <= CAUSES
    assert [of_code(code) for code in (None, 1001, 1009, 1011, 4000, 4002)] == [
        *("lost", "ending", "protocol", "failing", "protocol", "version")
    ]
    assert {of_status(status) for status in range(100, 600)} <= CAUSES


def welcomed(then: Act) -> Act:
    def act(connection: ServerConnection) -> None:
        connection.recv()
        connection.send(codec.server_frame(m.Welcome(m.VERSIONS[-1], "0" * 32, False, 0, OFFER)))
        then(connection)

    return act


def closing(code: m.CloseCode) -> Act:
    """Return a server that closes the connection with the given code and a reason."""

    def act(connection: ServerConnection) -> None:
        connection.send(codec.server_frame(m.Closing(code, "Because.", 5.0)))
        connection.close(code)

    return act


def waits(connection: ServerConnection) -> None:
    """Read all messages of the device, and answer none."""
    with suppress(ConnectionClosed):
        while True:
            connection.recv()


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        ("401 Unauthorized", "token"),
        ("404 Not Found", "stranger"),
        ("308 Moved", "elsewhere"),
        ("429 Too Many", "crowded"),
        ("500 Internal", "failing"),
        ("502 Bad Gateway", "failing"),
        ("503 Full", "busy"),
    ],
)
def test_who_answers_the_call_so(status: str, cause: Cause) -> None:
    with saying(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as url:
        comes_from(url, cause)


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        (closing(m.CloseCode.VERSION), "version"),
        (closing(m.CloseCode.ILLEGAL), "protocol"),
        (closing(m.CloseCode.BUSY), "busy"),
        (welcomed(closing(m.CloseCode.RESTARTING)), "ending"),
        (welcomed(lambda connection: connection.close(1011)), "failing"),
        (welcomed(lambda connection: connection.send(b"no message")), "protocol"),
        (welcomed(lambda connection: connection.socket.close()), "lost"),
        (waits, "silent"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_parts_so(act: Act, cause: Cause, monkeypatch: pytest.MonkeyPatch) -> None:
    if cause == "silent":
        monkeypatch.setattr(device_app.companion.link.heartbeat, "WELCOME_S", 0.3)
    with acting(act) as url:
        comes_from(url, cause)


def test_who_is_not_there_or_has_no_tls() -> None:
    comes_from(f"ws://127.0.0.1:{free_port()}/", "unreachable")
    with saying("HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        comes_from(url.replace("ws:", "wss:"), "insecure")


def comes_from(url: str, cause: Cause) -> None:
    with linked(url, "any") as link:
        until(lambda: link.state.phase in ("waiting", "refused"))
        assert (link.state.cause, link.state.why != "") == (cause, True)
