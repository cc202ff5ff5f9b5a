"""The server's sockets: who is let in, one task for each connection, health and metrics, and how it ends.

Who has no valid token never gets past the upgrade. The WebSocket library is `websockets`: it is small, kept by one
careful author, pure Python with an optional C part, and speaks the same protocol in threads on the device.
"""

import asyncio
import logging
import math
import signal
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from http import HTTPStatus
from weakref import WeakKeyDictionary

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from cloud_server.answering import Answering
from cloud_server.batching import Batch, Event
from cloud_server.client import Client, Parts
from cloud_server.generation import Generation
from cloud_server.metrics import Metrics
from cloud_server.queueing import FairQueue
from cloud_server.sessions import Sessions
from cloud_server.settings import Settings
from cloud_server.tokens import Entry, TokenFile
from shared.errors import ProtocolError, StoreError
from shared.protocol import codec
from shared.protocol import messages as m

HELLO_S = 5.0
"""Seconds for the upgrade, and again for the hello."""

REVOKED_S = 0.5
"""How often it is looked whether tokens were revoked."""

BACKLOG = 4096
"""Connections the kernel holds until they are accepted: a burst of them is no fault."""

_BUFFER = 16 * 1024
"""Bytes written that may wait in this process for one connection: what is more waits in its session."""

log = logging.getLogger(__name__)

_sockets = logging.getLogger(f"{__name__}.sockets")
_sockets.setLevel(logging.ERROR)  # what devices do wrong there is counted, not told line by line


