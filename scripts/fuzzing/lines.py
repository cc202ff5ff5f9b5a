"""Connections to the fuzzed server: one type for fuzzed frames, one for an honest device; and probes of the server."""

import asyncio
from collections import Counter
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from scripts.fuzzing.served import RunningServer
from shared.errors import ProtocolError
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.device import DeviceSession

_ACKNOWLEDGE = 24
_PROBE_S = 30.0


class Broken(Exception):
    """Raised when the server misbehaved; the message says how."""


async def dial(place: RunningServer) -> ClientConnection:
    """Open a connection to the server and return it once it is admitted."""
    return await connect(
        f"ws://127.0.0.1:{place.port}/",
        additional_headers={"Authorization": f"Bearer {place.token}"},
        subprotocols=[Subprotocol(m.SUBPROTOCOL)],
        compression=None,
        proxy=None,
        open_timeout=_PROBE_S,
        ping_interval=None,
        max_size=None,
        max_queue=None,
    )


async def probe(place: RunningServer, path: str) -> tuple[int, str]:
    """Return the status and text of a path on the server's port for health and metrics."""
    async with asyncio.timeout(_PROBE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", place.metrics_port)
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            said = (await reader.read()).decode()
        finally:
            writer.close()
    return int(said[9:12]), said.partition("\r\n\r\n")[2]


class Line:
    """A connection for fuzzed frames. It continuously reads, checks and acknowledges the server's messages.

    `failed` counts ended requests by failure code, "" for success. Only the holder of the lock `acknowledging` may
    acknowledge, and sets `acknowledged`.
    """

    def __init__(self, socket: ClientConnection, failed: Counter[str], last_seq: int) -> None:
        self.last_seq, self.pong = last_seq, 0
        self.closed = ""
        self.welcome: m.Welcome | None = None
        self.acknowledged = last_seq
        self.acknowledging = asyncio.Lock()
        self._socket, self._failed = socket, failed
        self._news, self._due = asyncio.Event(), asyncio.Event()
        self._acknowledger = asyncio.create_task(self._acknowledge())
        self._reading = asyncio.create_task(self._read())

    async def send(self, frame: Frame) -> bool:
        """Send a frame. Return False if the connection has ended."""
        with suppress(ConnectionClosed):
            await self._socket.send(frame)
            return True
        return False

    async def reads_up_to(self, ping: int, patience_s: float) -> bool:
        """Wait until the server has read everything up to a ping. Return False if it ended the connection instead."""
        async with asyncio.timeout(patience_s):
            while self.pong < ping and not self._reading.done():
                self._news.clear()
                await self._news.wait()
        if self._reading.done() and (error := self._reading.exception()):
            raise Broken(f"The server sent an invalid message: {error}")
        return self.pong >= ping

    async def end(self) -> None:
        """Cut the connection."""
        self._socket.transport.abort()
        with suppress(ProtocolError):
            await self._reading

    async def _read(self) -> None:
        try:
            while not self.closed:
                self._take(codec.from_server(await self._socket.recv()))
        except ConnectionClosed as closed:
            self.closed = str(closed.rcvd.code) if closed.rcvd else "cut"
        finally:
            self._news.set()
            self._acknowledger.cancel()

    async def _acknowledge(self) -> None:
        """Send acknowledgements in a task of their own, as reading must not block if the server stops reading."""
        with suppress(ConnectionClosed):
            while True:
                await self._due.wait()
                async with self.acknowledging:
                    self._due.clear()
                    self.acknowledged = self.last_seq
                    await self._socket.send(codec.device_frame(m.Acknowledge(self.last_seq)))

    def _take(self, said: m.FromServer) -> None:
        match said:
            case m.Numbered(seq, event):
                self.last_seq = seq
                ended = isinstance(event, m.Finished | m.Failed)
                if ended:
                    self._failed[event.code if isinstance(event, m.Failed) else ""] += 1
                if ended or seq >= self.acknowledged + _ACKNOWLEDGE:
                    self._due.set()
            case m.Pong(number):
                self.pong = number
                self._news.set()
            case m.Closing(code):
                self.closed = str(code)  # the server reads no more, and may take seconds to close
            case m.Welcome(resumed=resumed):
                self.welcome = said
                if not resumed:
                    self.last_seq = self.acknowledged = 0


async def welcomed(place: RunningServer) -> m.Offer:
    """Connect as a device, and return the offer in the server's Welcome."""
    session = DeviceSession(m.Hello(m.VERSIONS, "", "", "honest"))
    async with await dial(place) as socket:
        for frame in session.connect():
            await socket.send(frame)
        session.receive(await socket.recv())
    assert session.offer
    return session.offer


async def answered(place: RunningServer, offer: m.Offer, question: str) -> bytes:
    """Ask as an honest device, on a connection of its own, and return the answer: each token as a byte.

    Raises Broken if the request fails.
    """
    session = DeviceSession(m.Hello(m.VERSIONS, offer.vocabulary, offer.embedder, "honest"))
    tokens: list[int] = []
    async with await dial(place) as socket:
        for frame in session.connect():
            await socket.send(frame)
        session.receive(await socket.recv())
        for frame in session.send(m.Ask(1, question, True, 1, 96, 96)):
            await socket.send(frame)
        while True:
            received = session.receive(await socket.recv())
            for frame in received.frames:
                await socket.send(frame)
            for event in received.events:
                match event:
                    case m.Tokens():
                        tokens += event.ids
                    case m.Finished():
                        return bytes(min(token, 255) for token in tokens)
                    case m.Failed():
                        raise Broken(f"An honest device was refused: {event.code}, {event.message}")
