"""The simulated networks of other tests delay, limit and drop data as stated."""

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.network.line import Conditions, Line
from tests.network.namespaces import SERVER, NotPossible, joined
from tests.network.proxy import Proxy


def echo(listening: socket.socket) -> None:
    """Send everything back to each client that connects, until the socket is closed."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            try:
                while data := connection.recv(65_536):
                    connection.sendall(data)
            except OSError:
                pass


@pytest.fixture
def echoing() -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=echo, args=(listening,), daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(10)


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        got = connection.recv(65_536)
        assert got
        data += got
    return data


def test_a_line_keeps_its_order_its_delay_and_its_rate() -> None:
    line = Line(Conditions(0.05, 0.01, bytes_per_s=1000), random.Random(1))
    due = [line.due(now / 1000, 10) for now in range(100)]
    assert due == sorted(due)
    assert 0.04 + 0.01 <= due[0] <= 0.06 + 0.01
    assert due[-1] >= 100 * 10 / 1000 + 0.04


def test_a_line_loses_about_its_share() -> None:
    line = Line(Conditions(loss=0.1), random.Random(1))
    assert 50 < sum(line.loses() for _ in range(1000)) < 150


def test_the_proxy_delays_both_ways_and_changes_nothing(echoing: int) -> None:
    said = random.Random(1).randbytes(300_000)
    with (
        Proxy(echoing, Conditions(0.05, 0.01)) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port)) as connection,
    ):
        start = time.monotonic()
        threading.Thread(target=connection.sendall, args=(said,), daemon=True).start()
        assert exactly(connection, len(said)) == said
        assert time.monotonic() - start >= 0.08
        assert proxy.sent == proxy.received == len(said)


def test_the_proxy_counts_without_the_upgrade(echoing: int) -> None:
    with Proxy(echoing) as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r")
        exactly(connection, 26)
        connection.sendall(b"\nframes")
        exactly(connection, 7)
        assert proxy.sent == proxy.received == len("frames")


def test_the_proxy_cuts_refuses_and_swallows(echoing: int) -> None:
    with Proxy(echoing) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port)) as connection:
            connection.sendall(b"heard")
            assert exactly(connection, 5) == b"heard"
            proxy.cut()
            with pytest.raises(ConnectionResetError):
                connection.recv(10)
        with socket.create_connection(("127.0.0.1", proxy.port)) as connection:
            connection.settimeout(0.2)
            connection.sendall(b"heard")
            assert exactly(connection, 5) == b"heard"
            proxy.swallow()
            connection.sendall(b"unheard")
            with pytest.raises(TimeoutError):
                connection.recv(10)
        proxy.refuses = True
        with socket.create_connection(("127.0.0.1", proxy.port)) as connection, suppress(ConnectionResetError):
            assert connection.recv(10) == b""


def test_namespaces_delay_even_the_handshake_and_lose_packets() -> None:
    try:
        with joined(Conditions(0.03, 0.005, loss=0.02)) as spaces:
            with spaces.inside("server"):
                listening = socket.create_server((SERVER, 0))
            thread = threading.Thread(target=echo, args=(listening,), daemon=True)
            thread.start()
            with spaces.inside("device"):
                connection = socket.socket()
            start = time.monotonic()
            with connection:
                connection.connect((SERVER, listening.getsockname()[1]))
                assert time.monotonic() - start >= 0.05
                said = random.Random(1).randbytes(100_000)
                threading.Thread(target=connection.sendall, args=(said,), daemon=True).start()
                assert exactly(connection, len(said)) == said
            listening.shutdown(socket.SHUT_RDWR)
            listening.close()
            thread.join(10)
    except NotPossible as reason:
        pytest.skip(str(reason))
