"""Faults and attacks of a device, by name: no other device is affected."""

import asyncio
import contextlib
import resource
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import cloud_server.serving.gate
import cloud_server.serving.service
import device_app.companion.link.heartbeat
import device_app.companion.link.link
from cloud_server.sessions import client as server_client
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import Phone, Serve, Slow, dial
from tests.faults import DANUBE, answers, closing, until
from tests.network.proxy import Proxy
from tests.racing import TEXT, Raced, linked

HELLO = m.Hello(m.VERSIONS, "fake", "fake", "test")


# Who speaks otherwise.


def test_another_version_of_the_protocol(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token())
    phone.socket = dial(served.url, served.tokens.create("new", datetime.now(UTC))[1])
    phone.socket.send('{"type":"hello","versions":[7],"what":"nobody knows yet"}')
    said, code = closing(phone)
    assert code == m.CloseCode.VERSION
    assert said
    assert (said.code, said.versions) == (m.CloseCode.VERSION, m.VERSIONS)


def test_another_vocabulary_gets_text_and_says_so(serve: Serve) -> None:
    served = serve(Slow(0.005))
    with linked(served.url, served.token(), vocabulary="another") as link:
        assert link.wait(30).connected
        assert link.by_text
        raced = Raced(link, acting=lambda raced: served.dies() if len(raced.at) == 20 else None)
        assert (raced.text, raced.report.origin) == (TEXT, "migrated")
        assert [why for why in raced.report.reasons if "another vocabulary" in why]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\x00" * (m.MOST_FRAME_BYTES + 1), m.CloseCode.TOO_LARGE),
        ("x" * (m.MOST_TEXT_BYTES + 1), m.CloseCode.TOO_LARGE),
        ("[" * 100, m.CloseCode.MALFORMED),
        ("{", m.CloseCode.MALFORMED),
        (b"", m.CloseCode.MALFORMED),
        (b"\xdd\xff\xff\xff\xff", m.CloseCode.MALFORMED),
        (b"\x93\x04\x01\x02", m.CloseCode.MALFORMED),
        (codec._frame(m.Credit(1, m.MOST_TOKENS + 1)), m.CloseCode.MALFORMED),
        ('{"type":"goaway","reason":"mine","resume_for_s":1}', m.CloseCode.MALFORMED),
    ],
)
@pytest.mark.parametrize("greeted", [True, False])
def test_an_oversize_or_malformed_frame(serve: Serve, frame: bytes | str, code: int, greeted: bool) -> None:
    served = serve()
    phone = Phone(served.url, served.token())
    if greeted:
        phone.connects()
        phone.asks(DANUBE, credit=3)
    else:
        phone.socket = dial(served.url, served.tokens.create("new", datetime.now(UTC))[1])
    phone.socket.send(frame)
    assert closing(phone)[1] == code
    until(lambda: served.server.sessions.connected == 0)
    until(lambda: served.server.generation.load.writing == 0)
    answers(served, served.token("other"))


# Who takes their time, or comes in a crowd.


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"hello"])
def test_a_slow_loris_upgrade(serve: Serve, said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_server.serving.service, "HELLO_S", 0.3)
    served = serve()
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.settimeout(30)
        with contextlib.suppress(ConnectionError):
            for place in range(1000):
                connection.sendall(said[place : place + 1] or b"X")
                time.sleep(0.01)
        with contextlib.suppress(ConnectionError):
            while connection.recv(1000):
                pass
    answers(served, served.token())


def test_a_slow_loris_hello(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloud_server.serving.service, "HELLO_S", 0.3)
    served = serve()
    phone = Phone(served.url, served.token())
    phone.socket = dial(served.url, served.token("slow"))
    said, code = closing(phone)
    assert code == m.CloseCode.SLOW
    assert said
    answers(served, served.token("other"))


CROWD = 2000


