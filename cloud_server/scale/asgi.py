"""The service as an ASGI application (ASGI 3 with WebSocket and lifespan), to be run in several replicas.

The ASGI server does TLS, limits frame sizes and detects dead connections; this module checks the devices' messages.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from cloud_server.serving.admission import AdmissionRefused
from cloud_server.serving.service import Service
from cloud_server.sessions.connection import Closed
from shared.protocol import messages as m
from shared.protocol.codec import Frame

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_CLOSE_S = 2.0


class AsgiConnection:
    """A device's connection through ASGI. Implements `Connection`."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sent: int | None = None
        self._gone = False

    async def receive(self) -> Frame:
        """Return the next frame. Raises Closed."""
        coming = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait((coming, self._over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not coming.done():
                coming.cancel()
        message = {} if self._over.done() else coming.result()
        if message.get("type") == "websocket.disconnect":
            self._gone = True
            self.abort()
        if self._over.done():
            raise Closed(self._sent)
        frame: Frame = message["text"] if message.get("bytes") is None else message["bytes"]
        return frame

    async def send(self, frame: Frame) -> None:
        """Send a frame through the ASGI server, which may wait for the network. Raises Closed."""
        if self._over.done():
            raise Closed(self._sent)
        await self._say({"type": "websocket.send", "bytes" if isinstance(frame, bytes) else "text": frame})

    def send_now(self, frames: Sequence[Frame]) -> bool:  # noqa: ARG002
        """Write nothing and return False, because an ASGI server may wait for the network at each frame."""
        return False

    async def close(self, code: int) -> None:
        """Close the connection with this code. Raises Closed."""
        self.abort()
        if not self._gone and self._sent is None:
            self._sent = code
            await self._say({"type": "websocket.close", "code": code})

    def abort(self) -> None:
        """Refuse further frames. The application closes the connection later, as ASGI offers no way to cut it."""
        if not self._over.done():
            self._over.set_result(None)

    async def _say(self, message: dict[str, Any]) -> None:
        try:
            await self._send(message)
        except (OSError, RuntimeError):  # ASGI does not say which error it raises when the device is gone
            self._gone = True
            self.abort()
            raise Closed(self._sent) from None


class Application:
    """The ASGI application: admits and serves devices, and answers /healthz and /readyz. Its lifespan runs the
    service.
    """

    def __init__(self, service: Service) -> None:
        self.service = service

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle a WebSocket connection, an HTTP request or the lifespan."""
        match scope["type"]:
            case "websocket":
                await self._connect(scope, receive, send)
            case "http":
                await self._probe(scope["path"], send)
            case "lifespan":
                await self._live(receive, send)

    async def _connect(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        headers = dict(scope["headers"])
        if m.SUBPROTOCOL in scope["subprotocols"]:
            peer = (scope.get("client") or ("",))[0]
            admitted = self.service.admit(headers.get(b"authorization", b"").decode("latin-1"), peer)
        else:
            admitted = AdmissionRefused(HTTPStatus.BAD_REQUEST)
        if isinstance(admitted, AdmissionRefused):
            await _refuse(admitted, send, with_status="websocket.http.response" in (scope.get("extensions") or {}))
            return
        connection = AsgiConnection(receive, send)
        try:
            await send({"type": "websocket.accept", "subprotocol": m.SUBPROTOCOL})
            await self.service.serve(connection, admitted)
        finally:
            self.service.release(admitted)
        try:
            async with asyncio.timeout(_CLOSE_S):
                await connection.close(m.CloseCode.RESTARTING)
        except (TimeoutError, Closed):
            pass

    async def _probe(self, path: str, send: Send) -> None:
        if path == "/healthz":
            await _answer(send, *self.service.health())
        elif path == "/readyz":
            await _answer(send, *self.service.readiness())
        else:
            await _answer(send, HTTPStatus.NOT_FOUND, "This port serves /healthz and /readyz.\n")

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        self.service.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()  # lifespan.shutdown
        await self.service.drain()
        self.service.stop()
        await send({"type": "lifespan.shutdown.complete"})


async def _refuse(refused: AdmissionRefused, send: Send, *, with_status: bool) -> None:
    """Refuse the connection with an HTTP status, if the ASGI server can send it; otherwise that server sends 403."""
    if not with_status:
        await send({"type": "websocket.close", "code": m.CloseCode.RESTARTING})
        return
    headers = [(b"content-length", b"0")]
    if refused.status is HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.retry_after_s is not None:
        headers.append((b"retry-after", str(math.ceil(refused.retry_after_s)).encode()))
    await send({"type": "websocket.http.response.start", "status": refused.status.value, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": b""})


async def _answer(send: Send, status: HTTPStatus, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
