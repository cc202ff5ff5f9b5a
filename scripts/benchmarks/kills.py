"""The server killed (SIGKILL) at 200 random moments of an answer, over 50 ± 10 ms each way: what the reader saw of it.

Server and engine are real processes with the deterministic engine of the tests, so that each answer is known to the
token. Where a buffer was full, no gap may be longer than twice the reader's. The network is the tests' own. Answers
of which no server is killed, in between, tell what gaps this machine makes by itself.
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

from tests.killing import KINDS, Killed, Kind, Pace, kill
from tests.network.line import Conditions

KILLS, QUICK = 200, 24
AWAY = Conditions(0.05, 0.01)
PACE = Pace(server=25.0, device=50.0, reader=8.0, ready_s=0.3)
AT_ONCE = 4


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures."""
    jobs: list[tuple[int, Kind]] = []
    for seed in range(QUICK if arguments.quick else KILLS):
        jobs.append((seed, KINDS[seed % len(KINDS)]))
        if jobs[-1][1] == "guarded":
            jobs.append((seed, "spared"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return figures(list(pool.map(_one, jobs)))


def figures(answers: Sequence[Killed]) -> dict[str, Any]:
    """Of these answers; gaps in ms. `within` are those that kept to twice the reader's gap.

    `full` were killed with a full buffer; `full_calm` of them while no thread of this process was late by half a gap.
    """
    reader = 1 / PACE.reader
    kills = [one for one in answers if one.kind != "spared"]
    full = [one for one in kills if one.full]
    found: dict[str, Any] = {
        "kills": len(kills),
        "right": sum(one.right for one in kills),
        "origin": dict(Counter(one.origin for one in kills)),
        "reader_gap_ms": 1000 * reader,
    }
    groups = {"full": full, "full_calm": [one for one in full if one.stall_s < reader / 2]}
    for kind in (*KINDS, "spared"):
        groups[kind] = [one for one in answers if one.kind == kind]
    for name, some in groups.items():
        longest = [1000 * one.longest_gap_s for one in some]
        if longest:
            p50, p99 = np.quantile(longest, (0.5, 0.99))
            gaps = {"p50": float(p50), "p99": float(p99), "max": max(longest)}
            within = sum(gap <= 2000 * reader for gap in longest)
            found[name] = {"answers": len(some), "within": within, "longest_gap_ms": gaps}
    return found


def _one(job: tuple[int, Kind]) -> Killed:
    seed, kind = job
    with tempfile.TemporaryDirectory() as folder:
        return kill(Path(folder), kind, random.Random(seed), PACE, AWAY)
