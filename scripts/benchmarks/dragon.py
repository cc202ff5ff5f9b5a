"""Joint answers by device and server (DRAGON), compared with all alternatives.

Uses a real server process, the real model, real sockets, and a simulated network line with extra round trips of 0 to
300 ms and 20% jitter. Device and server have disjoint halves of the cores; the device alone also has one half. There
are two paces: `native`, and `reference`, where each side's step takes the time of the paper's models. In timed runs
both sides have the same weight (η = .5, which rejects the most), answers do not end early, and prompts are prefilled.
Figures of rules that the product does not use are omitted.
"""

import os
import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

from cloud_server.retrieval.search import IndexCorpus
from models.catalog import find
from models.embedder import OnnxEmbedder
from scripts.benchmarks import dragon_perplexity, dragon_scheduled, dragon_timed, dragon_weights
from scripts.benchmarks.dragon_data import private, public
from scripts.benchmarks.dragon_one import OneProcess
from scripts.benchmarks.dragon_server import EMBEDDER, MODEL
from scripts.benchmarks.dragon_setting import (
    MOST_PASSAGES,
    QUICK,
    READ_SHARES,
    STEPS,
    Sizes,
    device_engine,
    pinned,
    ready,
)
from scripts.places import CannotRun, step, weights


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures that BENCH.md lists. `bytes_per_token` excludes the question and the passages, `…_whole`
    includes them.
    """
    data: Path | None = arguments.data
    if data is None:
        raise CannotRun("it needs --data: private chats (lihuaworld) and public passages (nq_passages).")
    folder = weights(MODEL, EMBEDDER)
    sizes = QUICK if arguments.quick else Sizes()
    load = {"before": os.getloadavg()[0]}
    figures: dict[str, Any] = {
        "load": load,
        "step_ms": _steps(),
        "read_share": dict(READ_SHARES),
        "eta_where_timed": 0.5,
    }
    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        step("private and public passages")
        embedder = OnnxEmbedder(folder.path(find(EMBEDDER)), threads=arguments.threads)
        held = private(data, room, embedder, max(sizes.greedy, sizes.answers, sizes.repeats), MOST_PASSAGES)
        index = public(data, room, embedder, arguments.threads)
        with pinned() as halves:
            threads = len(halves.device)
            own = OnnxEmbedder(folder.path(find(EMBEDDER)), threads=threads)
            with ready(folder, room, index, halves, own, held.embedded_by(own), sizes) as setting:
                figures |= dragon_timed.timed(setting)
                figures |= dragon_timed.first_tokens(setting)
                figures |= dragon_timed.stalls(setting)
                figures |= dragon_timed.rows(setting)
                figures |= dragon_scheduled.scheduled(setting)
                load["after_timing"] = os.getloadavg()[0]
                process = OneProcess(setting, folder, IndexCorpus(index, own.fingerprint), own, threads)
                figures |= process.identical() | process.accepted() | process.variation()
                figures["acceptance"] = figures["acceptance_over_the_link"] | figures["acceptance"]
    text = data / "wikitext2" / "text.txt"
    if text.is_file():
        engine = device_engine(folder, arguments.threads, dragon_perplexity.ROWS)
        figures["perplexity"] = dragon_perplexity.measure(text, engine, embedder, sizes.windows)
        figures["weights"] = dragon_weights.measure(text, engine, embedder, sizes.followed)
        engine.close()
    load["after"] = os.getloadavg()[0]
    return figures


def _steps() -> dict[str, dict[str, float]]:
    return {name: {side: 1000 * seconds for side, seconds in sides.items()} for name, sides in STEPS.items()}
