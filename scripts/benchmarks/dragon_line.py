"""Simulated network lines to local ports: TCP with delay in both directions, in order, throttled and counted.

They run in a process of their own, so that their cost falls on neither side. The TCP handshake is not delayed.
"""

import os
import random
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import SynchronizedArray
from queue import SimpleQueue
from signal import SIG_IGN, SIGINT, signal
from typing import Final, Self

JITTER: Final = 0.2
"""The jitter of the delay, relative to the delay and uniformly distributed."""

BYTES_PER_S: Final = 12.5e6
"""The bandwidth in each direction, in bytes a second: the paper's 100 Mbit/s."""

_CHUNK: Final = 64 * 1024
_SPAWN = get_context("spawn")


@dataclass(frozen=True, slots=True)
class Way:
    """A line to a port, with an added round-trip time in seconds."""

    target: int
    extra_rtt_s: float


class Lines:
    """Simulated lines within a `with` block: each forwards a local port, listed in `ports`."""

    def __init__(self, ways: Sequence[Way], cores: Sequence[int]) -> None:
        self._counts: SynchronizedArray[int] = _SPAWN.Array("q", 2 * len(ways))
        self._delays: SynchronizedArray[float] = _SPAWN.Array("d", [way.extra_rtt_s / 2 for way in ways])
        self._receiver, sender = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=_forward, args=(ways, cores, self._counts, self._delays, sender), daemon=True
        )

    def __enter__(self) -> Self:
        self._process.start()
        self.ports: list[int] = self._receiver.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def carried(self, way: int) -> tuple[int, int]:
        """Return the number of bytes that a line has received so far, from the device and from the server."""
        return self._counts[2 * way], self._counts[2 * way + 1]

    def delay(self, way: int, extra_rtt_s: float) -> None:
        """Set the line's added round-trip time from now on."""
        self._delays[way] = extra_rtt_s / 2


def _forward(
    ways: Sequence[Way],
    cores: Sequence[int],
    counts: "SynchronizedArray[int]",
    delays: "SynchronizedArray[float]",
    sender: Connection,
) -> None:
    signal(SIGINT, SIG_IGN)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    ports = []
    for number, way in enumerate(ways):
        listening = socket.create_server(("127.0.0.1", 0))
        ports.append(listening.getsockname()[1])
        threading.Thread(target=_accept, args=(listening, way, number, counts, delays), daemon=True).start()
    sender.send(ports)
    threading.Event().wait()


def _accept(
    listening: socket.socket,
    way: Way,
    number: int,
    counts: "SynchronizedArray[int]",
    delays: "SynchronizedArray[float]",
) -> None:
    while True:
        device, _ = listening.accept()
        server = socket.create_connection(("127.0.0.1", way.target))
        for place, (source, sink) in enumerate(((device, server), (server, device))):
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            under_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
            read = (source, under_way, delays, counts, 2 * number + place)
            threading.Thread(target=_take_in, args=read, daemon=True).start()
            threading.Thread(target=_hand_out, args=(sink, under_way), daemon=True).start()


def _take_in(
    source: socket.socket,
    under_way: "SimpleQueue[tuple[float, bytes]]",
    delays: "SynchronizedArray[float]",
    counts: "SynchronizedArray[int]",
    place: int,
) -> None:
    free = last = 0.0
    while True:
        try:
            data = source.recv(_CHUNK)
        except OSError:
            data = b""
        with counts.get_lock():
            counts[place] += len(data)
        free = max(time.monotonic(), free) + len(data) / BYTES_PER_S
        last = max(last, free + delays[place // 2] * (1 + random.uniform(-JITTER, JITTER)))
        under_way.put((last, data))
        if not data:
            return


def _hand_out(sink: socket.socket, under_way: "SimpleQueue[tuple[float, bytes]]") -> None:
    with suppress(OSError):
        while True:
            due, data = under_way.get()
            if (left := due - time.monotonic()) > 0:
                time.sleep(left)
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            sink.sendall(data)
