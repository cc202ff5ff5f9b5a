"""The server's sockets: one task per connection, a separate port for health and metrics, and signals.

Connections without a valid token never pass the WebSocket upgrade. Uses the library `websockets`: small, well
maintained, pure Python with an optional C part, and with a threaded client for devices.
"""

import asyncio
import logging
import math
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from http import HTTPStatus
from weakref import WeakKeyDictionary

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from cloud_server.access.certificate_renewal import Renewed
from cloud_server.access.tokens import TokenFile
from cloud_server.engine.batch import Batch
from cloud_server.monitoring.loop_errors import LoopErrorHandler
from cloud_server.pipelines.answering import Answering
from cloud_server.serving import descriptors, service
from cloud_server.serving.admission import AdmissionRefused, AdmissionSlot
from cloud_server.serving.listening import (
    ACCEPTS,
    BACKLOG,
    MOST_ARRIVING,
    MOST_ARRIVING_EACH,
    Arrivals,
    Listener,
    listeners,
)
from cloud_server.serving.pairing_desk import PairingDesk
from cloud_server.serving.service import Duty, Service
from cloud_server.serving.websocket import BoundedConnection, Socket
from cloud_server.settings import Settings
from shared.errors import ServerLost
from shared.pairing.exchange import PATH as PAIRING
from shared.protocol import messages as m

_BUFFER = 16 * 1024
"""Bytes of unsent data per connection in this process; further data waits in the session."""

log = logging.getLogger(__name__)
_sockets = logging.getLogger(f"{__name__}.sockets")
_sockets.setLevel(logging.ERROR)  # errors caused by devices are counted in the metrics, not logged


