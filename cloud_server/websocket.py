"""A connection of `websockets`: its errors turned into ours, and no layer more. Implements `Connection`."""

from collections.abc import Sequence

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import OPEN

from cloud_server.connection import Closed
from shared.protocol.codec import Frame


class Socket:
    """What a device is connected with."""

    __slots__ = ("_socket",)

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket

    async def receive(self) -> Frame:
        """The next frame. Raises Closed."""
        try:
            return await self._socket.recv()
        except ConnectionClosed as closed:
            raise _closed(closed) from None

    async def send(self, frame: Frame) -> None:
        """Write a frame, and wait while the network does not take it. Raises Closed."""
        try:
            await self._socket.send(frame)
        except ConnectionClosed as closed:
            raise _closed(closed) from None

    def send_now(self, frames: Sequence[Frame]) -> bool:
        """Write the frames where nothing waits before them: for one token, a task of its own costs more."""
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
        """Say goodbye."""
        await self._socket.close(code)

    def abort(self) -> None:
        """Cut it at once."""
        self._socket.transport.abort()


def _closed(closed: ConnectionClosed) -> Closed:
    return Closed(closed.sent.code if closed.sent else None)
