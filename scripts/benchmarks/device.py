"""The speed of prefill and decoding on this device: cold, with cached KV states, and against bare llama.cpp calls.

Measures three configurations in sequence: the app's default, the same with q8_0 KV states, and the weights as
published. Within each, the arms alternate in one process on the same weights, prompt and threads. Start-up is measured
on whole processes, as users start them, against the same work done with bare calls in a new process that has imported
everything before timing starts. Both bindings of llama.cpp are measured by the same figures. A cached answer is timed
in a simulated Termux environment and in a laptop's (`scripts.benchmarks.termux`). Torch's prefix reuse needs the extra
`research`.
"""

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import psutil

from device_app.device import Device
from device_app.english.query import Query
from device_app.settings import Embedder, Model, Settings
from models.catalog import Weights, find
from models.chat_template import parse
from models.llama_bindings import bindings
from models.llama_context import BATCH
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks import bindings as compared
from scripts.benchmarks import termux, torch_reuse
from scripts.places import CannotRun, weights
from shared.prompt import Segment, build
from shared.types import StoredPassage
from storage.paths import HOME_VARIABLE, Paths

QUESTION = "Who has Runa's blue drill?"
PASSAGES = 3
WORDS = 100
DECODED = 64
USED = (
    *("device_app.answering.assistant", "device_app.knowledge.retriever", "models.chat_template", "models.embedder"),
    *("storage.conversations", "onnxruntime", "tokenizers"),
)
"""The modules that an answer imports and this benchmark's module does not. They are imported before the bare calls are
timed, so that only the calls count.
"""


def run(arguments: Namespace) -> dict[str, Any]:
    """Return medians in ms, speeds in tokens per second, and sizes in bytes, unless the key says otherwise."""
    folder = weights("smollm2-135m", "smollm2-135m-q4_1", "all-minilm-l6-v2")
    repeats = 3 if arguments.quick else 7
    figures = _measure(folder, "smollm2-135m", arguments.threads, repeats)
    others = {
        "kv_q8_0": _measure(folder, "smollm2-135m", arguments.threads, repeats, kv="q8_0"),
        "published_q4_1": _measure(folder, "smollm2-135m-q4_1", arguments.threads, repeats),
    }
    figures["kv_bytes_per_token"] = {"f16": figures.pop("kv"), "q8_0": others["kv_q8_0"].pop("kv")}
    for name, other in others.items():
        figures[name] = {key: other[key] for key in ("ttft_ms", "prefill_tok_s", "decode_tok_s", "speedup_joined")}
    figures["bindings"] = compared.measure(folder.path(find("smollm2-135m")), arguments.threads, repeats)
    figures["termux"] = termux.measure(folder.folder, arguments.threads, max(repeats, 5))
    figures["missed"] = figures["termux"].pop("missed")
    figures |= _start_up(folder, arguments.threads, repeats)
    return figures | torch_reuse.measure(folder, arguments.threads, max(repeats, 5))