class CompanionServer:
    """One server. `run` serves until it is told to end."""

    def __init__(self, settings: Settings, tokens: TokenFile, answering: Answering, batch: Batch) -> None:
        self.settings = settings
        self.answering = answering
        self.tokens = tokens
        self.leaving = False
        self.sessions = Sessions(offer(settings, answering), settings.limits)
        queue = FairQueue(settings.limits.waiting, settings.limits.waiting_each)
        self.generation = Generation(batch, queue, self._deliver)
        self.metrics = Metrics(lambda: self.generation.load, lambda: self.sessions.connected)
        self.listening: Server
        self._loop: asyncio.AbstractEventLoop
        self._ending = asyncio.Event()
        self._admitted: WeakKeyDictionary[ServerConnection, Entry] = WeakKeyDictionary()
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="reader")
        self._parts = Parts(
            answering,
            self.generation,
            self._readers,
            self.metrics,
            settings.log.questions,
            lambda: self.leaving,
        )

    async def run(
        self,
        ready: Callable[[str, int, int | None], None],
        *,
        ending: Callable[[], None] = lambda: None,
        signals: bool = True,
    ) -> None:
        """Serve until SIGTERM, SIGINT or `end`; `ready` gets the address, the port, and that of the metrics.

        Raises OSError where an address cannot be listened on, ssl.SSLError for a certificate that cannot be used.
        """
        self._loop = asyncio.get_running_loop()
        if signals:
            for one in (signal.SIGTERM, signal.SIGINT):
                self._loop.add_signal_handler(one, self.end)
        async with AsyncExitStack() as closing:
            closing.callback(self._readers.shutdown)
            closing.callback(self.generation.stop)
            front = self.listening = await closing.enter_async_context(self._front())
            probes = await closing.enter_async_context(self._probes()) if self.settings.serve.metrics_port else None
            self.generation.start()
            for watching in (self.sessions.sweep(), self._cut_revoked()):
                closing.callback(self._loop.create_task(watching).cancel)
            ready(self.settings.serve.host, _port(front), _port(probes) if probes else None)
            await self._ending.wait()
            ending()
            await self._drain(front)

    def end(self) -> None:
        """Take nothing new; end when what is under way is done, or its time is over."""
        self._ending.set()

    def _front(self) -> Server:
        own = self.settings.serve
        return serve(
            self._connection,
            own.host,
            own.port,
            ssl=tls(own.certificate, own.key) if own.certificate else None,
            subprotocols=[Subprotocol(m.SUBPROTOCOL)],
            process_request=self._admit,
            compression=None,
            open_timeout=HELLO_S,
            ping_interval=None,  # devices say of themselves that they are there, and count what they send
            close_timeout=2.0,
            max_size=m.MOST_FRAME_BYTES,
            max_queue=4,
            write_limit=_BUFFER,
            server_header=None,
            backlog=BACKLOG,
            logger=_sockets,
        )

    def _probes(self) -> Server:
        return serve(
            self._connection,
            "127.0.0.1",
            self.settings.serve.metrics_port,
            process_request=self._probe,
            open_timeout=HELLO_S,
            server_header=None,
            logger=_sockets,
        )

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Let a connection in, or say why not."""
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        try:
            entry = self.tokens.check(token.strip()) if kind.lower() == "bearer" else None
        except StoreError as error:
            log.error("tokens cannot be read", extra={"detail": str(error)})  # noqa: TRY400  (no traceback is wanted)
            return self._refused(HTTPStatus.SERVICE_UNAVAILABLE, "tokens", 30.0)
        if entry is None:
            return self._refused(HTTPStatus.UNAUTHORIZED, "token")
        if self.leaving or not self.generation.alive:
            return self._refused(HTTPStatus.SERVICE_UNAVAILABLE, "leaving", 30.0)
        if self.sessions.connected >= self.settings.limits.devices:
            return self._refused(HTTPStatus.SERVICE_UNAVAILABLE, "full", 10.0)
        if wait := self.sessions.quota(entry.name).connect_wait_s(self._loop.time()):
            return self._refused(HTTPStatus.TOO_MANY_REQUESTS, "limit", wait)
        connection.username = entry.name
        self._admitted[connection] = entry
        return None

    async def _cut_revoked(self) -> None:
        """For ever: cut whoever's token was revoked, and forget what they asked."""
        while True:
            await asyncio.sleep(REVOKED_S)
            try:
                valid = {entry.id for entry in self.tokens.entries()}
            except StoreError:
                continue  # nobody new is let in meanwhile, and `_admit` says why
            for connection, entry in list(self._admitted.items()):
                if entry.id not in valid:
                    del self._admitted[connection]
                    log.info("cut: its token was revoked", extra={"client": entry.name})
                    self.sessions.forget_connection(connection)
                    connection.transport.abort()

    def _refused(self, status: HTTPStatus, reason: str, retry_after_s: float | None = None) -> Response:
        self.metrics.refused.labels(reason).inc()
        headers = Headers({"Content-Length": "0", "Connection": "close"})
        if status is HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        if retry_after_s is not None:
            headers["Retry-After"] = str(math.ceil(min(retry_after_s, 3600.0)))
        return Response(status.value, status.phrase, headers, b"")

    async def _connection(self, connection: ServerConnection) -> None:
        name = connection.username
        quota = self.sessions.quota(name)
        quota.connected(self._loop.time())
        client: Client | None = None
        try:
            async with asyncio.timeout(HELLO_S):
                hello = codec.from_device(await connection.recv())
            if not isinstance(hello, m.Hello):
                raise ProtocolError(m.CloseCode.ILLEGAL, "A device says hello first.")  # noqa: TRY301
            client = self.sessions.client(hello, name, self._parts)
            log.info("connected", extra={"client": name, "resumed": hello.resume is not None})
            await client.serve(connection, hello)
        except TimeoutError:
            await self._close(connection, ProtocolError(m.CloseCode.SLOW, "No hello came in time."))
        except ProtocolError as error:
            if client:
                self.sessions.forget(client)
            log.warning("broke the protocol", extra={"client": name, "code": error.code})
            await self._close(connection, error)
        except ConnectionClosed:
            pass
        finally:
            quota.disconnected()
            log.info("disconnected", extra={"client": name})

    async def _close(self, connection: ServerConnection, error: ProtocolError) -> None:
        self.metrics.protocol_errors.inc()
        try:
            async with asyncio.timeout(2.0):
                await connection.send(codec.closing(error))
                await connection.close(error.code)
        except (TimeoutError, ConnectionClosed):
            connection.transport.abort()

    def _probe(self, connection: ServerConnection, request: Request) -> Response:
        if request.path == "/metrics":
            headers = Headers({"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
            return Response(200, "OK", headers, self.metrics.text())
        if request.path == "/healthz":
            return connection.respond(HTTPStatus.OK, "alive\n")
        if request.path == "/readyz":
            if self.leaving or not self.generation.alive:
                return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "not ready\n")
            return connection.respond(HTTPStatus.OK, "ready\n")
        return connection.respond(HTTPStatus.NOT_FOUND, "There are /healthz, /readyz and /metrics.\n")

    def _deliver(self, events: Sequence[Event]) -> None:
        """On the generation's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.sessions.written, events)

    async def _drain(self, front: Server) -> None:
        self.leaving = True
        log.info("ending", extra={"busy": self.sessions.busy})
        self.sessions.say(m.Goaway("The server ends.", self.sessions.offer.resume_for_s))
        deadline = self._loop.time() + self.settings.serve.drain_s
        while self.sessions.busy and self._loop.time() < deadline:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)  # the last frames
        front.close(code=m.CloseCode.RESTARTING, reason="The server ends.")
        await front.wait_closed()


def offer(settings: Settings, answering: Answering) -> m.Offer:
    """What this server is and gives."""
    engine = answering.engine
    return m.Offer(
        model=engine.info.model,
        vocabulary=engine.vocabulary_hash(),
        embedder=answering.embedder.fingerprint,
        context=engine.info.context,
        requests=16,
        max_tokens=settings.limits.max_tokens,
        resume_for_s=settings.serve.resume_s,
    )


def tls(certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 and later with the certificate of these files. Raises OSError, ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key or None)
    return context


def _port(server: Server) -> int:
    port: int = next(iter(server.sockets)).getsockname()[1]
    return port
