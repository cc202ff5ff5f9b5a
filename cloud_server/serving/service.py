"""The server without its sockets: admission, sessions, generation, monitoring and shutdown.

The module `server` runs it behind `websockets` in one process; `asgi` runs it behind any ASGI server, in one or several
replicas.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus

from cloud_server.access.tokens import TokenEntry, TokenFile
from cloud_server.engine.batch import Batch
from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import EngineEvent
from cloud_server.engine.queue import FairQueue
from cloud_server.monitoring.heartbeat import beat
from cloud_server.monitoring.load import VectorUse
from cloud_server.monitoring.metrics import Metrics
from cloud_server.monitoring.unforeseen import log_unforeseen
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.pipeline import Pipeline
from cloud_server.retrieval.relief import relieve
from cloud_server.serving.admission import AdmissionRefused, AdmissionSlot, offer
from cloud_server.sessions.client import Client
from cloud_server.sessions.connection import Closed, Connection
from cloud_server.sessions.registry import Sessions
from cloud_server.sessions.services import RequestServices
from cloud_server.sessions.threads import RequestThreads
from cloud_server.settings import Settings
from shared.errors import ProtocolError, StoreError
from shared.protocol import codec
from shared.protocol import messages as m

HELLO_S = 5.0
"""Seconds allowed for the WebSocket upgrade, and again for the device's first message, the Hello."""

REVOKED_S = 0.5
"""Seconds between two checks for revoked tokens."""

STUCK_S = 120.0
"""Seconds after which a single step of the engine counts as hung."""

Duty = tuple[str, Coroutine[None, None, None]]
"""A background task and its name. The server ends if the task ends."""

log = logging.getLogger(__name__)