class CompanionServer(Service):
    """One server process. `run` serves until the process is told to end."""

    def __init__(
        self,
        settings: Settings,
        tokens: TokenFile,
        answering: Answering,
        batch: Batch,
        pairing: PairingDesk | None = None,
    ) -> None:
        super().__init__(settings, tokens, answering, batch)
        self._pairing = pairing
        self._certificate: Renewed | None = None
        self.listening: list[Server] = []
        self.arrivals: Arrivals
        self._admitted: WeakKeyDictionary[ServerConnection, AdmissionSlot] = WeakKeyDictionary()

    async def run(
        self,
        ready: Callable[[str, int, int | None], None],
        *,
        ending: Callable[[], None] = lambda: None,
        signals: bool = True,
    ) -> None:
        """Serve until SIGTERM, SIGINT or `end`. Calls `ready` with the address, the port and the metrics port.

        SIGHUP calls `reload`. Raises OSError if an address cannot be bound, UsageError if the certificate cannot be
        used, ServerLost if the server ended because a part of it failed.
        """
        if signals:
            for number, act in ((signal.SIGTERM, self.end), (signal.SIGINT, self.end), (signal.SIGHUP, self.reload)):
                asyncio.get_running_loop().add_signal_handler(number, act)
        own = self.settings.serve
        self._certificate = Renewed(own.certificate, own.key) if own.certificate else None
        asyncio.get_running_loop().set_exception_handler(LoopErrorHandler(time.monotonic))
        self._share_descriptors()
        async with AsyncExitStack() as closing:
            closing.callback(self.stop)
            for listener in listeners(self.settings.serve.host, self.settings.serve.port, self.arrivals):
                self.listening.append(await closing.enter_async_context(self._front(listener)))
                _hold_bursts(self.listening[-1])
            probes = await closing.enter_async_context(self._probes()) if self.settings.serve.metrics_port else None
            self.start()
            ready(self.settings.serve.host, _port(self.listening[0]), _port(probes) if probes else None)
            await self.ending.wait()
            ending()
            await self.drain()
            for front in self.listening:
                front.close(code=m.CloseCode.RESTARTING, reason="The server is shutting down.")
            for front in self.listening:
                await front.wait_closed()
        if self.lost:
            raise ServerLost(f"The server failed: {self.lost} has ended. The log says why. Start the server again.")

    def reload(self) -> None:
        """Reload tokens and certificate now; changed files are also reloaded automatically. Closes no connection."""
        super().reload()
        if self._certificate:
            self._certificate.reload()

    def duties(self) -> list[Duty]:
        """Return the tasks that run as long as the server."""
        renewing = [("looking for a renewed certificate", self._certificate.look())] if self._certificate else []
        return [*super().duties(), *renewing]

    def _share_descriptors(self) -> None:
        limit, own = descriptors.raise_limit(), self.settings.limits
        shared = descriptors.budget(limit, descriptors.opened(), own.devices, MOST_ARRIVING)
        self.most_devices = shared.devices
        # Behind a proxy, all connections come from one address.
        each = shared.arriving if self.settings.serve.behind_tls else min(MOST_ARRIVING_EACH, shared.arriving)
        self.arrivals = Arrivals(shared.arriving, each)
        if shared.devices < own.devices:
            log.warning(
                "too few file descriptors for limits.devices: raise the limit of open files (LimitNOFILE, ulimit -n)",
                extra={"devices": shared.devices, "descriptors": limit},
            )

    def _front(self, listener: Listener) -> Server:
        return serve(
            self._connection,
            sock=listener,
            create_connection=BoundedConnection,
            ssl=self._certificate.context if self._certificate else None,
            subprotocols=[Subprotocol(m.SUBPROTOCOL)],
            process_request=self._admit,
            compression=None,
            open_timeout=service.HELLO_S,
            ping_interval=None,  # devices send keep-alives themselves, and count the frames they send
            close_timeout=2.0,
            max_size=m.MOST_FRAME_BYTES,
            max_queue=4,
            write_limit=_BUFFER,
            server_header=None,
            backlog=ACCEPTS,  # connections accepted per turn; `_hold_bursts` raises the kernel's queue
            logger=_sockets,
        )

    def _probes(self) -> Server:
        return serve(
            self._connection,
            self.settings.serve.metrics_host,
            self.settings.serve.metrics_port,
            process_request=self._probe,
            open_timeout=service.HELLO_S,
            server_header=None,
            logger=_sockets,
        )

    def _admit(self, connection: ServerConnection, request: Request) -> Response | Awaitable[None] | None:
        """Admit a connection: return None, or the response that refuses it."""
        if request.path == PAIRING:
            return self._admit_to_pair(connection)
        said = request.headers.get_all("Authorization")
        admitted = self.admit(said[0] if len(said) == 1 else "", _address(connection))
        if isinstance(admitted, AdmissionRefused):
            return _cut(connection) if connection.protocol.eof_sent else _response(admitted)
        self.arrivals.leave(connection.transport.get_extra_info("socket").fileno())
        self._admitted[connection] = admitted
        connection.connection_lost_waiter.add_done_callback(lambda _: self.release(admitted))  # the upgrade may fail
        return None

    def _admit_to_pair(self, connection: ServerConnection) -> Response | None:
        """Let a device connect for pairing without a token: return None, or the refusal if no pairing code is open.

        TLS is required, since the proofs that both sides exchange are bound to the TLS certificate.
        """
        if self.settings.serve.certificate and self.ready and self._pairing and self._pairing.is_open():
            return None
        return connection.respond(HTTPStatus.NOT_FOUND, "No pairing is open.\n")

    async def _connection(self, connection: ServerConnection) -> None:
        if self._pairing and connection.request and connection.request.path == PAIRING:
            await self._pairing.serve(Socket(connection))
            return
        await self.serve(Socket(connection), self._admitted.pop(connection))

    def _probe(self, connection: ServerConnection, request: Request) -> Response | Awaitable[None]:
        if connection.protocol.eof_sent:
            return _cut(connection)
        if request.path == "/metrics":
            headers = Headers({"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
            return Response(200, "OK", headers, self.metrics.text())
        answers = {"/healthz": self.health, "/readyz": self.readiness}
        if request.path in answers:
            return connection.respond(*answers[request.path]())
        return connection.respond(HTTPStatus.NOT_FOUND, "This port serves /healthz, /readyz and /metrics.\n")


def _address(connection: ServerConnection) -> str:
    """Return the peer's address; behind a proxy, the proxy's address."""
    address = connection.remote_address
    return str(address[0]) if isinstance(address, tuple) else ""


async def _cut(connection: ServerConnection) -> None:
    """Abort a connection that cannot be answered, because `websockets` closed it for sending data after its request."""
    connection.transport.abort()
    await asyncio.wait([connection.connection_lost_waiter])


def _hold_bursts(server: Server) -> None:
    """Let the kernel queue a whole burst of connections, although few are accepted per turn."""
    for listener in server.sockets:
        with socket.socket(fileno=os.dup(listener.fileno())) as same:
            same.listen(BACKLOG)


def _response(refused: AdmissionRefused) -> Response:
    headers = Headers({"Content-Length": "0", "Connection": "close"})
    if refused.status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if refused.retry_after_s is not None:
        headers["Retry-After"] = str(math.ceil(refused.retry_after_s))
    return Response(refused.status.value, refused.status.phrase, headers, b"")


def _port(server: Server) -> int:
    port: int = next(iter(server.sockets)).getsockname()[1]
    return port
