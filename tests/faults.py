"""Servers and devices that misbehave, and helpers for the tests of such faults."""

import contextlib
import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_anything

from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import FACTS, Phone, Served
from tests.companion_process import CompanionProcess
from tests.racing import QUESTION, TEXT

DANUBE = QUESTION.text


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def free_port() -> int:
    """Return a free port below those that the system assigns itself, so that no other test's connection gets it."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def answers(served: Served | CompanionProcess, token: str) -> None:
    """Check that the server still answers another device."""
    other = Phone(served.url, token).connects()
    request = other.asks(DANUBE)
    assert isinstance(other.until_ended(request), m.Finished)
    assert other.text(request) == TEXT
    other.cuts()


def closing(phone: Phone) -> tuple[m.Closing | None, int | None]:
    """Return the server's last frame, and the code with which it closes the connection."""
    said = None
    try:
        while True:
            frame = phone.socket.recv(timeout=30)
            message = codec.from_server(frame)
            said = message if isinstance(message, m.Closing) else said
    except ConnectionClosed as error:
        return said, error.rcvd.code if error.rcvd else None


@contextlib.contextmanager
def acting(act: Callable[[ServerConnection], None]) -> Iterator[str]:
    """Run a server that calls `act` for each connection; yield its address."""

    def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            act(connection)

    quiet = logging.getLogger("tests.acting")
    quiet.setLevel(logging.CRITICAL)
    server = serve_anything(
        handle,
        "127.0.0.1",
        0,
        subprotocols=[m.SUBPROTOCOL],  # type: ignore[list-item]
        ping_interval=None,  # it would draw from everybody's chance, in a thread of its own
        logger=quiet,
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
    server.shutdown()
    thread.join(30)


OFFER = m.Offer("fake", "fake", "fake", 8192, 16, 200, 60.0)

RIVERS = m.PublicPassage(0, "Rivers", "facts/Rivers.txt", FACTS[0][1], 1.0, 1.0)


@contextlib.contextmanager
def saying(words: str, *, asked: bool = True, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a server that sends these words on each connection and closes it; yield its address.

    With `asked`, it first reads a request.
    """

    def speaks() -> None:
        with contextlib.suppress(OSError):  # the test is over
            while True:
                plain, _ = listening.accept()
                with plain, contextlib.suppress(OSError):
                    connection = tls.wrap_socket(plain, server_side=True) if tls else plain
                    with connection:
                        if asked:
                            connection.recv(10_000)
                        connection.sendall(words.encode("latin-1"))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=speaks, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{listening.getsockname()[1]}/"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(30)
