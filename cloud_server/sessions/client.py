"""The server's side of one device's session. The device's connection may come and go while its requests continue.

Runs on the event loop's thread. For each token of an answer, one frame is sent; the generation thread calls once for
all answers of a step.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence

from cloud_server.access.quota import Quota
from cloud_server.monitoring.unforeseen import log_unforeseen
from cloud_server.sessions.connection import Closed, Connection
from cloud_server.sessions.requests import Keys, Requests
from cloud_server.sessions.services import RequestServices
from shared.errors import ProtocolError
from shared.protocol import messages as m
from shared.protocol.codec import Frame
from shared.protocol.server import ServerSession

SEND_S = 2.0
"""Seconds after which a connection is cut because a frame cannot be sent, or a batch of events is not acknowledged. A
device that reads takes milliseconds.
"""

GONE_S = 60.0
"""Seconds without a message after which a device counts as disconnected. Devices send one at least every 20 seconds."""

MOST_UNHEARD = 40
"""With this many unacknowledged events, the device has to acknowledge within SEND_S. A device normally acknowledges
after every 32 events.
"""

MOST_WAITING_BYTES = 2 << 20
"""Bytes of queued frames beyond which the device counts as not reading. All frames that it may leave unacknowledged
take less.
"""

FRAME_BYTES = 64
"""Memory overhead of a frame, in bytes."""

MOST_AT_ONCE = 32
"""Messages of one device processed per turn of the event loop."""

log = logging.getLogger(__name__)


class Client:
    """One device's session. `name` is the token's name, which logs may show; they never show the session's id."""

    def __init__(self, session: ServerSession, name: str, parts: RequestServices, keys: Keys, quota: Quota) -> None:
        self.session = session
        self.name = name
        self.connection: Connection | None = None
        self.cut_at: float | None = None
        self.requests = Requests(session, name, parts, keys, quota, lambda event: self._out(session.send(event)))
        self._metrics = parts.metrics
        self._frames: deque[Frame] = deque()
        self._waiting_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._unheard_since: float | None = None
        self._heard_at = 0.0

    async def serve(self, connection: Connection, hello: m.Hello) -> None:
        """Serve the session on a connection until the connection ends.

        Raises ProtocolError if the device broke the protocol: the caller closes the connection and forgets the session.
        """
        self.leave_connection()
        frames = self.session.accept(hello)
        resumed = hello.resume is not None and hello.resume.session == self.session.id
        log.info("connected", extra={"client": self.name, "resumed": resumed})
        self.connection, self.cut_at, self._heard_at = connection, None, time.monotonic()
        self._out(frames)
        self.requests.flush()
        taken = 0
        try:
            while True:
                frame = await connection.receive()  # returns at once if a frame is already here
                taken += 1
                if taken % MOST_AT_ONCE == 0:
                    await asyncio.sleep(0)
                self._heard_at = time.monotonic()
                received = self.session.receive(frame)
                self._out(received.frames)
                for message in received.events:
                    if isinstance(message, m.Acknowledge):
                        self._unheard_since = None
                    self.requests.handle(message)
                if self._waiting_bytes > MOST_WAITING_BYTES:
                    self._cut_slow(connection)
                    return
                if self.connection is not connection:  # the device reconnected meanwhile
                    return
        except ProtocolError:
            self.connection = None  # left open, so that the caller can send the reason
            raise
        except Closed as closed:
            if closed.sent == m.CloseCode.TOO_LARGE:
                raise ProtocolError(m.CloseCode.TOO_LARGE, "A frame from the device was too large.") from None
        finally:
            if self.connection is connection:
                self.leave_connection()

    def leave_connection(self) -> None:
        """Detach the connection; the device may reconnect and resume the session."""
        if self.connection is not None:
            self.connection.abort()
        self.connection, self.cut_at = None, time.monotonic()
        self._frames.clear()
        self._waiting_bytes = 0
        self._unheard_since = None
        self.session.cut()

    def say(self, message: m.Goaway | m.Closing) -> None:
        """Send the message if the device is connected."""
        self._out(self.session.send(message))

    def cut_if_slow(self, now: float) -> None:
        """Cut the connection if the device is silent or has left events unacknowledged for too long. End joint answers
        whose device sends nothing for too long.
        """
        self.requests.look(now, self.cut_at)
        if self.connection and now - self._heard_at > GONE_S:
            log.info("cut: the device sent nothing for too long", extra={"client": self.name})
            self.connection.abort()
        elif self.connection is None or self.session.kept[0] < MOST_UNHEARD:
            self._unheard_since = None
        elif self._unheard_since is None:
            self._unheard_since = now
        elif now - self._unheard_since > SEND_S:
            self._cut_slow(self.connection)

    def end(self) -> None:
        """End the session and all its requests."""
        self.requests.end()
        self.leave_connection()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return len(self.requests) > 0

    def _out(self, frames: Sequence[Frame]) -> None:
        if self.connection is None:
            return
        if self._writer is None and frames and self.connection.send_now(frames):
            return
        self._frames.extend(frames)
        self._waiting_bytes += sum(map(_size, frames))
        if self._frames and self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write(self.connection))

    async def _write(self, connection: Connection) -> None:
        try:
            while self._frames and self.connection is connection:
                frame = self._frames.popleft()
                self._waiting_bytes -= _size(frame)
                async with asyncio.timeout(SEND_S):
                    await connection.send(frame)
        except TimeoutError:
            self._cut_slow(connection)
        except Closed:
            pass
        except Exception as error:
            log_unforeseen(log, "cut: sending to the device failed", error, client=self.name)
            connection.abort()
        finally:
            self._writer = None
            if self._frames and self.connection is not None and self.connection is not connection:
                self._out(())

    def _cut_slow(self, connection: Connection) -> None:
        log.warning("cut: the device does not read", extra={"client": self.name})
        self._metrics.cut_slow.inc()
        connection.abort()


def _size(frame: Frame) -> int:
    return len(frame) + FRAME_BYTES
