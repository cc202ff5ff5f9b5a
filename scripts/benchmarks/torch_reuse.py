"""Compares skipping only the projections of a cached prefix, as PerCache publishes it (§4.2.2), with skipping all of
its computation.

Both ways and the full computation run in torch on the same weights and tokens, interleaved. The share of equal top-1
tokens with llama.cpp shows that it is the same model.
"""

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from models.catalog import Weights, find
from models.engine import Engine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from storage.paths import Paths

TOKENS, CACHED = 600, 450
ARMS = {"full": "none", "projection_skip": "projections", "prefix_skip": "prefix"}


def measure(folder: Weights, threads: int, repeats: int) -> dict[str, Any]:
    """Return medians in ms of the prefill alone, after joining cached states; empty without the extra `research`.

    `torch_difference` is the largest deviation of a logit from the full computation, `torch_join_ms` the time to join
    Q, K and V from memory.
    """
    path = folder.path(find("smollm2-135m"))
    try:
        engines = _engines(path, threads)
    except ModuleNotFoundError as missing:
        print(f"torch_ms is left out: {missing.name} is not installed (scripts/install research)", file=sys.stderr)
        return {}
    full = engines["full"]
    text = Path(__file__).parent.parent.joinpath("sample_life", "notes", "book_club.md").read_text("utf-8")
    once = full.tokenize(text)
    tokens = (once * (TOKENS // len(once) + 1))[:TOKENS]
    whole = full.prefill(0, tokens)
    kept = full.slice(0, 0, CACHED)
    times: dict[str, list[float]] = {arm: [] for arm in (*engines, "join")}
    difference = dict.fromkeys(engines, 0.0)
    for _ in range(repeats + 1):
        for arm, engine in engines.items():
            engine.clear(0)
            start = time.perf_counter()
            engine.join(0, [kept])
            joined = time.perf_counter()
            logits = engine.prefill(0, tokens[CACHED:])
            times[arm].append((time.perf_counter() - joined) * 1000)
            times["join"].append((joined - start) * 1000)
            difference[arm] = max(difference[arm], float(np.abs(logits - whole).max()))
    agreement = _agreement(full, path, threads, tokens[: 40 * repeats])
    for engine in engines.values():
        engine.close()
    sizes = {name: size // CACHED for name, size in kept.planes}
    join = times.pop("join")
    return {
        # The first round is a warm-up.
        "torch_ms": {arm: round(statistics.median(values[1:]), 1) for arm, values in times.items()},
        "torch_join_ms": round(statistics.median(join[len(engines) :]), 1),
        "torch_bytes_per_token": {"q_k_v": sum(sizes.values()), "k_v": sizes["k"] + sizes["v"]},
        "torch_difference": {arm: round(value, 4) for arm, value in difference.items()},
        "torch_top1_agreement": round(agreement, 3),
    }


def _engines(path: Path, threads: int) -> dict[str, Engine]:
    """Return an engine for each arm, all on one network."""
    import torch

    from models.research import torch_weights
    from models.research.torch_engine import TorchEngine
    from models.research.torch_llama import TorchLlama

    torch.set_num_threads(threads)
    models = {arm: LlamaModel(path) for arm in ARMS}
    kept = Paths.locate(os.environ).cache / "torch"
    network = TorchLlama(*torch_weights.load(path, models["full"].model_hash(), kept))
    return {
        arm: TorchEngine(model, network, context=TOKENS, sequences=1, reuse=ARMS[arm])  # type: ignore[arg-type]
        for arm, model in models.items()
    }


def _agreement(engine: Engine, path: Path, threads: int, tokens: list[int]) -> float:
    """Return the share of positions at which torch and llama.cpp have the same top-1 next token."""
    other = LlamaCppEngine(LlamaModel(path), context=TOKENS, threads=threads)
    engine.clear(0)
    # One after the other, as waiting threads of one would slow the other.
    ours, theirs = ([np.argmax(each.decode({0: token})[0]) for token in tokens] for each in (engine, other))
    other.close()
    return float(np.mean(np.equal(ours, theirs)))
