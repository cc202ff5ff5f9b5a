"""The interface of a device's connection, which is implemented with `websockets` and with ASGI."""

from collections.abc import Sequence
from typing import Protocol

from shared.protocol.codec import Frame


class Closed(Exception):
    """Raised when the connection is closed. `sent` is the close code that this side sent, if any."""

    def __init__(self, sent: int | None = None) -> None:
        super().__init__("the connection is closed")
        self.sent = sent


class Connection(Protocol):
    """One device's connection, used on the event loop's thread. The methods raise Closed."""

    async def receive(self) -> Frame:
        """Return the next frame. Raises Closed if either side has closed the connection."""

    async def send(self, frame: Frame) -> None:
        """Write a frame, and wait until the network accepts it."""

    def send_now(self, frames: Sequence[Frame]) -> bool:
        """Write the frames at once if no earlier frame may be queued, and return True; otherwise write nothing and
        return False.
        """

    async def close(self, code: int) -> None:
        """Close the connection with this code."""

    def abort(self) -> None:
        """Cut the connection at once."""
