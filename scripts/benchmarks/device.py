"""How fast this device reads and writes: cold, with saved attention states, and against bare llama.cpp calls.

All arms run in one process on the same weights, prompt and threads, interleaved. What the app ships as default and the
weights as published are both measured.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from models.catalog import Weights, find
from models.chat_template import parse
from models.llama_bindings import bindings
from models.llama_cpp import LlamaCppEngine
from scripts.benchmarks.places import weights
from shared.prompt import Segment, build
from shared.types import StoredPassage

PASSAGES = 3
WORDS = 100
DECODED = 64


def run(arguments: Namespace) -> dict[str, Any]:
    """Times are medians in ms, speeds tokens per second, sizes bytes unless the key says otherwise."""
    folder = weights("smollm2-135m")
    repeats = 3 if arguments.quick else 7
    figures = _measure(folder, "smollm2-135m", arguments.threads, repeats)
    published = _measure(folder, "smollm2-135m-q4_1", arguments.threads, repeats)
    figures["published_q4_1"] = {
        key: published[key] for key in ("ttft_ms", "prefill_tok_s", "decode_tok_s", "speedup_joined")
    }
    figures["kv_bytes_per_token"] = {"f16": figures.pop("_kv"), "q8_0": _kv_bytes(folder, "q8_0")}
    figures["rss_mb"] = round(psutil.Process().memory_info().rss / 1e6, 1)
    return figures


def _measure(folder: Weights, name: str, threads: int, repeats: int) -> dict[str, Any]:
    engine = LlamaCppEngine(folder.path(find(name)), context=2048, threads=threads)
    head, passages, tail = _tokens(engine)
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

    bare = _Bare(LlamaCppEngine(folder.path(find(name)), context=2048, threads=threads))
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
    # The first round warms up.
    median = {arm: statistics.median(values[1:]) for arm, values in times.items()}
    kv_bytes = engine.info.kv_bytes_per_token
    engine.close()
    bare.engine.close()
    return {
        "ttft_ms": {arm: round(median[arm], 1) for arm in arms if arm != "bare_prefill"},
        "speedup_joined": round(median["cold"] / median[f"passages_{PASSAGES}"], 1),
        "prompt_tokens": len(whole),
        "prefill_tok_s": round(len(whole) / median["cold"] * 1000, 1),
        "decode_tok_s": round(DECODED / median["decode"] * 1000, 1),
        "bare_prefill_tok_s": round(len(whole) / median["bare_prefill"] * 1000, 1),
        "bare_decode_tok_s": round(DECODED / median["bare_decode"] * 1000, 1),
        "prefill_ratio": round(median["bare_prefill"] / median["cold"], 3),
        "decode_ratio": round(median["bare_decode"] / median["decode"], 3),
        "_kv": kv_bytes,
    }


class _Bare:
    """The same work by llama.cpp's own functions, with nothing around them."""

    def __init__(self, engine: LlamaCppEngine) -> None:
        self.api: Any = bindings()
        self.engine = engine  # its context alone is used: made alike, so that only the calls differ
        self.context: Any = engine._context

    def clear(self) -> None:
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), False)

    def prefill(self, tokens: Sequence[int]) -> None:
        most = self.api.llama_n_batch(self.context)
        for start in range(0, len(tokens), most):
            part = tokens[start : start + most]
            array = (self.api.llama_token * len(part))(*part)
            self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, len(part)))
        self.api.llama_get_logits_ith(self.context, -1)

    def decode(self) -> None:
        for token in range(DECODED):
            array = (self.api.llama_token * 1)(100 + token)
            self.api.llama_decode(self.context, self.api.llama_batch_get_one(array, 1))
            self.api.llama_get_logits_ith(self.context, -1)


def _tokens(engine: LlamaCppEngine) -> tuple[list[int], list[list[int]], list[int]]:
    words = Path(__file__).parent.parent.joinpath("sample_life", "notes", "book_club.md").read_text("utf-8").split()
    words = words * (PASSAGES * WORDS // len(words) + 1)
    stored = [
        StoredPassage(
            n, " ".join(words[n * WORDS : (n + 1) * WORDS]), 0, None, None, n, f"Note {n}", "note", None, (), ""
        )
        for n in range(PASSAGES)
    ]
    prompt = build(
        "What is the next book, and who chose it?", stored, parse(engine.info.chat_template, engine.info.bos)
    )

    def tokens(segments: Sequence[Segment]) -> list[int]:
        return [token for one in segments for token in engine.tokenize(one.text, special=one.special)]

    return tokens(prompt.head), [tokens(passage) for passage in prompt.passages], tokens(prompt.tail)


def _kv_bytes(folder: Weights, kind: Any) -> int:
    engine = LlamaCppEngine(folder.path(find("smollm2-135m")), context=256, threads=1, kv_type=kind)
    size = engine.info.kv_bytes_per_token
    engine.close()
    return size


def _timed(call: Callable[[], None]) -> float:
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000
