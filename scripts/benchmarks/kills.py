"""The server killed (SIGKILL) at 200 random moments of an answer, over 50 ± 10 ms each way: what the reader saw of it.

Server and engine are real processes with the deterministic engine of the tests, so that each answer is known to the
token. Where a buffer was full, no gap may be longer than twice the reader's. The network is the tests' own.
"""

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tests.killing import KINDS, Killed, Pace, kill
from tests.network.line import Conditions

KILLS, QUICK = 200, 24
AWAY = Conditions(0.05, 0.01)
PACE = Pace(server=25.0, device=50.0, reader=10.0, ready_s=0.3)
AT_ONCE = 3


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return figures(list(pool.map(_one, range(QUICK if arguments.quick else KILLS))))


def figures(kills: Sequence[Killed]) -> dict[str, Any]:
    """Of these kills; gaps in ms. `within` are those that kept to twice the reader's gap."""
    reader = 1 / PACE.reader
    found: dict[str, Any] = {
        "kills": len(kills),
        "right": sum(one.right for one in kills),
        "origin": dict(Counter(one.origin for one in kills)),
        "reader_gap_ms": 1000 * reader,
    }
    full = [one for one in kills if one.full]
    calm = [one for one in full if one.stall_s < reader / 2]
    for name, some in (("full", full), ("full_calm", calm), *((kind, _of(kills, kind)) for kind in KINDS)):
        longest = [1000 * one.longest_gap_s for one in some]
        if longest:
            found[name] = {
                "kills": len(some),
                "within": sum(gap <= 2000 * reader for gap in longest),
                "longest_gap_ms": {
                    "p50": float(np.median(longest)),
                    "p99": float(np.quantile(longest, 0.99)),
                    "max": max(longest),
                },
            }
    return found


def _of(kills: Sequence[Killed], kind: str) -> list[Killed]:
    return [one for one in kills if one.kind == kind]


def _one(seed: int) -> Killed:
    with tempfile.TemporaryDirectory() as folder:
        return kill(Path(folder), KINDS[seed % len(KINDS)], random.Random(seed), PACE, AWAY)
