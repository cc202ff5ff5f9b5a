"""A connection that is lost in the middle of an answer and may come back: how long that is waited for, and what the
device does meanwhile. Decisions alone: told what happened and when, it says what is to be done.
"""

from typing import Generic, TypeVar

from device_app.companion.dispatch.events import Command, Doubtful, Ended, Failed, Token
from device_app.companion.dispatch.migration import Migration

T = TypeVar("T")

GRACE_S = 0.25
"""Seconds for which a lost connection may come back where no buffer hides anything."""


class Interruption(Generic[T]):
    """Between an answer's streams and its `migration`. Times are of any one clock, in seconds.

    While the reader has something left to read, the server is waited for as long as the device could still take over
    unseen. Else the device begins at once and is held for the grace: what it then has, it has sooner, and a short cut
    costs a prompt at most.
    """

    def __init__(self, migration: Migration[T]) -> None:
        self.until: float | None = None
        self._migration = migration
        self._held: list[Token[T] | Ended] | None = None

    def receive(self, event: Token[T] | Ended | Failed) -> list[Command]:
        """A stream said something."""
        if isinstance(event, Failed):
            return self._migration.receive(event) + self._release()
        if event.side == "server":
            self.until = self._held = None  # it is there after all
        elif self._held is not None:
            self._held.append(event)
            return []
        return self._migration.receive(event)

    def lost(self, now: float) -> list[Command]:
        """There is no connection; told again at each attempt that fails."""
        if self.until is not None:
            return []
        self.until = now + self._patience()
        if self._migration.buffer.waiting:
            return []
        commands = self.doubted()
        self._held = [] if commands else None
        return commands

    def doubted(self) -> list[Command]:
        """The server may write no more: let the device get ready, if the server is whose answer it is."""
        return self._migration.receive(Doubtful("server", self._migration.epoch))

    def back(self) -> None:
        """There is one again. Where the device is held, only a token of the server's tells that it goes on."""
        if self._held is None:
            self.until = None

    def passed(self, now: float, *, connected: bool) -> list[Command]:
        """Time went on."""
        if self.until is None or now < self.until:
            return []
        self.until = None  # whoever writes: nothing is waited for any more
        lost = self._migration.side == "server" and not connected
        failed = self._migration.receive(Failed("server", self._migration.epoch)) if lost else []
        return failed + self._release()

    def _release(self) -> list[Command]:
        held, self._held = self._held or [], None
        return [command for event in held for command in self._migration.receive(event)]

    def _patience(self) -> float:
        """What the reader has to read, less what the device needs."""
        terms, buffer = self._migration.terms, self._migration.buffer
        if not buffer.waiting:
            return GRACE_S
        return max(buffer.waiting / terms.reading_rate - terms.ready_s("device", terms.prompt + buffer.count), 0.0)
