"""What a session asks of a connection: WebSockets of `websockets` here, or of an ASGI server. Knows neither."""

from collections.abc import Sequence
from typing import Protocol

from shared.protocol.codec import Frame


class Closed(Exception):
    """The connection is no more. `sent` is the code that it was closed with from here, where it was."""

    def __init__(self, sent: int | None = None) -> None:
        super().__init__("the connection is closed")
        self.sent = sent


class Connection(Protocol):
    """One device's. Its calls are made on the event loop's thread; they raise Closed."""

    async def receive(self) -> Frame:
        """The next frame. Closed also where the device said goodbye."""

    async def send(self, frame: Frame) -> None:
        """Write a frame, and wait while the network does not take it."""

    def send_now(self, frames: Sequence[Frame]) -> bool:
        """Write the frames where nothing waits before them; False, and none is written, where something may."""

    async def close(self, code: int) -> None:
        """Say goodbye."""

    def abort(self) -> None:
        """Cut it at once."""
