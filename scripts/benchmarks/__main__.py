"""Runs one benchmark by name and prints its figures; each lives in a module of this folder.

With --json the last line of stdout is one object {"name", "figures", "settings"}. Exit code 1: a bar was missed,
3: it cannot run here.
"""

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from scripts.places import CannotRun

BENCHMARKS = {
    "attacks": "what one token can take from others: an honest device's first token, the server's memory and log",
    "app": "the terminal app: how soon it is there, echo of keys, freezes, search in a long history, memory",
    "answers": "how well and fast the model answers, by number of passages and arrangement",
    "beyond": "whether it is known that a question asks for more than the files hold",
    "device": "time to first token, prefill and decode speed, memory, start-up",
    "disco": "which side starts an answer and whether it moves: first tokens, money, the reader's gaps, replayed",
    "dovetail": "answers drafted from what was read, against none, on targets of several sizes: speed, the same text",
    "dragon": "one answer written by two sides, against one side and the paper's ways; perplexity, the scheduler",
    "everyday": "everyday questions by rules and by the model; how many rules take, rightly and by mistake",
    "handover": "the quality of answers that a better and a worse model write together, one after the other",
    "index": "the server's index: built, searched and its memory over three decades of passages; real ones found",
    "intents": "which requests are taken to need no file",
    "kills": "processes killed at random moments: the server in an answer, work ahead, reading; what is lost",
    "percache": "the caches against their baselines, replaying users' questions; the guard, the schedule, eviction",
    "priced": "the caches over all of a user's questions, PerCache as published among them, priced by measured costs",
    "predict": "which questions find an answer that was predicted: by the paper's prompts, by rules, by the questioner",
    "reveals": "what of private passages could be read in what went up for answers written together",
    "reuse": "kept states used exactly, blended into any prompt, in rows, or as a forecast chooses",
    "server": "the companion server: cost of a token, memory of a device, many streams from one engine, the queue",
    "states": "the server's first token from passages whose states were computed ahead and are on disk, against none",
    "telerag": "search in an index larger than memory: clusters read on demand, and ahead of rewritten questions",
    "typing": "reading while a question is typed: the first token, keys, passages read in vain, with it and without",
    "search": "jackdaw search: the time of a key, recall with and without wrong letters, from a shell",
    "retrieval": "recall, query latency over three decades of passages, ingestion speed",
}
MODULES = {
    "handover": "disco_quality",
    "predict": "percache_predict",
    "priced": "percache_priced",
    "reuse": "percache_reuse",
    "states": "server_states",
}
CANNOT_RUN = 3


def main() -> int:
    """Run the command line."""
    listed = "\n".join(f"  {name:<12}{what}" for name, what in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        epilog=f"Benchmarks:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=sorted(BENCHMARKS), metavar="NAME")
    parser.add_argument("--data", type=Path, help="folder of evaluation data")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object as the last line")
    parser.add_argument("--quick", action="store_true", help="fewer questions and sizes, to try the benchmark out")
    parser.add_argument("--adapter", type=Path, metavar="FILE", help="answers, percache, predict: measure this adapter")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="percache: draw its figures into an SVG file")
    parser.add_argument("--runs", type=_positive, metavar="N", help="kills: how many servers (default: 200)")
    parser.add_argument(
        "--passages", type=_positive, metavar="N", help="search: passages of its store (default: 100,000)"
    )
    parser.add_argument("--targets", metavar="A,B", help="dovetail: only these, such as 135m-q8_0,1.7b-q4_0")
    parser.add_argument("--threads", type=int, default=min(4, _cores()), help="threads (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.data and not arguments.data.is_dir():
        parser.error(f"there is no folder {arguments.data}")
    benchmark = importlib.import_module(f"scripts.benchmarks.{MODULES.get(arguments.name, arguments.name)}")
    try:
        figures: dict[str, Any] = benchmark.run(arguments)
    except CannotRun as reason:
        print(f"{arguments.name} cannot run: {reason}", file=sys.stderr)
        return CANNOT_RUN
    for key, value in _flat(figures):
        print(f"{key:<48}{value}", file=sys.stderr if arguments.as_json else sys.stdout)
    if arguments.as_json:
        settings = {
            "data": arguments.data and str(arguments.data),
            "threads": arguments.threads,
            "cores": _cores(),
            "load": os.getloadavg()[0],
            "machine": platform.machine(),
            "python": platform.python_version(),
            "quick": arguments.quick,
            "adapter": arguments.adapter and arguments.adapter.name,
        }
        print(json.dumps({"name": arguments.name, "figures": figures, "settings": settings}))
    return 1 if figures.get("missed") else 0


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _flat(figures: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in figures.items():
        rows += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return rows


if __name__ == "__main__":
    sys.exit(main())
