"""Joint answers by device and server (DRAGON), compared with all alternatives.

Uses a real server process, the real model, real sockets, and a simulated network line with extra round trips of 0 to
300 ms and 20% jitter. Device and server have disjoint halves of the cores; the device alone also has one half. There
are two paces: `native`, and `reference`, where each side's step takes the time of the paper's models. In timed runs
both sides' distributions have the same weight, with which most drafts are rejected; answers do not end early, and
prompts are prefilled. Figures of rules that the product does not use are omitted.
"""

import os
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from cloud_server.retrieval.search import IndexCorpus
from models.catalog import Weights, find
from models.embedder import OnnxEmbedder
from scripts.benchmarks import dragon_first, dragon_perplexity, dragon_scheduled, dragon_timed, dragon_weights
from scripts.benchmarks.dragon_data import private, public
from scripts.benchmarks.dragon_one import OneProcess
from scripts.benchmarks.dragon_server import EMBEDDER, MODEL
from scripts.benchmarks.dragon_setting import (
    MOST_PASSAGES,
    QUICK,
    READ_SHARES,
    STEPS,
    Setting,
    Sizes,
    device_engine,
    pinned,
    ready,
)
from scripts.places import CannotRun, chosen_parts, step, weights

TIMED: Final[Mapping[str, Callable[[Setting], dict[str, Any]]]] = {
    "tokens": dragon_timed.timed,
    "first": lambda setting: dragon_first.first_tokens(setting) | dragon_first.beside_alone(setting),
    "stalls": dragon_timed.stalls,
    "rows": dragon_timed.rows,
    "scheduled": dragon_scheduled.scheduled,
}
PARTS: Final = (*TIMED, "process", "perplexity", "weights")
"""The parts of the benchmark, in their order: those timed over the link, one process with all passages, WikiText-2."""


def run(arguments: Namespace) -> dict[str, Any]:
    """Return the figures that BENCH.md lists, or those of some parts. `bytes_per_token` excludes the question and the
    passages, `…_whole` includes them.
    """
    data: Path | None = arguments.data
    if data is None:
        raise CannotRun("the benchmark needs --data: private chats (lihuaworld) and public passages (nq_passages).")
    parts = chosen_parts(arguments.only, PARTS)
    folder = weights(MODEL, EMBEDDER)
    sizes = QUICK if arguments.quick else Sizes()
    load = {"before": os.getloadavg()[0]}
    figures: dict[str, Any] = {
        "load": load,
        "step_ms": _steps(),
        "read_share": dict(READ_SHARES),
        "eta_where_timed": 0.5,
    }
    embedder = OnnxEmbedder(folder.path(find(EMBEDDER)), threads=arguments.threads)
    if over_link := [part for part in parts if part in (*TIMED, "process")]:
        figures |= _over_link(over_link, arguments, folder, sizes, embedder, load)
    text = data / "wikitext2" / "text.txt"
    if text.is_file() and {"perplexity", "weights"} & set(parts):
        engine = device_engine(folder, arguments.threads)
        if "perplexity" in parts:
            figures["perplexity"] = dragon_perplexity.measure(text, engine, embedder, sizes.windows)
        if "weights" in parts:
            figures["weights"] = dragon_weights.measure(text, engine, embedder, sizes.followed)
        engine.close()
    load["after"] = os.getloadavg()[0]
    return figures | {"missed": missed(figures)}


def missed(figures: Mapping[str, Any]) -> list[str]:
    """Return a sentence if greedy answers over the link are not those of one process: then the weights of the two sides
    are not those that the timed runs assume, and no figure of theirs counts.
    """
    greedy = figures.get("identical_to_one_process", {}).get("greedy", {"same": 0, "of": 0})
    if greedy["same"] == greedy["of"]:
        return []
    return [f"{greedy['same']} of {greedy['of']} greedy answers over the link are those of one process, not all"]


def _over_link(
    parts: Sequence[str],
    arguments: Namespace,
    folder: Weights,
    sizes: Sizes,
    embedder: OnnxEmbedder,
    load: dict[str, float],
) -> dict[str, Any]:
    """Return the figures of the parts that need a device and a server."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        step("private and public passages")
        questions = max(sizes.greedy, sizes.answers, sizes.repeats, sizes.firsts)
        held = private(arguments.data, room, embedder, questions, MOST_PASSAGES)
        index = public(arguments.data, room, embedder, arguments.threads)
        with pinned() as halves:
            threads = len(halves.device)
            own = OnnxEmbedder(folder.path(find(EMBEDDER)), threads=threads)
            with ready(folder, room, index, halves, own, held.embedded_by(own), sizes) as setting:
                for name, measure in TIMED.items():
                    figures |= measure(setting) if name in parts else {}
                load["after_timing"] = os.getloadavg()[0]
                if "process" in parts:
                    process = OneProcess(setting, folder, IndexCorpus(index, own.fingerprint), own, threads)
                    figures |= process.identical() | process.accepted() | process.variation()
                    figures["acceptance"] = figures.get("acceptance_over_the_link", {}) | figures["acceptance"]
    return figures


def _steps() -> dict[str, dict[str, float]]:
    return {name: {side: 1000 * seconds for side, seconds in sides.items()} for name, sides in STEPS.items()}
