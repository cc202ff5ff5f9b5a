"""Decides how long to wait for a connection lost in the middle of an answer, and what the device does meanwhile.

Pure: takes events and times, returns commands.
"""

from typing import Generic, TypeVar

from device_app.companion.dispatch.events import Command, Doubtful, Ended, Failed, Token
from device_app.companion.dispatch.migration import Migration

T = TypeVar("T")

GRACE_S = 0.25
"""Seconds to wait for a lost connection if the buffer is empty."""


class Interruption(Generic[T]):
    """A filter between an answer's streams and its `migration`. Times are seconds of any one clock.

    `until` is the time at which the wait for a lost connection ends; None if no connection is waited for.

    While the buffer has tokens for the reader, the server is waited for as long as the device could still take over
    unnoticed. With an empty buffer, the device begins at once, but its tokens are held back for `GRACE_S`, so that a
    short loss of the connection costs one prompt at most.
    """

    def __init__(self, migration: Migration[T]) -> None:
        self.until: float | None = None
        self._migration = migration
        self._held: list[Token[T] | Ended] | None = None

    def receive(self, event: Token[T] | Ended | Failed) -> list[Command]:
        """Handle an event of a side's stream; return the commands that follow."""
        if isinstance(event, Failed):
            return self._migration.receive(event) + self._release()
        if event.side == "server":
            self.until = self._held = None  # the server is back
        elif self._held is not None:
            self._held.append(event)
            return []
        return self._migration.receive(event)

    def lost(self, now: float) -> list[Command]:
        """Handle the loss of the connection. It is called again after each failed attempt to reconnect."""
        if self.until is not None:
            return []
        self.until = now + self._patience()
        if self._migration.buffer.waiting:
            return []
        commands = self.doubted()
        self._held = [] if commands else None
        return commands

    def doubted(self) -> list[Command]:
        """Start the device in reserve if the server is writing the answer and may have stopped."""
        return self._migration.receive(Doubtful("server", self._migration.epoch))

    def back(self) -> None:
        """Handle the return of the connection.

        While the device's tokens are held back, only a token of the server proves that the server continues.
        """
        if self._held is None:
            self.until = None

    def passed(self, now: float, *, connected: bool) -> list[Command]:
        """Process the time `now`: once the time limit is over, a server without a connection counts as failed."""
        if self.until is None or now < self.until:
            return []
        self.until = None  # the wait is over, whichever side writes
        lost = self._migration.side == "server" and not connected
        failed = self._migration.receive(Failed("server", self._migration.epoch)) if lost else []
        return failed + self._release()

    def _release(self) -> list[Command]:
        held, self._held = self._held or [], None
        return [command for event in held for command in self._migration.receive(event)]

    def _patience(self) -> float:
        """Return the seconds of text that the reader has left, less the seconds that the device needs to start."""
        terms, buffer = self._migration.terms, self._migration.buffer
        if not buffer.waiting:
            return GRACE_S
        return max(buffer.waiting / terms.reading_rate - terms.ready_s("device", terms.prompt + buffer.count), 0.0)
