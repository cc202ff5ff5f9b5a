"""Listening sockets that limit unauthenticated connections, before TLS and before any of their bytes are read.

`asyncio` accepts connections until none waits. When no file descriptor is left, it would retry and log once per waiting
connection before it pauses; these sockets stop it after the first failure.
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
"""The most connections that have not shown a token: in total, enough for all devices to reconnect at once after a
restart; and per address, of those that are silent.
"""

ACCEPTS = 16
"""Connections accepted per turn of the event loop; a burst of connections is accepted in several turns."""

BACKLOG = 4096
"""Connections that the kernel queues until they are accepted, enough for a burst."""

PAUSE_S = 0.5
"""Seconds for which no connection is accepted after the file descriptors ran out."""

_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Arrivals:
    """The connections that have not shown a token yet, by file descriptor. `cut` counts those closed to make room."""

    def __init__(self, most: int, most_each: int) -> None:
        self.cut = 0
        self._gate = Gate(most, most_each)
        self._sockets: dict[int, socket.socket] = {}

    def __len__(self) -> int:
        """Return the number of connections without a token."""
        return len(self._sockets)

    def enter(self, arrived: socket.socket, host: str) -> None:
        """Add a connection that was accepted from a host, and close others if there are too many."""
        number = arrived.fileno()
        self._sockets[number] = arrived
        for going in self._gate.enter(number, household(host), time.monotonic()):
            self.cut += 1
            with suppress(OSError):  # the peer may have closed it already
                self._sockets.pop(going).shutdown(socket.SHUT_RDWR)  # its owner sees the end, and closes it

    def leave(self, number: int) -> None:
        """Remove a connection that has shown a token or is closed; an unknown connection is ignored."""
        self._gate.leave(number)
        self._sockets.pop(number, None)


class _Accepted(socket.socket):
    """The socket of an accepted connection; closing it also removes the connection from the arrivals."""

    arrivals: Arrivals

    def close(self) -> None:
        """Close the connection and remove it from the arrivals."""
        self.arrivals.leave(self.fileno())
        super().close()


class Listener(socket.socket):
    """A listening socket that records accepted connections as arrivals."""

    arrivals: Arrivals
    _paused_until = 0.0

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its address.

        Raises BlockingIOError if no connection waits. If no descriptor is left, raises OSError once, then
        BlockingIOError.
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
    """Return sockets bound to each address of the host at one port; port 0 takes a free port. Raises OSError."""
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