class Service:
    """Admits and serves connections between `start` and `stop`, on one event loop's thread.

    `ending` is set when the service is told to end, or has to end because a part failed; `lost` then names that part.
    `on_lost` is called once when a part fails. `on_drained` is called when no more answers are waited for: at once if
    the service is told to end a second time (`hurried`).
    """

    def __init__(self, settings: Settings, tokens: TokenFile, answering: Answering, batch: Batch) -> None:
        self.settings = settings
        self.answering = answering
        self.tokens = tokens
        self.most_devices = settings.limits.devices
        self.draining = False
        self.lost = ""
        self.hurried = False
        self.on_lost: Callable[[], None] = lambda: None
        self.on_drained: Callable[[], None] = lambda: None
        self.ending = asyncio.Event()
        self.sessions = Sessions(offer(settings, answering), settings.limits)
        queue = FairQueue(settings.limits.waiting, settings.limits.waiting_each)
        self.generation = Generation(batch, queue, self._deliver, self._generation_lost)
        self.metrics = Metrics(
            lambda: self.generation.load,
            lambda: self.sessions.connected,
            lambda: self.sessions.quotas,
            lambda: answering.corpus.vector_use() if answering.corpus else VectorUse(),
        )
        self._loop: asyncio.AbstractEventLoop
        self._watching: list[asyncio.Task[None]] = []
        self._connections: dict[Connection, TokenEntry] = {}
        self._places: set[AdmissionSlot] = set()
        self._threads = RequestThreads()
        self._parts = RequestServices(
            answering,
            Pipeline(answering, self.metrics),
            self.generation,
            self._threads,
            self.metrics,
            settings.log.questions,
            lambda: self.draining,
            settings.limits.model_only,
        )

    @property
    def ready(self) -> bool:
        """Whether the service accepts new connections."""
        return not self.draining and self.generation.alive and self._tokens_read()

    def start(self) -> None:
        """Start serving on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self.generation.start()
        for name, work in self.duties():
            task = self._loop.create_task(work, name=name)
            task.add_done_callback(self._task_ended)
            self._watching.append(task)

    def duties(self) -> list[Duty]:
        """Return the background tasks."""
        return [
            ("sweeping", self.sessions.sweep()),
            ("looking for revoked tokens", self._cut_revoked()),
            ("giving memory back", relieve(self.answering.corpus, self._threads.readers)),
            ("measuring the event loop", beat(self.metrics.loop_lag.observe, lambda: not self.stuck)),
        ]

    @property
    def stuck(self) -> bool:
        """Whether generation has stopped, or a step of the engine hangs."""
        return not self.generation.alive or self.generation.computing_s > STUCK_S

    def health(self) -> tuple[HTTPStatus, str]:
        """Return the status and text of /healthz: 503 if the process has to be restarted."""
        if self.lost or self.stuck:
            return HTTPStatus.SERVICE_UNAVAILABLE, "failed: restart the server\n"
        return HTTPStatus.OK, "alive\n"

    def readiness(self) -> tuple[HTTPStatus, str]:
        """Return the status and text of /readyz: 200 while new connections are accepted."""
        return (HTTPStatus.OK, "ready\n") if self.ready else (HTTPStatus.SERVICE_UNAVAILABLE, "not ready\n")

    def reload(self) -> None:
        """Reload the tokens. Closes no connection whose token is valid."""
        try:
            count = len(self.tokens.entries())
        except StoreError as error:
            log.error("tokens cannot be read", extra={"detail": str(error)})  # noqa: TRY400  (no traceback is needed)
        else:
            log.info("reloaded", extra={"tokens": count})

    def end(self) -> None:
        """Stop accepting new work, and end when running work is done or `drain_s` is over. A second call ends at
        once.
        """
        self.hurried = self.ending.is_set()
        self.ending.set()

    def stop(self) -> None:
        """Stop at once, even with answers running."""
        for task in self._watching:
            task.cancel()
        self.generation.stop()
        self._threads.close()  # waits only for work that has started

    def admit(self, authorization: str, peer: str = "") -> AdmissionSlot | AdmissionRefused:
        """Admit a connection by the Authorization header of its upgrade: return its place, or a refusal.

        Logs the reason of a refusal and the peer's address. `serve` releases the place; a caller that never calls
        `serve` has to call `release`.
        """
        kind, _, token = authorization.partition(" ")
        try:
            entry = self.tokens.check(token.strip()) if kind.lower() == "bearer" else None
        except StoreError as error:
            log.error("tokens cannot be read", extra={"detail": str(error)})  # noqa: TRY400  (no traceback is needed)
            return self._refused("tokens", peer, AdmissionRefused(HTTPStatus.SERVICE_UNAVAILABLE, 30.0))
        if entry is None:
            return self._refused("token", peer, AdmissionRefused(HTTPStatus.UNAUTHORIZED))
        if not self.ready:
            return self._refused("leaving", peer, AdmissionRefused(HTTPStatus.SERVICE_UNAVAILABLE, 30.0))
        if len(self._places) >= self.most_devices:
            return self._refused("full", peer, AdmissionRefused(HTTPStatus.SERVICE_UNAVAILABLE, 10.0))
        quota, now = self.sessions.quota(entry.name), self._loop.time()
        if wait := quota.connect_wait_s(now):
            return self._refused("limit", peer, AdmissionRefused(HTTPStatus.TOO_MANY_REQUESTS, min(wait, 3600.0)))
        quota.connected(now)
        place = AdmissionSlot(entry)
        self._places.add(place)
        return place

    def release(self, place: AdmissionSlot) -> None:
        """Release a place; releasing it again does nothing."""
        if place in self._places:
            self._places.remove(place)
            self.sessions.quota(place.entry.name).disconnected()

    async def serve(self, connection: Connection, place: AdmissionSlot) -> None:
        """Serve an admitted connection until it ends."""
        name = place.entry.name
        self._connections[connection] = place.entry
        client: Client | None = None
        try:
            async with asyncio.timeout(HELLO_S):
                hello = codec.from_device(await connection.receive())
            if not isinstance(hello, m.Hello):
                raise ProtocolError(m.CloseCode.ILLEGAL, "The device's first message must be a hello.")  # noqa: TRY301
            client = self.sessions.client(hello, name, self._parts)
            await client.serve(connection, hello)
        except TimeoutError:
            await self._close(connection, ProtocolError(m.CloseCode.SLOW, "The device sent no hello in time."))
        except ProtocolError as error:
            if client:
                self.sessions.forget_broken(client)
            log.warning("the device broke the protocol", extra={"client": name, "code": error.code})
            await self._close(connection, error)
        except Closed:
            pass
        except Exception as error:
            log_unforeseen(log, "cut: a session failed with an error", error, client=name)
            if client:
                self.sessions.forget_broken(client)
            connection.abort()
        finally:
            self._connections.pop(connection, None)
            self.release(place)
            log.info("disconnected", extra={"client": name})

    async def drain(self) -> None:
        """Stop accepting new work, tell the devices, and wait until running work is done or `drain_s` is over."""
        log.info("shutting down", extra={"busy": self.sessions.busy})
        self._leave(self.sessions.offer.resume_for_s)
        deadline = self._loop.time() + self.settings.serve.drain_s
        while self.sessions.busy and not (self.lost or self.hurried) and self._loop.time() < deadline:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)  # time for the last frames
        self.on_drained()

    async def _close(self, connection: Connection, error: ProtocolError) -> None:
        self.metrics.protocol_errors.inc()
        try:
            async with asyncio.timeout(2.0):
                await connection.send(codec.closing(error))
                await connection.close(error.code)
        except (TimeoutError, Closed):
            connection.abort()

    async def _cut_revoked(self) -> None:
        """Forever, cut connections whose token was revoked, and forget their sessions."""
        while True:
            await asyncio.sleep(REVOKED_S)
            try:
                valid = {entry.id for entry in self.tokens.entries()}
            except StoreError:
                continue  # `admit` refuses new connections meanwhile and logs the reason
            for connection, entry in list(self._connections.items()):
                if entry.id not in valid:
                    del self._connections[connection]
                    log.info("cut: its token was revoked", extra={"client": entry.name})
                    self.sessions.forget_connection(connection)
                    connection.abort()

    def _tokens_read(self) -> bool:
        """Return whether the token file can be read."""
        try:
            self.tokens.entries()
        except StoreError:
            return False
        return True

    def _leave(self, resume_for_s: float) -> None:
        """Stop accepting new work, and tell the devices once."""
        if not self.draining:
            self.draining = True
            self.sessions.say(m.Goaway("The server is shutting down.", resume_for_s))

    def _task_ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled():
            self._lose(task.get_name(), task.exception())

    def _generation_lost(self, error: BaseException) -> None:
        """Report the failed generation to the event loop; runs on the generation's thread."""
        with suppress(RuntimeError):  # the loop has already ended
            self._loop.call_soon_threadsafe(self._lose, "the generation", error)

    def _lose(self, part: str, error: BaseException | None) -> None:
        """Record that a required part has failed, and begin to end the service."""
        log_unforeseen(log, f"lost: {part} has ended", error)
        if not self.lost:
            self.lost = part
            self.on_lost()
        self._leave(0.0)  # sessions cannot be resumed after the process ends
        self.ending.set()

    def _refused(self, reason: str, peer: str, refused: AdmissionRefused) -> AdmissionRefused:
        self.metrics.refused.labels(reason).inc()
        log.warning("connection refused", extra={"reason": reason, "peer": peer})
        return refused

    def _deliver(self, events: Sequence[EngineEvent], spent: Mapping[str, int]) -> None:
        """Hand a step's events to the event loop; runs on the generation's thread."""
        with suppress(RuntimeError):  # the loop has already ended
            self._loop.call_soon_threadsafe(self.sessions.written, events, spent)
