"""The process that connects two network namespaces: takes packets from one's tunnel and puts them into the other's when
they are due.

It is started by `namespaces`, with the tunnels' descriptors, and ends with the process that started it.
"""

import heapq
import os
import random
import select
import sys
import time
from contextlib import suppress

import msgspec

from tests.network.line import Conditions, Line

_LARGEST = 65_536


def main() -> None:
    """Forward until stdin is closed."""
    device, server = int(sys.argv[1]), int(sys.argv[2])
    up, down = msgspec.json.decode(sys.argv[3], type=tuple[Conditions, Conditions])
    lines = {device: (Line(up, random.Random(1)), server), server: (Line(down, random.Random(2)), device)}
    for tunnel in lines:
        os.set_blocking(tunnel, False)
    under_way: list[tuple[float, int, int, bytes]] = []
    number = 0
    os.write(1, b".")
    while True:
        wait = max(under_way[0][0] - time.monotonic(), 0.0) if under_way else None
        readable = select.select([0, *lines], [], [], wait)[0]
        if 0 in readable:
            return
        now = time.monotonic()
        for tunnel in readable:
            line, other = lines[tunnel]
            with suppress(BlockingIOError):
                while packet := os.read(tunnel, _LARGEST):
                    if not line.loses():
                        number += 1
                        heapq.heappush(under_way, (line.due(now, len(packet)), number, other, packet))
        while under_way and under_way[0][0] <= now:
            _, _, other, packet = heapq.heappop(under_way)
            with suppress(BlockingIOError):  # a full queue drops what it cannot take
                os.write(other, packet)


if __name__ == "__main__":
    main()
