"""Limits on the data queued for a device that does not read, and on what a device may send; other devices are not
delayed.
"""

import asyncio
import base64
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cloud_server.retrieval.corpus import Vector
from cloud_server.sessions.threads import READERS
from models.fake import FakeEngine
from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import FACTS, FewPassages, Phone, Serve, Served

DANUBE = "Through how many countries does the Danube flow?"


@contextmanager
def upgraded(port: int, token: str) -> Iterator[socket.socket]:
    """Return a raw socket to the server after its upgrade to WebSocket."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        _upgrade(connection, token)
        yield connection


def _upgrade(connection: socket.socket, token: str) -> None:
    connection.sendall(
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: {m.SUBPROTOCOL}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    )
    assert b" 101 " in connection.recv(4096)


def framed(opcode: int, payload: bytes) -> bytes:
    """A masked frame of a few bytes (RFC 6455, section 5.2)."""
    return bytes([0x80 | opcode, 0x80 | len(payload), 0, 0, 0, 0]) + payload


def pours(connection: socket.socket, frames: bytes, seconds: float) -> int | None:
    """Send the frames again and again; return how many bytes were sent until the connection was cut, None if it was
    not.
    """
    deadline, sent = time.monotonic() + seconds, 0
    connection.settimeout(0.2)
    while time.monotonic() < deadline:
        try:
            sent += connection.send(frames)
        except TimeoutError:
            continue
        except OSError:
            return sent
    return None


@pytest.mark.parametrize("payload", [b"", b"x" * 120])
def test_pings_whose_answers_are_not_read_cut_the_connection(serve: Serve, payload: bytes) -> None:
    served = serve()
    other = Phone(served.url, served.token("other")).connects()
    started = time.monotonic()
    with upgraded(served.port, served.token()) as connection:
        assert pours(connection, framed(9, payload) * 2_000, 20) is not None
    assert other.until_ended(other.asks(DANUBE))
    assert time.monotonic() - started < 10


def test_messages_come_one_turn_at_a_time_and_too_many_cut_the_connection(serve: Serve) -> None:
    served = serve()
    hello = codec.device_frame(m.Hello(m.VERSIONS, "fake", "fake", "test"))
    assert isinstance(hello, str)
    acknowledge = codec.device_frame(m.Acknowledge(1))
    assert isinstance(acknowledge, bytes)
    with upgraded(served.port, served.token()) as connection:
        connection.sendall(bytes([0x81, 0x80 | 126, *len(hello).to_bytes(2, "big"), 0, 0, 0, 0]) + hello.encode())
        assert pours(connection, framed(2, acknowledge) * 2_000, 20) is not None


def test_searches_that_wait_for_the_disk_delay_no_other_work(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    search, started, may_go_on = FewPassages.search, threading.Semaphore(0), threading.Event()

    def slowly(corpus: FewPassages, vector: Vector, most: int) -> list[m.PublicPassage]:
        started.release()
        assert may_go_on.wait(30)
        return search(corpus, vector, most)

    monkeypatch.setattr(FewPassages, "search", slowly)
    served = serve()
    phones = [Phone(served.url, served.token(f"phone{number}")).connects() for number in range(READERS + 2)]
    requests = [phone.asks(DANUBE) for phone in phones]
    other = Phone(served.url, served.token("other")).connects()
    try:
        for _ in phones:
            assert started.acquire(timeout=5)
        ended = other.until_ended(other.asks("Write a poem.", passages=0))
        assert isinstance(ended, m.Finished)
    finally:
        may_go_on.set()
    for phone, request in zip(phones, requests, strict=True):
        assert isinstance(phone.until_ended(request), m.Finished)
        assert phone.text(request) == FACTS[0][1]


class Held(FakeEngine):
    """A fake engine that waits in the tokenisation of a question until `go` is set, and counts its tokenisations."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.begun = threading.Event(), threading.Semaphore(0)
        self.read = 0

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        if DANUBE in text:
            self.read += 1
            self.begun.release()
            assert self.go.wait(10)
        return super().tokenize(text, special=special)


@pytest.mark.parametrize("passages", [0, 1])
def test_what_is_cancelled_waits_in_no_line(serve: Serve, passages: int) -> None:
    served = serve(engine := Held())
    phone = Phone(served.url, served.token()).connects()
    first = phone.asks(DANUBE, passages=passages)
    assert engine.begun.acquire(timeout=30)
    before = tasks(served)
    for _ in range(50):
        request = phone.asks(DANUBE + " " * 8_000, passages=passages)
        phone.says(m.Cancel(request))
        phone.until_ended(request)
    assert tasks(served) <= before + 1
    phone.says(m.Cancel(first))
    last = phone.asks(DANUBE, passages=passages)
    engine.go.set()
    ended = phone.until_ended(last)
    assert isinstance(ended, m.Finished)
    assert ended.reason == "end"
    assert engine.read == 2


def tasks(served: Served) -> int:
    """Return the number of tasks in the server's event loop."""
    counted = list[int]()
    served.on_loop(lambda: counted.append(len(asyncio.all_tasks())))
    return counted[0]
