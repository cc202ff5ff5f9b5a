"""Listening sockets that keep strangers within bounds, before TLS and before any byte of theirs is read.

`asyncio` calls `accept` until nobody waits. Here it ends earlier where the process has no descriptor left: `asyncio`
then pauses for a second, but would try as often as its backlog is long, and log each time.
"""

import errno
import os
import socket
import sys
import time
from contextlib import suppress
from typing import Any

from cloud_server.serving.gate import Gate, household

MOST_ARRIVING, MOST_ARRIVING_EACH = 2_048, 128
"""Connections that have not shown a token yet: in all, as many as devices come back at once after a server was started
again; and silent ones of one address.
"""

ACCEPTS = 16
"""Connections that are accepted in one turn of the event loop: a burst is answered as it comes in."""

BACKLOG = 4096
"""Connections the kernel holds until they are accepted: a burst of them is no fault."""

PAUSE_S = 0.5
"""Seconds without an attempt once no descriptor was left."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Arrivals:
    """The connections that have not shown a token yet, by descriptor. `cut` counts those that had to go for others."""

    def __init__(self, most: int, most_each: int) -> None:
        self.cut = 0
        self._gate = Gate(most, most_each)
        self._sockets: dict[int, socket.socket] = {}

    def __len__(self) -> int:
        """How many."""
        return len(self._sockets)

    def enter(self, arrived: socket.socket, host: str) -> None:
        """One was accepted from a host."""
        number = arrived.fileno()
        self._sockets[number] = arrived
        for going in self._gate.enter(number, household(host), time.monotonic()):
            self.cut += 1
            with suppress(OSError):  # the peer may have gone first
                self._sockets.pop(going).shutdown(socket.SHUT_RDWR)  # its owner sees the end, and closes it

    def leave(self, number: int) -> None:
        """It has shown a token, or is closed; again is nothing."""
        self._gate.leave(number)
        self._sockets.pop(number, None)


class _Accepted(socket.socket):
    """A connection that is no arrival any more once it is closed."""

    arrivals: Arrivals

    def close(self) -> None:
        """Close it."""
        self.arrivals.leave(self.fileno())
        super().close()


class Listener(socket.socket):
    """A listening socket whose connections are counted as arrivals."""

    arrivals: Arrivals
    _paused_until = 0.0

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection and its address.

        Raises BlockingIOError where none waits, OSError where no descriptor is left: once, then BlockingIOError.
        """
        if time.monotonic() < self._paused_until:
            raise BlockingIOError
        try:
            connected, address = super().accept()
        except OSError as error:
            if error.errno in _EXHAUSTED:
                self._paused_until = time.monotonic() + PAUSE_S
            raise
        accepted = _Accepted(self.family, self.type, self.proto, fileno=connected.detach())
        accepted.arrivals = self.arrivals
        self.arrivals.enter(accepted, address[0])
        return accepted, address


def listeners(host: str, port: int, arrivals: Arrivals) -> list[Listener]:
    """Sockets bound to each address of the host, at one port; 0 takes a free one. Raises OSError."""
    bound: list[Listener] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ):
            listener = Listener(family, kind, protocol)
            listener.arrivals = arrivals
            bound.append(listener)
            taken = bound[0].getsockname()[1] if len(bound) > 1 else port
            _bind(listener, (address[0], taken, *address[2:]))
    except OSError:
        for listener in bound:
            listener.close()
        raise
    return bound


def _bind(listener: socket.socket, address: tuple[Any, ...]) -> None:
    if os.name == "posix" and sys.platform != "cygwin":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if listener.family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listener.bind(address)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise OSError(error.errno, f"error while attempting to bind on address {address!r}: {why}") from None
