"""A simulated network that needs no root: a TCP proxy on loopback that delays, throttles, cuts, drops and counts data.

It runs in a thread of its own, for tests and benchmarks. It cannot delay TCP's handshake or lose packets; `namespaces`
can.
"""

import asyncio
import random
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from tests.network.line import AS_IT_IS, Conditions, Line

_CHUNK = 64 * 1024
_MOST_CHUNKS = 1024
"""The maximum number of chunks in flight; when it is reached, the proxy stops reading, as with a full buffer."""


@dataclass
class Way:
    """Counts the bytes in one direction of a connection; the first `upgrade` of them are the HTTP upgrade, up to the
    first blank line.
    """

    count: int = 0
    upgrade: int = 0
    _begin: bytearray = field(default_factory=bytearray)

    def carried(self, data: bytes) -> None:
        """Count these bytes."""
        self.count += len(data)
        if not self.upgrade:
            self._begin += data
            if (end := self._begin.find(b"\r\n\r\n")) >= 0:
                self.upgrade = end + 4
                self._begin.clear()


class _Connection:
    """A connection through the proxy: its socket to the device and its socket to the server."""

    def __init__(self, device: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.up, self.down = Way(), Way()
        self.swallowed = False
        self._ends = (device, server)

    def reset(self) -> None:
        """Reset both sockets, so that both ends see a connection reset."""
        for end in self._ends:
            own: socket.socket | None = end.get_extra_info("socket")
            if own is not None and not end.transport.is_closing():
                with suppress(OSError):
                    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.transport.abort()


class Proxy:
    """A TCP proxy to a port of this machine; runs within a `with` block. Any thread may use it."""

    def __init__(self, port: int, up: Conditions = AS_IT_IS, down: Conditions | None = None, seed: int = 0) -> None:
        """Prepare a proxy to a port. `up` is the way from devices to the server, `down` the way back, by default the
        same.
        """
        self.port = 0
        self.refuses = False
        """Whether new connections are cut at once."""
        self._target = port
        self._up, self._down = up, down or up
        self._chance = random.Random(seed)
        self._connections: list[_Connection] = []
        self._loop: asyncio.AbstractEventLoop
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(30)
        assert not self._thread.is_alive()

    @property
    def sent(self) -> int:
        """The bytes that came from devices, without their HTTP upgrades."""
        return sum(connection.up.count - connection.up.upgrade for connection in self._connections)

    @property
    def received(self) -> int:
        """The bytes that came from the server, without its responses to HTTP upgrades."""
        return sum(connection.down.count - connection.down.upgrade for connection in self._connections)

    @property
    def connections(self) -> int:
        """The number of connections made so far."""
        return len(self._connections)

    def cut(self) -> None:
        """Reset every connection."""

        def cut() -> None:
            for connection in self._connections:
                connection.reset()

        self._do(cut)

    def swallow(self) -> None:
        """Stop forwarding on all open connections without closing them, so that each end still believes them open."""

        def swallow() -> None:
            for connection in self._connections:
                connection.swallowed = True

        self._do(swallow)

    def _do(self, what: Callable[[], object]) -> None:
        done = threading.Event()

        def run() -> None:
            what()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(30)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        carrying: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            carrying.add(task := asyncio.create_task(self._connected(reader, writer)))
            task.add_done_callback(carrying.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=_CHUNK, backlog=4096)
        async with server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._over.wait()
            server.close()
            for task in carrying:
                task.cancel()
            await asyncio.gather(*carrying, return_exceptions=True)

    async def _connected(self, from_device: asyncio.StreamReader, to_device: asyncio.StreamWriter) -> None:
        if self.refuses:
            to_device.transport.abort()
            return
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target, limit=_CHUNK)
        except OSError:
            to_device.transport.abort()
            return
        connection = _Connection(to_device, to_server)
        self._connections.append(connection)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._carry(connection, from_device, to_server, connection.up, self._line(self._up)))
                tasks.create_task(
                    self._carry(connection, from_server, to_device, connection.down, self._line(self._down))
                )
        except* OSError:
            pass
        finally:
            connection.reset()

    def _line(self, conditions: Conditions) -> Line:
        return Line(conditions, random.Random(self._chance.random()))

    async def _carry(
        self, connection: _Connection, source: asyncio.StreamReader, sink: asyncio.StreamWriter, way: Way, line: Line
    ) -> None:
        """Carry one direction of a connection until it ends. Raises OSError if either end was reset."""
        under_way: asyncio.Queue[tuple[float, bytes | OSError]] = asyncio.Queue(_MOST_CHUNKS)

        async def take_in() -> None:
            data: bytes | OSError = b"-"
            while data and not isinstance(data, OSError):
                try:
                    data = await source.read(_CHUNK)
                except OSError as error:
                    data = error
                else:
                    way.carried(data)
                size = 0 if isinstance(data, OSError) else len(data)
                await under_way.put((line.due(self._loop.time(), size), data))

        reading = asyncio.create_task(take_in())
        try:
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(due - self._loop.time())
                if connection.swallowed:
                    continue
                if isinstance(data, OSError):
                    raise data
                if not data:
                    sink.write_eof()
                    return
                sink.write(data)
                await sink.drain()
        finally:
            reading.cancel()
