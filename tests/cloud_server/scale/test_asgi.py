"""The service as an ASGI application, called by the test in place of an ASGI server: it serves sessions as over a
socket.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cloud_server.access.tokens import TokenFile
from cloud_server.scale.asgi import Application
from cloud_server.serving import service as service_module
from cloud_server.sessions.threads import READERS, SEARCHERS
from models.fake import FakeEngine
from shared.protocol import codec
from shared.protocol import messages as m
from shared.protocol.device import DeviceSession
from tests.companion import Slow, companion
from tests.racing import QUESTION, TEXT

Message = dict[str, Any]


class Carried:
    """One WebSocket connection to the application; the test plays the ASGI server."""

    def __init__(self, application: Application, token: str, **scope: object) -> None:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        given: Message = {"type": "websocket", "headers": headers, "subprotocols": [m.SUBPROTOCOL], **scope}
        self.said: asyncio.Queue[Message] = asyncio.Queue()
        self.inbox: asyncio.Queue[Message] = asyncio.Queue()
        self.inbox.put_nowait({"type": "websocket.connect"})
        self.gone = False
        self.task = asyncio.create_task(application(given, self.inbox.get, self._send))

    async def _send(self, message: Message) -> None:
        if self.gone:
            raise OSError("the device is gone")
        self.said.put_nowait(message)

    async def next(self) -> Message:
        return await asyncio.wait_for(self.said.get(), 30)

    def frame(self, frame: bytes | str) -> None:
        self.inbox.put_nowait({"type": "websocket.receive", "bytes" if isinstance(frame, bytes) else "text": frame})

    def cut(self) -> None:
        self.gone = True
        self.inbox.put_nowait({"type": "websocket.disconnect", "code": 1006})


class Device:
    """A device that talks to the application over connections that the test simulates."""

    def __init__(self, application: Application, token: str) -> None:
        self.session = DeviceSession(m.Hello(m.VERSIONS, "fake", "fake", "test"))
        self.events: list[Any] = []
        self._application, self._token = application, token
        self.on: Carried

    async def connects(self) -> None:
        self.on = Carried(self._application, self._token)
        assert await self.on.next() == {"type": "websocket.accept", "subprotocol": m.SUBPROTOCOL}
        for frame in self.session.connect():
            self.on.frame(frame)

    async def cuts(self) -> None:
        self.on.cut()
        self.session.cut()
        await self.on.task

    def asks(self) -> None:
        for frame in self.session.send(m.Ask(1, QUESTION.text, True, passages=1, max_tokens=200, credit=200)):
            self.on.frame(frame)

    async def reads(self) -> None:
        message = await self.on.next()
        assert message["type"] == "websocket.send", message
        received = self.session.receive(message.get("bytes") or message["text"])
        for frame in received.frames:
            self.on.frame(frame)
        self.events += received.events

    async def until(self, holds: Callable[[], object]) -> None:
        while not holds():
            await self.reads()

    @property
    def text(self) -> str:
        return bytes(token for event in self.events if isinstance(event, m.Tokens) for token in event.ids).decode()

    @property
    def ended(self) -> bool:
        return any(isinstance(event, m.Finished) for event in self.events)


@asynccontextmanager
async def living(
    tokens: TokenFile, engine: FakeEngine | None = None, **sections: dict[str, object]
) -> AsyncIterator[Application]:
    """Run the application's lifespan: start it before the block, shut it down after the block."""
    application = Application(companion(tokens, engine or FakeEngine(sequences=4), sections))
    orders: asyncio.Queue[Message] = asyncio.Queue()
    said: asyncio.Queue[Message] = asyncio.Queue()
    life = asyncio.create_task(application({"type": "lifespan"}, orders.get, said.put))
    orders.put_nowait({"type": "lifespan.startup"})
    assert (await said.get())["type"] == "lifespan.startup.complete"
    try:
        yield application
    finally:
        orders.put_nowait({"type": "lifespan.shutdown"})
        assert (await said.get())["type"] == "lifespan.shutdown.complete"
        await life


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens.json")


Test = Callable[[Application, str], Awaitable[None]]


def run(tokens: TokenFile, test: Test, engine: FakeEngine | None = None, **sections: dict[str, object]) -> None:
    token = tokens.create("phone", datetime.now(UTC))[1]

    async def main() -> None:
        async with living(tokens, engine, **sections) as application:
            await test(application, token)

    asyncio.run(main())


def test_an_answer_goes_on_over_many_connections(tokens: TokenFile) -> None:
    async def test(application: Application, token: str) -> None:
        device = Device(application, token)
        await device.connects()
        await device.until(lambda: device.session.offer)
        device.asks()
        for length in range(5, 60, 6):
            await device.until(lambda: len(device.text) >= length or device.ended)  # noqa: B023
            await device.cuts()
            await device.connects()
        await device.until(lambda: device.ended)
        assert device.text == TEXT
        assert len(application.service.sessions) == 1
        assert not application.service.sessions.busy

    run(tokens, test, Slow(0.005))


