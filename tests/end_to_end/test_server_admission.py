"""Which devices a server admits, and which server a device trusts."""

import contextlib
import logging
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from websockets.exceptions import InvalidStatus

import cloud_server.serving.service
from tests.companion import Phone, Serve, Slow
from tests.faults import answers, free_port, until
from tests.racing import TEXT, Raced, linked


def test_a_wrong_token(serve: Serve) -> None:
    served = serve()
    served.token()
    with linked(served.url, "jackdaw_00000000_" + 64 * "0") as link:
        until(lambda: link.state.phase == "refused")
        assert (link.state.cause, "jackdaw connect" in link.state.why) == ("token", True)
    assert served.server.sessions.connected == 0


def test_the_address_of_who_is_refused_is_logged(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    served = serve()
    for token in ("", "jackdaw_00000000_" + 64 * "0"):
        with pytest.raises(InvalidStatus, match="401"):
            Phone(served.url, token).connects()
    records = [vars(record) for record in caplog.records if record.getMessage() == "connection refused"]
    assert [(message["reason"], message["peer"]) for message in records] == [("token", "127.0.0.1")] * 2
    assert "jackdaw_0" not in str(records)


def test_a_token_revoked_while_it_is_connected(serve: Serve) -> None:
    served = serve(Slow(0.02))
    token, other = served.token("lost phone"), served.token("other")
    with linked(served.url, token) as link:
        assert link.wait(30).connected

        def revoke(raced: Raced) -> None:
            if len(raced.at) == 5:
                served.tokens.revoke("lost phone")

        raced = Raced(link, acting=revoke)
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        until(lambda: link.state.phase == "refused")
        assert len(served.server.sessions) == 0
    answers(served, other)


@pytest.fixture
def certified(tmp_path: Path) -> Callable[..., tuple[dict[str, object], str]]:
    """Makes a certificate for this machine: settings to serve with, and its authority's file."""

    def make(ends: datetime, name: str = "127.0.0.1") -> tuple[dict[str, object], str]:
        authority = trustme.CA()
        made = authority.issue_cert(name, not_after=ends)
        chain, key, root = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "root.pem"
        chain.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
        made.private_key_pem.write_to_path(key)
        authority.cert_pem.write_to_path(root)
        return {"certificate": str(chain), "key": str(key)}, str(root)

    return make


def test_an_expired_certificate(serve: Serve, certified: Callable[..., tuple[dict[str, object], str]]) -> None:
    settings, root = certified(datetime.now(UTC) - timedelta(hours=1))
    served = serve(serve=settings)
    with linked(served.url, served.token(), authority=root) as link:
        until(lambda: link.state.phase == "refused")
        assert (link.state.cause, "certificate has expired" in link.state.why) == ("certificate", True)


def test_a_certificate_of_nobody_known_or_of_another_machine(
    serve: Serve, certified: Callable[..., tuple[dict[str, object], str]]
) -> None:
    settings, root = certified(datetime.now(UTC) + timedelta(days=1), "192.0.2.1")
    served = serve(serve=settings)
    for authority, why in ((None, "issuer"), (root, "mismatch")):
        with linked(served.url, served.token(why), authority=authority) as link:
            until(lambda: link.state.phase == "refused")
            assert (link.state.cause, why in link.state.why) == ("certificate", True)


def test_an_authority_whose_file_is_gone(tmp_path: Path) -> None:
    with linked("wss://127.0.0.1:1/", "any", authority=str(tmp_path / "gone.pem")) as link:
        until(lambda: link.state.phase == "refused")
        assert "jackdaw connect" in link.state.why


def test_a_valid_certificate(serve: Serve, certified: Callable[..., tuple[dict[str, object], str]]) -> None:
    settings, root = certified(datetime.now(UTC) + timedelta(days=1))
    served = serve(serve=settings)
    with linked(served.url, served.token(), authority=root) as link:
        assert link.wait(30).connected
        assert Raced(link).text == TEXT


def test_a_slow_loris_of_tls(
    serve: Serve, certified: Callable[..., tuple[dict[str, object], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud_server.serving.service, "HELLO_S", 0.3)
    served = serve(serve=certified(datetime.now(UTC) + timedelta(days=1))[0])
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.settimeout(30)
        with contextlib.suppress(ConnectionError):
            assert connection.recv(1000) == b""


HEAD = (
    "GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: jackdaw.v1\r\n"
)


@pytest.mark.parametrize(
    "said",
    [
        "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        "Authorization: Bearer a\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        "Authorization: Bearer a\r\n\r\n\x88\x82abcd\x62\x8a",
        "Authorization: Bearer a\r\n\r\n" + "y" * 70_000,
    ],
    ids=["twice", "another request", "a farewell", "anything"],
)
@pytest.mark.parametrize("at", ["port", "metrics_port"])
def test_what_no_device_says_leaves_no_traceback(
    serve: Serve, caplog: pytest.LogCaptureFixture, said: str, at: str
) -> None:
    served = serve(serve={"metrics_port": free_port()})
    for part in (1, 2, 3):
        data = (HEAD + said).encode("latin-1")
        with socket.create_connection(("127.0.0.1", getattr(served, at))) as connection, contextlib.suppress(OSError):
            connection.settimeout(30)
            for first in range(0, len(data), len(data) // part + 1):
                connection.sendall(data[first : first + len(data) // part + 1])
            while connection.recv(4096):
                pass
    answers(served, served.token())
    assert not [record for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]


def test_nobody_is_ready_for_whom_tokens_cannot_be_read(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    token = served.token()
    assert served.server.ready
    good = (tmp_path / "tokens0.json").read_text()
    (tmp_path / "tokens0.json").write_text("[")
    assert not served.server.ready
    (tmp_path / "tokens0.json").write_text(good)
    assert served.server.ready
    answers(served, token)


def test_a_session_that_is_not_resumed_is_not_logged_so(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    served = serve()
    phone = Phone(served.url, served.token())
    with caplog.at_level(logging.INFO):
        phone.connects()
        phone.cuts()
        phone.connects()
        phone.cuts()
        served.forgets()
        phone.connects()
    records = [record.__dict__["resumed"] for record in caplog.records if record.getMessage() == "connected"]
    assert records == [False, True, False]
