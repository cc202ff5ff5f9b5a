"""Runs one attacking device, as a process: python -m scripts.benchmarks.attackers NAME PORT TOKEN ADDRESS SECONDS.

Each attack follows the protocol and is bounded in time and number. All attackers connect to loopback, each from an
address in 127.0.0.0/8.
"""

import asyncio
import base64
import os
import resource
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from shared.protocol import messages as m
from shared.protocol.device import DeviceSession

SILENT, PINGING, ASKED = 1_500, 8, 16
LONG_TEXT = ("The jackdaw told the other birds what it had seen from the tower that morning. " * 500)[:32_000]
QUESTION = "Tell me, in as many words as you like, what number {} is and how it came to be. "


class Device:
    """A device that sends requests; it reads the replies, but ignores them."""

    def __init__(self, connection: ClientConnection, vocabulary: str = "") -> None:
        self._connection = connection
        self._session = DeviceSession(m.Hello(m.VERSIONS, vocabulary, "", "attack"))

    async def begin(self) -> None:
        """Send the Hello message and read the first reply."""
        for frame in self._session.connect():
            await self._connection.send(frame)
        await self.read()

    async def read(self) -> list[object]:
        """Return the events of the next frame."""
        received = self._session.receive(await self._connection.recv())
        for frame in received.frames:
            await self._connection.send(frame)
        return list(received.events)

    async def say(self, message: m.Ask | m.Start | m.Cancel) -> None:
        """Send a message."""
        for frame in self._session.send(message):
            await self._connection.send(frame)

    async def ask(self, generate: bool = True, **given: object) -> int:
        """Ask a new question and return the request's number."""
        request = self._session.next_request
        question = QUESTION.format(f"{os.getpid()}-{time.monotonic_ns()}") * 8
        filled = {"passages": 0, "max_tokens": 1024, "credit": 1024, **given}
        await self.say(m.Ask(request, question, generate, **filled))  # type: ignore[arg-type]
        return request

    async def until(self, kind: type[object], request: int) -> None:
        """Read until an event of the given kind for the request, or the request's end."""
        while True:
            for event in await self.read():
                over = isinstance(event, kind | m.Finished | m.Failed)
                if over and getattr(event, "request", request) == request:
                    return


class Attacker:
    """The settings of an attack: the server's port, and the attacker's token, address and deadline."""

    def __init__(self, port: int, token: str, address: str, seconds: float) -> None:
        self.port, self.token, self.address = port, token, address
        self.deadline = time.monotonic() + seconds

    @property
    def going(self) -> bool:
        """Whether the attack continues."""
        return time.monotonic() < self.deadline

    async def repeat(self, attack: Callable[[Device], Awaitable[None]]) -> None:
        """Repeat the attack on a connection, reconnecting if the server cuts it."""
        while self.going:
            with suppress(OSError, WebSocketException, TimeoutError):
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + self.deadline - time.monotonic()):
                    async with self._connected() as connection:
                        device = Device(connection)
                        await device.begin()
                        while self.going:
                            await attack(device)
            await asyncio.sleep(1.0)

    def _connected(self) -> connect:
        return connect(
            f"ws://127.0.0.1:{self.port}/",
            additional_headers={"Authorization": f"Bearer {self.token}"},
            subprotocols=[Subprotocol(m.SUBPROTOCOL)],
            compression=None,
            proxy=None,
            ping_interval=None,
            local_addr=(self.address, 0),
        )

    async def pings(self) -> None:
        """Send pings without reading the replies, on as many connections as a token may have."""
        await asyncio.gather(*(asyncio.to_thread(self._ping) for _ in range(PINGING)))

    def _ping(self) -> None:
        frames = (bytes((0x89, 0x80 | 125, 0, 0, 0, 0)) + bytes(125)) * 500
        upgrade = (
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {base64.b64encode(bytes(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {m.SUBPROTOCOL}\r\nAuthorization: Bearer {self.token}\r\n\r\n"
        ).encode()
        while self.going:
            with suppress(OSError), socket.socket() as connection:
                connection.bind((self.address, 0))
                connection.settimeout(1.0)
                connection.connect(("127.0.0.1", self.port))
                connection.sendall(upgrade)
                while self.going:
                    with suppress(TimeoutError):
                        connection.send(frames)
            time.sleep(1.0)

    async def silent(self) -> None:
        """Open TCP connections that never send anything, and reopen those that are closed."""
        opened: list[socket.socket] = []
        while self.going:
            for connection in opened[:]:
                with suppress(BlockingIOError):
                    with suppress(ConnectionError):
                        connection.recv(1)
                    opened.remove(connection)
                    connection.close()
            for _ in range(min(SILENT - len(opened), 100)):
                connection = socket.socket()
                connection.setblocking(False)
                with suppress(OSError):
                    connection.bind((self.address, 0))
                    with suppress(BlockingIOError):
                        connection.connect(("127.0.0.1", self.port))
                    opened.append(connection)
            await asyncio.sleep(0.1)

    async def hoard(self) -> None:
        """Send as many requests as a connection allows, each with credit for 5 tokens, and repeat this every 15 s."""

        async def attack(device: Device) -> None:
            requests = [await device.ask(credit=5) for _ in range(ASKED)]
            with suppress(TimeoutError):
                async with asyncio.timeout(15):
                    while True:
                        await device.read()
            for request in requests:
                await device.say(m.Cancel(request))
            await device.until(m.Finished, requests[-1])

        await self.repeat(attack)

    async def handover(self) -> None:
        """Request the continuation of answers of 32,000 characters, one after another."""

        async def attack(device: Device) -> None:
            request = await device.ask(accepted_text=LONG_TEXT)
            await device.until(m.Finished, request)

        await self.repeat(attack)

    async def cancel(self) -> None:
        """Send a request, wait until its prompt is prefilled, and cancel it."""

        async def attack(device: Device) -> None:
            requests = [await device.ask() for _ in range(ASKED - 2)]
            await device.until(m.Tokens, requests[0])
            for request in requests:
                await device.say(m.Cancel(request))
            await device.until(m.Finished, requests[-1])

        await self.repeat(attack)

    async def sources(self) -> None:
        """Request passages by id, which the server reads without generating."""

        async def attack(device: Device) -> None:
            requests = [await device.ask(False, sources=(0, 1, 2, 3, 4)) for _ in range(ASKED - 2)]
            await device.until(m.Sources, requests[-1])
            for request in requests:
                await device.say(m.Cancel(request))
            await device.until(m.Finished, requests[-1])

        await self.repeat(attack)

    async def start(self) -> None:
        """Send requests for passages only, and then ask for an answer to each of them (`Start`), one connection after
        another.
        """

        async def attack(device: Device) -> None:
            requests = [await device.ask(False) for _ in range(ASKED - 2)]
            await device.until(m.Sources, requests[-1])
            for request in requests:
                await device.say(m.Start(request, 1024))
            await device.until(m.Finished, requests[-1])

        await self.repeat(attack)


NAMES = ("pings", "silent", "hoard", "handover", "cancel", "sources", "start")
"""The names of the attacks."""


def main() -> None:
    """Run the attack that the command line names."""
    name, port, token, address, seconds = sys.argv[1:]
    os.nice(10)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * SILENT)), hard))
    asyncio.run(getattr(Attacker(int(port), token, address, float(seconds)), name)())


if __name__ == "__main__":
    main()
