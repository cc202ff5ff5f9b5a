"""A connection of the library `websockets` with bounded buffers and rates, which raises the project's errors.
Implements `Connection`.
"""

import logging
from collections.abc import Sequence
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import OPEN, Event

from cloud_server.access.rate_limit import Bucket, Rate
from cloud_server.sessions.connection import Closed
from shared.protocol.codec import Frame
from shared.protocol.messages import MOST_FRAME_BYTES

MOST_UNSENT_BYTES = 2 * MOST_FRAME_BYTES
"""The most unsent bytes per connection: one frame, and the answers to pings after it."""

FRAMES = Rate(per_minute=60_000, burst=4_000)
"""The rate limit of the frames that one connection may send, including pings. A joint answer takes about fifty a
second.
"""

_PART = 16 * 1024
"""Bytes processed at a time; once a limit is exceeded, the following bytes are not processed."""

log = logging.getLogger(__name__)


class BoundedConnection(ServerConnection):
    """A connection that is cut if its device sends too much or leaves too much unread."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._frames = Bucket.full(FRAMES, self.loop.time())
        self._came = 0

    def data_received(self, data: bytes) -> None:
        """Process received bytes, and answer pings; cut the connection if it exceeds a limit."""
        for start in range(0, len(data), _PART):
            super().data_received(data[start : start + _PART] if len(data) > _PART else data)
            self._frames, self._came = self._frames.used(self.loop.time(), self._came), 0
            if self._frames.left < 0:
                self._cut("the device sends too much")
            elif self.transport.get_write_buffer_size() > MOST_UNSENT_BYTES:
                self._cut("the device does not read")
            if self.transport.is_closing():
                return

    def process_event(self, event: Event) -> None:
        """Count and process a received frame."""
        self._came += 1
        super().process_event(event)

    def _cut(self, why: str) -> None:
        if not self.transport.is_closing():
            log.warning("cut: %s", why, extra={"peer": self.remote_address[0]})
            self.transport.abort()


class Socket:
    """A device's WebSocket connection, as the session uses it."""

    __slots__ = ("_socket",)

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket

    async def receive(self) -> Frame:
        """Return the next frame. Raises Closed."""
        try:
            return await self._socket.recv()
        except ConnectionClosed as closed:
            raise _closed(closed) from None

    async def send(self, frame: Frame) -> None:
        """Write a frame, and wait until the network accepts it. Raises Closed."""
        try:
            await self._socket.send(frame)
        except ConnectionClosed as closed:
            raise _closed(closed) from None

    def send_now(self, frames: Sequence[Frame]) -> bool:
        """Write the frames at once if no earlier frame is queued; return whether they were written.

        Writing directly is cheaper than starting a task for each token.
        """
        protocol, transport = self._socket.protocol, self._socket.transport
        if protocol.state is not OPEN or transport.is_closing() or transport.get_write_buffer_size():
            return False
        for frame in frames:
            if isinstance(frame, bytes):
                protocol.send_binary(frame)
            else:
                protocol.send_text(frame.encode())
        transport.write(b"".join(protocol.data_to_send()))
        return True

    async def close(self, code: int) -> None:
        """Close the connection with this code."""
        await self._socket.close(code)

    def abort(self) -> None:
        """Cut the connection at once."""
        self._socket.transport.abort()


def _closed(closed: ConnectionClosed) -> Closed:
    return Closed(closed.sent.code if closed.sent else None)