@pytest.mark.parametrize("extensions", [{"websocket.http.response": {}}, None])
def test_without_a_valid_token_there_is_no_connection(tokens: TokenFile, extensions: Message | None) -> None:
    async def test(application: Application, token: str) -> None:
        speaks: list[str] = [m.SUBPROTOCOL]
        for wrong, spoken, status in (("x", speaks, 401), ("", speaks, 401), (token, [], 400)):
            refused = Carried(application, wrong, extensions=extensions, subprotocols=spoken)
            said = await refused.next()
            if extensions:
                assert (said["type"], said["status"]) == ("websocket.http.response.start", status)
            else:
                assert said["type"] == "websocket.close"
            await refused.task
        assert application.service.sessions.connected == 0

    run(tokens, test)


@pytest.mark.parametrize("frame", [b"\x00" * (m.MOST_FRAME_BYTES + 1), "{", "x" * (m.MOST_TEXT_BYTES + 1)])
def test_who_breaks_the_protocol_is_told_and_closed(tokens: TokenFile, frame: bytes | str) -> None:
    async def test(application: Application, token: str) -> None:
        carried = Carried(application, token)
        await carried.next()
        carried.frame(frame)
        said = codec.from_server((await carried.next())["text"])
        assert isinstance(said, m.Closing)
        assert await carried.next() == {"type": "websocket.close", "code": said.code}
        await carried.task

    run(tokens, test)


@pytest.mark.parametrize(("limit", "status"), [("connections", 429), ("devices", 503)])
def test_a_burst_is_counted_before_it_is_served(tokens: TokenFile, limit: str, status: int) -> None:
    async def test(application: Application, token: str) -> None:
        burst = [Carried(application, token, extensions={"websocket.http.response": {}}) for _ in range(5)]
        first = [await carried.next() for carried in burst]
        assert [message["type"] for message in first[:2]] == ["websocket.accept"] * 2
        assert [message.get("status") for message in first[2:]] == [status] * 3
        for carried in burst[:2]:
            carried.cut()
        for carried in burst:
            await carried.task
        await Device(application, token).connects()

    run(tokens, test, limits={limit: 2})


def test_whose_upgrade_fails_leaves_its_place(tokens: TokenFile) -> None:
    async def test(application: Application, token: str) -> None:
        for _ in range(3):
            gone = Carried(application, token)
            gone.gone = True
            with pytest.raises(OSError, match="gone"):
                await gone.task
        await Device(application, token).connects()

    run(tokens, test, limits={"connections": 1, "devices": 1})


def test_the_end_waits_for_what_is_being_read_alone(tokens: TokenFile) -> None:
    over, started = threading.Event(), threading.Semaphore(0)
    late: list[bool] = []

    def reading() -> None:
        started.release()
        over.wait(30)

    async def test(application: Application, _token: str) -> None:
        threads = application.service._threads
        for pool, count in ((threads.readers, READERS), (threads.searchers, SEARCHERS)):
            for _ in range(count):
                pool.submit(reading)
                started.acquire()
            pool.submit(late.append, True)
        threading.Timer(0.1, over.set).start()
        application.service.stop()

    run(tokens, test)
    assert not late


def test_a_revoked_token_is_cut(tokens: TokenFile) -> None:
    async def test(application: Application, token: str) -> None:
        device = Device(application, token)
        await device.connects()
        await device.until(lambda: device.session.offer)
        tokens.revoke("phone")
        assert (await device.on.next())["type"] == "websocket.close"
        await device.on.task
        assert len(application.service.sessions) == 0

    run(tokens, test)


def test_no_hello_is_no_connection_for_long(tokens: TokenFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "HELLO_S", 0.1)

    async def test(application: Application, token: str) -> None:
        carried = Carried(application, token)
        await carried.next()
        assert "hello" in (await carried.next())["text"]
        assert (await carried.next())["code"] == m.CloseCode.SLOW
        await carried.task

    run(tokens, test)


def test_health_is_told_and_nothing_else(tokens: TokenFile) -> None:
    async def test(application: Application, token: str) -> None:
        async def get(path: str) -> tuple[int, bytes]:
            said: list[Message] = []

            async def send(message: Message) -> None:
                said.append(message)

            await application({"type": "http", "path": path}, asyncio.Queue[Message]().get, send)
            return said[0]["status"], said[1]["body"]

        assert await get("/healthz") == (200, b"alive\n")
        assert await get("/readyz") == (200, b"ready\n")
        assert (await get("/metrics"))[0] == 404
        application.service.draining = True
        assert (await get("/readyz"))[0] == 503

    run(tokens, test)
