"""Runs a server that sends wrong messages: a real one, behind a WebSocket server that changes its messages.

Each message is decoded, changed by a `Lie` and numbered again: a lie may add events, leave some out, or replace them.
The real server gets the device's messages unchanged.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_anything

from shared.protocol import codec
from shared.protocol import messages as m
from tests.companion import Served, dial

Said = m.Event | m.Welcome | m.Goaway | m.Closing | m.Pong
Lie = Callable[[Said], Iterable[Said | list[Any] | bytes | str | None]]
"""A function that returns what is sent in place of a message of the server: messages and events, which may be invalid;
raw frames; None: send no more.
"""


def honest(said: Said) -> Iterable[Said]:
    """Return the message unchanged: this `Lie` changes nothing."""
    return (said,)


class _Mouth:
    """One connection of a device, and the one to the real server behind it."""

    def __init__(self, device: ServerConnection, server: ClientConnection, lie: Lie, versions: tuple[int, ...]) -> None:
        self._device, self._server, self._lie, self._versions = device, server, lie, versions
        self._said = self._heard = 0
        self._numbers: dict[int, int] = {}  # of the events that were said, by those that they come from

    def up(self) -> None:
        """Pass the device's messages on, with the acknowledged numbers replaced by the server's own."""
        for frame in self._device:
            said = codec.from_device(frame)
            if isinstance(said, m.Hello):
                self._server.send(codec.device_frame(msgspec.structs.replace(said, versions=self._versions)))
            elif not isinstance(said, m.Acknowledge):
                self._server.send(frame)
            elif known := [theirs for ours, theirs in self._numbers.items() if ours <= said.seq]:
                self._server.send(codec.device_frame(m.Acknowledge(max(known))))

    def down(self) -> None:
        """Pass the server's messages on, changed by the lie."""
        silent = False
        for frame in self._server:
            said = codec.from_server(frame)
            if isinstance(said, m.Numbered):
                self._heard = said.seq
            for message in () if silent else self._lie(said.event if isinstance(said, m.Numbered) else said):
                silent = silent or message is None
                if message is not None and not silent:
                    self._device.send(self._frame(message))

    def _frame(self, message: Said | list[Any] | bytes | str) -> bytes | str:
        match message:
            case bytes() | str():
                return message
            case m.Welcome() | m.Goaway() | m.Closing():
                return msgspec.json.encode(message).decode()
            case m.Pong():
                return msgspec.msgpack.encode(message)
        self._said += 1
        self._numbers[self._said] = self._heard
        return msgspec.msgpack.encode([33, self._said, message])


@contextlib.contextmanager
def lying(served: Served, token: str, lie: Callable[[], Lie], versions: tuple[int, ...] = m.VERSIONS) -> Iterator[str]:
    """Run a server in front of `served` that changes its messages by a new `lie()` for each connection; yield its
    address.

    It offers the protocol versions `versions`, whatever versions the device speaks.
    """

    def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed), contextlib.closing(dial(served.url, token)) as server:
            mouth = _Mouth(connection, server, lie(), versions)
            down = threading.Thread(target=_until_closed, args=(mouth.down, connection), daemon=True)
            down.start()
            _until_closed(mouth.up, connection)
            server.close()
            down.join(30)

    quiet = logging.getLogger("tests.lying")
    quiet.setLevel(logging.CRITICAL)
    server = serve_anything(
        handle,
        "127.0.0.1",
        0,
        subprotocols=[m.SUBPROTOCOL],  # type: ignore[list-item]
        ping_interval=None,
        close_timeout=0.2,
        logger=quiet,
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/"
    finally:
        server.shutdown()
        thread.join(30)


def _until_closed(passes: Callable[[], None], connection: ServerConnection) -> None:
    with contextlib.suppress(ConnectionClosed, OSError):
        passes()
    connection.close()