def _measure(
    folder: Weights, name: str, threads: int, repeats: int, kv: Literal["f16", "q8_0"] = "f16"
) -> dict[str, Any]:
    engine = LlamaCppEngine(LlamaModel(folder.path(find(name))), context=2048, threads=threads, kv_type=kv)
    head, passages, tail = _prompt(engine)
    whole = [*head, *(token for passage in passages for token in passage), *tail]
    engine.prefill(0, whole)
    borders = [0, len(head)]
    for passage in passages:
        borders.append(borders[-1] + len(passage))
    slices = [engine.slice(0, start, stop) for start, stop in pairwise(borders)]

    def cold() -> None:
        engine.prefill(0, whole)

    def joined(count: int) -> Callable[[], None]:
        def first_token() -> None:
            engine.join(0, slices[:count])
            engine.prefill(0, whole[borders[count] :])

        return first_token

    def decode() -> None:
        for token in range(DECODED):
            engine.decode({0: 100 + token})

    bare = _Bare(LlamaCppEngine(LlamaModel(folder.path(find(name))), context=2048, threads=threads, kv_type=kv))
    arms: dict[str, Callable[[], None]] = {
        "cold": cold,
        "system": joined(1),
        **{f"passages_{count}": joined(count + 1) for count in range(1, PASSAGES + 1)},
        "bare_prefill": lambda: bare.prefill(whole),
    }
    times: dict[str, list[float]] = {arm: [] for arm in (*arms, "decode", "bare_decode")}
    for _ in range(repeats + 1):
        for arm, call in arms.items():
            engine.clear(0)
            bare.clear()
            times[arm].append(_timed(call))
        engine.clear(0)
        engine.prefill(0, head)
        times["decode"].append(_timed(decode))
        bare.clear()
        bare.prefill(head)
        times["bare_decode"].append(_timed(bare.decode))
    # The first round is a warm-up.
    median = {arm: statistics.median(values[1:]) for arm, values in times.items()}
    slowest = {arm: float(np.quantile(values[1:], 0.95)) for arm, values in times.items()}
    kv_bytes = engine.info.kv_bytes_per_token
    bare.engine.close()
    resident = psutil.Process().memory_info().rss
    engine.close()
    return {
        "ttft_ms": {arm: round(median[arm], 1) for arm in arms if arm != "bare_prefill"},
        "ttft_p95_ms": {arm: round(slowest[arm], 1) for arm in arms if arm != "bare_prefill"},
        "speedup_joined": round(median["cold"] / median[f"passages_{PASSAGES}"], 1),
        "prompt_tokens": len(whole),
        "prefill_tok_s": round(len(whole) / median["cold"] * 1000, 1),
        "decode_tok_s": round(DECODED / median["decode"] * 1000, 1),
        "bare_prefill_tok_s": round(len(whole) / median["bare_prefill"] * 1000, 1),
        "bare_decode_tok_s": round(DECODED / median["bare_decode"] * 1000, 1),
        "prefill_ratio": round(median["bare_prefill"] / median["cold"], 3),
        "decode_ratio": round(median["bare_decode"] / median["decode"], 3),
        "rss_mb": round(resident / 1e6, 1),
        "kv": kv_bytes,
    }


class _Bare:
    """The arm that does the same work with llama.cpp's own functions."""

    def __init__(self, engine: LlamaCppEngine) -> None:
        self.api: Any = bindings()
        self.engine = engine  # only its context is used: created the same way, so that only the calls differ
        self.context: Any = engine._context.handle

    def clear(self) -> None:
        self.api.llama_memory_seq_rm(self.api.llama_get_memory(self.context), -1, -1, -1)

    def prefill(self, tokens: Sequence[int]) -> None:
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            array = (ctypes.c_int32 * len(part))(*part)
            self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, len(part)))
        self.api.llama_get_logits_ith(self.context, -1)

    def decode(self) -> None:
        for token in range(DECODED):
            array = (ctypes.c_int32 * 1)(100 + token)
            self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, 1))
            self.api.llama_get_logits_ith(self.context, -1)


