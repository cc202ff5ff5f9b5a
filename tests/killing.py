"""Kills a server in the middle of an answer, over a simulated network, and records what the reader sees.

The server is a real process with the fake engine, so that every token that it should have generated is known.
"""

import random
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Literal, Self

from device_app.companion.dispatch.token_buffer import needed
from tests.companion import Slow
from tests.companion_process import CompanionProcess
from tests.network.line import Conditions
from tests.network.proxy import Proxy
from tests.racing import DEAR_SERVER, EVEN, TEXT, Raced, linked, terms

Kind = Literal["plain", "moving", "guarded", "spared"]
KINDS: tuple[Kind, ...] = ("plain", "moving", "guarded")
"""The kinds of answers: shown as it comes; migrating to the device; shown from a buffer that hides the server's death.

A fourth kind, "spared", is "guarded" without a kill: its delays are caused by the machine alone.
"""


@dataclass(frozen=True, slots=True)
class Pace:
    """The rates of server, device and reader in tokens a second, and the seconds (`ready_s`) until the device is
    reported ready to take over.
    """

    server: float
    device: float
    reader: float
    ready_s: float


@dataclass(frozen=True, slots=True)
class Killed:
    """What the reader saw of an answer whose server was killed. `at_s` is the time of the kill after the first token
    shown; `full`: the buffer held enough tokens to hide a hand-over; `longest_gap_s` is the longest time between two
    tokens shown.

    `stall_s` is the longest delay with which this machine woke a sleeping thread meanwhile, which no product code can
    avoid.
    """

    kind: Kind
    at_s: float
    right: bool
    origin: str
    full: bool
    longest_gap_s: float
    moved_at: int | None
    stall_s: float


class _Stalls:
    """Measures the longest delay with which a thread of this process is woken."""

    worst_s = 0.0

    def __enter__(self) -> Self:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sleep, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sleep(self) -> None:
        while not self._over.is_set():
            before = time.monotonic()
            time.sleep(0.005)
            self.worst_s = max(self.worst_s, time.monotonic() - before - 0.005)


def kill(folder: Path, kind: Kind, chance: random.Random, pace: Pace, way: Conditions) -> Killed:
    """Generate one answer, and kill the server with SIGKILL at a random moment of it."""
    process = CompanionProcess(folder, 1 / pace.server)
    conditions = terms(
        DEAR_SERVER if kind == "moving" else EVEN,
        pace.reader,
        pace.ready_s,
        pace.server,
        guarded=kind in ("guarded", "spared"),
    )
    at_s = chance.uniform(0.0, len(TEXT) / pace.server)
    waiting: list[int] = []

    def end(raced: Raced) -> None:
        waiting.append(raced.waiting)
        process.kill()

    def begin(raced: Raced) -> None:
        if len(raced.at) == 1 and kind != "spared":
            Timer(at_s, end, (raced,)).start()

    proxy = Proxy(process.port, way, seed=chance.randrange(1 << 30))
    with proxy, linked(f"ws://127.0.0.1:{proxy.port}/", process.token()) as link:
        assert link.wait(30).connected, link.state
        with _Stalls() as stalls:
            raced = Raced(link, conditions=conditions, engine=Slow(1 / pace.device), acting=begin)
    process.kill()
    process.ended()
    moved_at = raced.report.moves[-1][0] if raced.report.moves else None
    return Killed(
        kind,
        at_s,
        raced.text == TEXT and len(raced.at) == len(TEXT),
        raced.report.origin,
        bool(waiting) and waiting[0] >= needed(pace.reader, pace.ready_s),
        max(raced.gaps),
        moved_at,
        stalls.worst_s,
    )
