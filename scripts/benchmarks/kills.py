"""Kills processes (SIGKILL) at random times, and measures what the reader would notice and what is lost.

`server`: the server is killed during an answer; its round trip is 50 ± 10 ms. Server and engine are real processes with
the deterministic engine of the tests, so that each answer is known token by token. If the device had a full buffer of
tokens, no gap may be longer than twice the reader's time per token. The network is the tests' simulated one. Answers
without a killed server, in between, show the machine's own gaps.

`caches`: devices with fake models are killed one after another during idle work, in one home.

`reading`: `jackdaw ask` is killed while it reads a changed file; the next run has to answer from the file's current
content.
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

from scripts.places import step, weights
from tests import killing_caches
from tests.jackdaw_process import home
from tests.killing import KINDS, Killed, Kind, Pace, kill
from tests.network.line import Conditions

KILLS, QUICK = 200, 24
"""The number of killed servers, by default and with --quick. Half as many devices are killed during idle work, and a
tenth as many processes that read a file.
"""

AWAY = Conditions(0.05, 0.01)
PACE = Pace(server=25.0, device=50.0, reader=8.0, ready_s=0.3)
AT_ONCE = 4
QUESTION = "When is the dentist?"
LONGEST_S = 1.5
"""The longest lifetime of a reading process, in seconds: about the time that its answer takes."""


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return {server, caches, reading}; `missed` is true if something was lost."""
    kills = arguments.runs or (QUICK if arguments.quick else KILLS)
    folder = weights("smollm2-135m", "all-minilm-l6-v2").folder
    figures = {"server": server(kills), "caches": caches(-(-kills // 2)), "reading": reading(-(-kills // 10), folder)}
    whole = figures["server"]["right"] == kills and figures["reading"]["current"] == figures["reading"]["kills"]
    return figures | {"missed": not whole or figures["caches"]["lost"] + figures["caches"]["problems"] > 0}


def server(kills: int) -> dict[str, Any]:
    """Return the figures of answers during which the server is killed."""
    jobs: list[tuple[int, Kind]] = []
    for seed in range(kills):
        jobs.append((seed, KINDS[seed % len(KINDS)]))
        if jobs[-1][1] == "guarded":
            jobs.append((seed, "spared"))
    step(f"killing {kills} servers")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return server_figures(list(pool.map(_killed, jobs)))


def server_figures(answers: Sequence[Killed]) -> dict[str, Any]:
    """Return the figures of the given answers; gaps in ms. `within` counts answers without a gap longer than twice the
    time that the reader takes for a token.

    `full` is for answers killed with a full buffer; `full_calm` for those of them during which no thread of this
    process stalled for half of the reader's time per token.
    """
    reader = 1 / PACE.reader
    kills = [answer for answer in answers if answer.kind != "spared"]
    full = [answer for answer in kills if answer.full]
    figures: dict[str, Any] = {
        "kills": len(kills),
        "right": sum(answer.right for answer in kills),
        "origin": dict(Counter(answer.origin for answer in kills)),
        "reader_gap_ms": 1000 * reader,
    }
    groups = {"full": full, "full_calm": [answer for answer in full if answer.stall_s < reader / 2]}
    for kind in (*KINDS, "spared"):
        groups[kind] = [answer for answer in answers if answer.kind == kind]
    for name, group in groups.items():
        longest = [1000 * answer.longest_gap_s for answer in group]
        if longest:
            p50, p99 = np.quantile(longest, (0.5, 0.99))
            gaps = {"p50": float(p50), "p99": float(p99), "max": max(longest)}
            within = sum(gap <= 2000 * reader for gap in longest)
            figures[name] = {"answers": len(group), "within": within, "longest_gap_ms": gaps}
    return figures


def _killed(job: tuple[int, Kind]) -> Killed:
    seed, kind = job
    with tempfile.TemporaryDirectory() as folder:
        return kill(Path(folder), kind, random.Random(seed), PACE, AWAY)


def caches(kills: int) -> dict[str, Any]:
    """Return how many answers were announced as stored, how many of those are lost, and the problems found in the
    stores.
    """
    step(f"killing {kills} devices that work ahead")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        killing_caches.read_notes(folder)
        killing_caches.run("kill", folder, kills)
        parts = killing_caches.home(folder)
        return {
            "kills": kills,
            "answers": len(killing_caches.announced(folder)),
            "lost": len(killing_caches.lost(folder, parts)),
            "slices": killing_caches.join_all(parts.tree),
            "problems": len(parts.database.problems()) + parts.bank.counters.all().get("kv_damaged", 0),
        }


def reading(kills: int, folder: Path) -> dict[str, Any]:
    """Return the number of killed processes that were reading a file, and for how many of them the next answer used the
    file's current content.
    """
    chance, current = random.Random(0), 0
    with tempfile.TemporaryDirectory() as place:
        note = Path(place) / "notes" / "dentist.md"
        note.parent.mkdir()
        person = home(Path(place) / "home", folder)
        for number in range(kills):
            step(f"killing reader {number + 1} of {kills}")
            note.write_text(f"# Dentist\n\nThe dentist is on {number + 1} March at nine.\n")
            if not number:
                person.json("add", str(note.parent))
            person.kill(chance.uniform(0.0, LONGEST_S), "ask", QUESTION)
            sources = person.json("ask", QUESTION, code=None)["sources"]
            current += any(f"on {number + 1} March" in source["snippet"] for source in sources)
    return {"kills": kills, "current": current}