def _prompt(engine: LlamaCppEngine) -> tuple[list[int], list[list[int]], list[int]]:
    words = Path(__file__).parent.parent.joinpath("sample_life", "notes", "book_club.md").read_text("utf-8").split()
    words = words * (PASSAGES * WORDS // len(words) + 1)
    texts = [" ".join(words[n * WORDS : (n + 1) * WORDS]) for n in range(PASSAGES)]
    stored = [
        StoredPassage(n, text, 0, None, None, n, f"Note {n}", "note", None, (), "") for n, text in enumerate(texts)
    ]
    template = parse(engine.info.chat_template, engine.info.bos)
    prompt = build("What is the next book, and who chose it?", stored, template)
    return (
        _tokens(engine, prompt.head),
        [_tokens(engine, passage) for passage in prompt.passages],
        _tokens(engine, prompt.tail),
    )


def _tokens(engine: LlamaCppEngine, segments: Sequence[Segment]) -> list[int]:
    return [token for segment in segments for token in engine.tokenize(segment.text, special=segment.special)]


def _start_up(folder: Weights, threads: int, repeats: int) -> dict[str, Any]:
    """Return figures of whole commands, run as processes: time to the first token, and resources used."""
    program = [str(Path(sys.executable).with_name("jackdaw"))]
    with tempfile.TemporaryDirectory() as room:
        own = os.environ | {
            HOME_VARIABLE: room,
            "JACKDAW_MODEL_THREADS": str(threads),
            "JACKDAW_EMBEDDER_THREADS": str(threads),
        }
        # No caching between runs, like the bare calls.
        forgetful = own | {"JACKDAW_CACHE_KV_MB": "0"}
        paths = Paths.locate(own)
        shutil.copytree(folder.folder, paths.weights)
        subprocess.run([*program, "add", "scripts/sample_life"], env=own, check=True, capture_output=True)
        # An answer is checked before it is shown: of this one, two tokens are the least that can be.
        asked = [*program, "ask", QUESTION, "--no-sources", "--max-tokens", "2"]
        ask, states, answered, bare, helped = [], [], [], [], []
        for _ in range(repeats + 1):
            ask.append(_process([*asked, "--fresh"], forgetful))
            states.append(_process([*asked, "--fresh"], own))
            answered.append(_process(asked, own))
            bare.append(_bare(own, threads))
            helped.append(_process([*program, "--help"], own))
    runs = ([start.first_ms for start in some] for some in (ask, states, answered))
    first_token, joined, kept, alone = (statistics.median(values[1:]) for values in (*runs, bare))
    return {
        "start_up": {
            "ask_first_token_ms": round(first_token, 1),
            "bare_first_token_ms": round(alone, 1),
            "ratio": round(first_token / alone, 3),
            "ask_states_kept_first_token_ms": round(joined, 1),
            "ask_answer_kept_first_token_ms": round(kept, 1),
            "ask_rss_mb": round(max(start.rss_mb for start in ask), 1),
            "help_cpu_ms": round(statistics.median(start.cpu_ms for start in helped), 1),
        }
    }


@dataclass(frozen=True, slots=True)
class _Run:
    """A process's time to its first byte of output, CPU time, and peak resident memory."""

    first_ms: float
    cpu_ms: float
    rss_mb: float


def _process(command: Sequence[str], environment: Mapping[str, str]) -> _Run:
    start = time.perf_counter()
    process = psutil.Popen(command, env=environment, stdout=subprocess.PIPE)
    highest = [0]

    def watch() -> None:
        # The kernel's maximum would include the memory of this parent process before exec.
        with suppress(psutil.Error):
            while process.is_running():
                highest[0] = max(highest[0], process.memory_info().rss)
                time.sleep(0.005)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with process.stdout as output:
        os.read(output.fileno(), 1)
        first = (time.perf_counter() - start) * 1000
        output.read()
    _, status, used = os.wait4(process.pid, 0)
    watcher.join()
    if os.waitstatus_to_exitcode(status):
        raise CannotRun(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return _Run(first, (used.ru_utime + used.ru_stime) * 1000, highest[0] / 1e6)


def _bare(environment: Mapping[str, str], threads: int) -> float:
    """Run `bare_answer` in a new process, because the first call in a process takes longer. Return ms."""
    program = f"from scripts.benchmarks.device import bare_answer; print(bare_answer({threads}))"
    done = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def bare_answer(threads: int) -> float:
    """Load the model, retrieve, and prefill with llama.cpp's own calls. Return the ms, which are a lower bound for an
    answer.
    """
    for module in USED:
        import_module(module)
    bindings()
    paths = Paths.locate(os.environ)
    settings = Settings(Model(threads=threads), Embedder(threads=threads))
    start = time.perf_counter()
    with Device(paths, settings) as device:
        source = device.begin_loading()
        hits = device.assistant.retriever.search(Query(QUESTION), device.options().plan.passages)
        template, engine = source.result().template, source.result().engine
        assert isinstance(engine, LlamaCppEngine)
        prompt = build(QUESTION, [hit.passage for hit in hits], template).joined()
        segments = (*prompt.head, *prompt.passages[0], *prompt.tail)
        _Bare(engine).prefill(_tokens(engine, segments))
        return (time.perf_counter() - start) * 1000


def _timed(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000