@pytest.fixture
def roomy() -> Iterator[None]:
    """Raise the limit of open files, since this process holds both ends of all connections."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before < 2 * CROWD + 500:
        if most < 2 * CROWD + 500:
            pytest.skip(f"a process may open {most} files here")
        resource.setrlimit(resource.RLIMIT_NOFILE, (2 * CROWD + 500, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


@pytest.mark.long
@pytest.mark.usefixtures("roomy")
@pytest.mark.parametrize("known", [True, False])
def test_a_burst_of_2000_connects(serve: Serve, monkeypatch: pytest.MonkeyPatch, known: bool) -> None:
    monkeypatch.setattr(cloud_server.serving.service, "HELLO_S", 60.0)  # whatever else this machine does
    monkeypatch.setattr(cloud_server.serving.gate, "SILENT_S", 60.0)
    served = serve(limits={"connections": 8, "connects_per_minute": 100.0})
    token, other = served.token("crowd"), served.token("other")
    upgrade = (
        f"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: {m.SUBPROTOCOL}\r\n"
        f"Authorization: Bearer {token if known else token[:-1]}\r\n\r\n"
    ).encode()

    async def one(writers: list[asyncio.StreamWriter]) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writers.append(writer)
        writer.write(upgrade)
        return (await reader.readline())[9:12]

    async def burst() -> list[bytes]:
        writers: list[asyncio.StreamWriter] = []
        try:
            return await asyncio.gather(*(one(writers) for _ in range(CROWD)))
        finally:
            for writer in writers:
                writer.transport.abort()
            await asyncio.sleep(0)

    meanwhile = threading.Thread(target=answers, args=(served, other))
    meanwhile.start()
    said = asyncio.run(burst())
    meanwhile.join(30)
    assert not meanwhile.is_alive()
    assert (said.count(b"101"), said.count(b"429"), said.count(b"401")) == (
        (8, CROWD - 8, 0) if known else (0, 0, CROWD)
    )
    until(lambda: served.server.sessions.quota("crowd").connections == 0)
    answers(served, other)


@pytest.mark.parametrize(("limit", "status"), [("connections", b"429"), ("devices", b"503")])
def test_who_says_no_hello_takes_a_place_and_gives_it_back(serve: Serve, limit: str, status: bytes) -> None:
    served = serve(limits={limit: 1})
    token = served.token()
    upgrade = f"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()

    def tries() -> bytes:
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
            connection.sendall(upgrade)  # let in, and no upgrade in the end
            return connection.recv(1000)[9:12]

    with dial(served.url, token):
        assert tries() == status
    until(lambda: tries() != status)
    until(lambda: not served.server._places)
    answers(served, token)


# Who lies.


@pytest.mark.parametrize(
    ("lie", "code"),
    [
        (m.Acknowledge(1000), m.CloseCode.ORDER),
        (m.Credit(7, 10), m.CloseCode.ILLEGAL),
        (m.Ask(1, DANUBE, True, 1, 10, 10), m.CloseCode.ORDER),
        (m.Ask(2, DANUBE, True, 1, 8000, 10), m.CloseCode.ILLEGAL),
        (HELLO, m.CloseCode.ILLEGAL),
    ],
)
def test_a_device_that_lies(serve: Serve, lie: m.FromDevice, code: int) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, credit=3)
    while len(phone.text(request)) < 3:
        phone.reads()
    phone.socket.send(codec.device_frame(lie))
    said, closed = closing(phone)
    assert closed == code
    assert said
    assert said.code == code
    until(lambda: served.server.generation.load.writing == 0)
    assert len(served.server.sessions) == 0
    answers(served, served.token("other"))


def test_credit_that_is_taken_back_stays_given(serve: Serve) -> None:
    served = serve(Slow(0.01))
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, max_tokens=20, credit=20)
    for upto in (0, 3, 20, 1):
        phone.socket.send(codec.device_frame(m.Credit(request, upto)))
    assert isinstance(phone.until_ended(request), m.Finished)
    assert phone.text(request) == TEXT[:20]
    answers(served, served.token("other"))


def test_credit_beyond_the_answers_end_brings_no_more(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(DANUBE, max_tokens=10, credit=8000)
    ended = phone.until_ended(request)
    assert isinstance(ended, m.Finished)
    assert ended.reason == "length"
    assert phone.text(request) == TEXT[:10]


def test_a_device_that_resumes_what_it_cannot_have_seen(serve: Serve) -> None:
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    phone.asks(DANUBE, credit=3)
    phone.cuts()
    assert phone.session.id
    until(lambda: served.server.sessions.connected == 0)
    phone.socket = dial(served.url, served.token("same"))
    phone.socket.close()
    liar = Phone(served.url, "")
    liar.socket = dial(served.url, phone._token)
    resume = m.Resume(phone.session.id, 10_000)
    liar.socket.send(codec.device_frame(m.Hello(m.VERSIONS, "fake", "fake", "test", resume)))
    assert closing(liar)[1] == m.CloseCode.ORDER
    until(lambda: served.server.sessions.connected == 0)
    until(lambda: served.server.generation.load.writing == 0)


# Who is there no more, or does not listen.


def test_a_device_that_is_gone_is_given_up(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_client, "GONE_S", 0.3)
    for room in (device_app.companion.link.link, device_app.companion.link.heartbeat):
        monkeypatch.setattr(room, "PING_S", 0.05)
    monkeypatch.setattr(device_app.companion.link.heartbeat, "IDLE_PING_S", 0.05)
    served = serve()
    with Proxy(served.port) as proxy, linked(f"ws://127.0.0.1:{proxy.port}/", served.token()) as link:
        assert link.wait(30).connected
        client = served.server.sessions.all()[0]
        last = client._heard_at
        until(lambda: client._heard_at - last > 0.6 or not client.connection)
        assert client.connection
        proxy.swallow()
        until(lambda: client.connection is None)


def test_a_device_that_stops_reading_is_cut_and_the_others_go_on(serve: Serve) -> None:
    served = serve(Slow(0.002))
    lazy = Phone(served.url, served.token("lazy")).connects()
    start = time.monotonic()
    for _ in range(3):
        lazy.asks(DANUBE)
    token = served.token("others")
    while served.server.metrics.cut_slow._value.get() == 0:
        answers(served, token)
        assert time.monotonic() - start < 30
    assert time.monotonic() - start > server_client.SEND_S  # not before
    until(lambda: served.server.sessions.connected == 0)
    lazy.socket.socket.close()
    answers(served, token)


def test_a_device_that_floods_and_reads_a_trickle_is_cut(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_client, "SEND_S", 1000.0)
    served = serve()
    phone = Phone(served.url, served.token()).connects()
    client = served.server.sessions.all()[0]
    most = 0
    pings = b"".join(masked(codec.device_frame(m.Ping(number))) for number in range(1, 5000))
    phone.socket.socket.settimeout(0.2)
    with contextlib.suppress(OSError):
        while client.connection:
            with contextlib.suppress(TimeoutError):
                phone.socket.socket.sendall(pings)
            most = max(most, client._waiting_bytes)
    until(lambda: client.connection is None)
    assert most <= server_client.MOST_WAITING_BYTES + 1024
    answers(served, served.token("other"))


def masked(frame: bytes | str) -> bytes:
    """Return a short binary WebSocket frame as a client sends it: masked, with its header."""
    assert isinstance(frame, bytes)
    return bytes((0x82, 0x80 | len(frame), 0, 0, 0, 0)) + frame
