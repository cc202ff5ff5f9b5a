"""Compares llama.cpp bound by its header with llama.cpp bound by llama-cpp-python: start-up, calls, tokens. Each arm
runs in processes of its own.

`python -m scripts.benchmarks.bindings WEIGHTS THREADS` measures one process, whose bindings the environment chooses.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = 20_000
DECODED = 48
KINDS = ("package", "header")


def measure(weights: Path, threads: int, repeats: int) -> dict[str, Any]:
    """Return medians by kind of bindings, under the same keys, and for the header the times to read it.

    `start_ms` is the time of importing and binding, `first_start_ms` the same without a cache, `load_ms` that of
    loading the model, `call_ns` that of a call of a function that only returns a number, and `decode_ms` that of
    decoding a token. All are processor time, so that other programs hardly change them.
    """
    from models.llama_bindings import BINDINGS_VARIABLE, FOLDER_VARIABLE

    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats + 1):
            for kind in KINDS:
                own = os.environ | {BINDINGS_VARIABLE: kind, FOLDER_VARIABLE: folder}
                kept = _process(weights, threads, own)
                empty = own | {FOLDER_VARIABLE: ""}
                runs[kind].append(kept | {"first_start_ms": _process(weights, threads, empty)["start_ms"]})
        reading = _read_ms(Path(folder), max(repeats, 20))
    # The first round is a warm-up.
    median = {
        kind: {key: round(statistics.median(run[key] for run in values[1:]), 2) for key in values[0]}
        for kind, values in runs.items()
    }
    return {**median, "read_ms": reading}


def _process(weights: Path, threads: int, environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "scripts.benchmarks.bindings", str(weights), str(threads)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _read_ms(folder: Path, repeats: int) -> dict[str, float]:
    """Return the median processor time of reading the installed header, and of loading its declarations from the
    cache.
    """
    from models.facts import FactsFile
    from models.llama_header import FILE, declared, find

    installed = find()
    assert installed
    arms: dict[str, Callable[[], object]] = {
        "fresh": lambda: declared(installed, None),
        "kept": lambda: declared(installed, FactsFile(folder, FILE)),
    }
    times: dict[str, list[float]] = {arm: [] for arm in arms}
    for _ in range(repeats):
        for arm, call in arms.items():
            start = time.process_time()
            call()
            times[arm].append(time.process_time() - start)
    return {arm: round(statistics.median(values) * 1000, 2) for arm, values in times.items()}


def _measured(weights: Path, threads: int) -> dict[str, float]:
    start = time.process_time()
    from models.llama_bindings import bindings

    api = bindings()
    started = time.process_time()
    from models.llama_cpp import LlamaCppEngine
    from models.llama_model import LlamaModel

    loading = time.process_time()
    model = LlamaModel(weights)
    loaded = time.process_time()
    vocabulary = api.llama_model_get_vocab(model.handle)
    count = api.llama_vocab_n_tokens
    calling = time.process_time()
    for _ in range(CALLS):
        count(vocabulary)
    called = time.process_time()
    engine = LlamaCppEngine(model, context=512, threads=threads)
    engine.prefill(0, list(range(100, 164)))
    times = []
    for token in range(DECODED):
        before = time.process_time()
        engine.decode({0: 100 + token})
        times.append(time.process_time() - before)
    engine.close()
    return {
        "start_ms": (started - start) * 1000,
        "load_ms": (loaded - loading) * 1000,
        "call_ns": (called - calling) / CALLS * 1e9,
        "decode_ms": statistics.median(times) * 1000,
    }


if __name__ == "__main__":
    print(json.dumps(_measured(Path(sys.argv[1]), int(sys.argv[2]))))
