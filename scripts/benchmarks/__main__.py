"""Runs one benchmark by name and prints its figures.

With --json the last line of stdout is one object {"name", "figures", "settings"}. Exit code 1: a figure missed its
required limit; 3: the benchmark cannot run here; 130: it was stopped.
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
    "attacks": "what attackers take from other devices: their time to the first token, the server's memory and log",
    "app": "the terminal app: start-up time, echo of keys, freezes, search in a long history, memory",
    "answers": "quality and speed of the model's answers, by number and arrangement of passages",
    "beyond": "detection of questions that ask for more than the user's files contain",
    "device": "time to first token, prefill and decode speed, memory, start-up",
    "disco": "choice of the side that starts an answer, and hand-overs, simulated and live: first tokens, cost, delays",
    "dovetail": "answers with and without drafts by lookup, on models of several sizes: speed, and whether texts agree",
    "dragon": "answers that device and server write jointly, against one side and the paper's baselines; perplexity",
    "everyday": "everyday questions answered by rules and by the model; questions that rules answer by mistake",
    "handover": "the quality of answers that a better model begins and a worse one finishes, or the reverse",
    "index": "the server's index: build time, search time and memory at three sizes; recall of real passages",
    "intents": "recognition of requests that need no file",
    "kills": "data lost when processes are killed at random: the server during answers, work ahead, reading",
    "minutes": "how many sentences quoted from meetings are decisions, actions or open questions",
    "percache": "the caches against their baselines on replayed questions; the guard, the schedule, eviction",
    "priced": "the caches, and PerCache as published, over all of a user's questions; costs from measured prices",
    "predict": "how many questions were predicted: by the paper's prompts, by rules, by the trained model",
    "reveals": "how much of private passages can be read in the data sent to the server for joint answers",
    "reuse": "ways to reuse cached KV states: exactly, blended into any prompt, in rows, or as a forecast chooses",
    "server": "the companion server: cost per token, memory per device, throughput of many answers, waiting times",
    "states": "the server's time to the first token, with and without passage states computed ahead and on disk",
    "telerag": "search in an index larger than memory: clusters read on demand, or ahead of rewritten questions",
    "typing": "reading passages while a question is typed: first token, echo of keys, passages read needlessly",
    "search": "jackdaw search: time per key, recall with and without wrong letters, time of the whole command",
    "retrieval": "recall, query latency at three sizes of the store, ingestion speed",
}
MODULES = {
    "handover": "disco_quality",
    "predict": "percache_predict",
    "priced": "percache_priced",
    "reuse": "percache_reuse",
    "states": "server_states",
}
CANNOT_RUN, STOPPED = 3, 130


def main() -> int:
    """Run the benchmark that the command line names, and return the exit code."""
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
    parser.add_argument("--runs", type=_positive, metavar="N", help="kills: number of killed servers (default: 200)")
    parser.add_argument(
        "--passages", type=_positive, metavar="N", help="search: number of passages in its store (default: 100,000)"
    )
    parser.add_argument(
        "--targets",
        metavar="A,B",
        help="dovetail: measure only these targets, such as 135m-q8_0,1.7b-q4_0; priced: compute their times, too",
    )
    parser.add_argument(
        "--draft", type=Path, metavar="FILE", help="dovetail: also measure this draft network (scripts/train_draft)"
    )
    parser.add_argument("--only", metavar="A,B", help="disco, dragon, telerag: run only these parts, such as live")
    parser.add_argument(
        "--questions", type=_positive, metavar="N", help="telerag: questions for its pipelines (default: 20)"
    )
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
    except KeyboardInterrupt:
        print(f"{arguments.name} was stopped before it could show its figures.", file=sys.stderr)
        return STOPPED
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
