"""Measures the prices of the benchmark `priced`: of the default model, and of larger ones, whose pace is computed."""

import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any, Final

from device_app.english.query import Query
from device_app.inference.local import LocalSource
from models.catalog import Weights
from models.chat_template import parse
from models.engine import Engine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from scripts.benchmarks import torch_reuse
from scripts.benchmarks.percache_arms import KV_MB, PUBLISHED_PLAN
from scripts.benchmarks.percache_priced_source import Book
from scripts.benchmarks.percache_prices import Prices
from scripts.benchmarks.percache_replay import Room
from scripts.datasets.stores import retriever_over
from scripts.inflation.shapes import SMALL_SHAPE, CannotInflate, Shape
from scripts.inflation.targets import shape_of, weights_of
from scripts.places import CannotRun, step
from shared.errors import JackdawError
from shared.prompt import build

CALIBRATED: Final = 4
"""The number of questions from which the default model's prices are measured."""

_CALIBRATED_TARGET: Final = 2


@dataclass(frozen=True, slots=True)
class TargetPrices:
    """The prices of a target; `error` is the share by which they differ from its computed answers. `states_mb` is the
    limit of attention states that holds as many tokens as `KV_MB` does for the default model.
    """

    prices: Prices
    error: float
    states_mb: float

    def as_json(self) -> dict[str, float]:
        """Return all by name, rounded."""
        return self.prices.as_json() | {"error": round(self.error, 4), "states_mb": round(self.states_mb)}


def prices_of(
    target: str, folder: Weights, rooms: Sequence[Room], threads: int, torch: Mapping[str, Any]
) -> TargetPrices:
    """Return the prices of a target. Raises CannotRun."""
    shape = shape_of(target)
    try:
        with (
            weights_of(folder, target, threads) as path,
            closing(LlamaCppEngine(LlamaModel(path), threads=threads)) as engine,
        ):
            engine.prefill(0, range(1000, 1100))  # the first pass reads the weights from their file
            engine.clear(0)
            book = Book(LocalSource(engine, parse(engine.info.chat_template, engine.info.bos)))
            prices = reshaped(calibrated(rooms, book, torch, target, _CALIBRATED_TARGET), shape)
            return TargetPrices(prices, book.samples.error(prices), KV_MB * shape.states / SMALL_SHAPE.states)
    except (CannotInflate, JackdawError, OSError) as reason:
        raise CannotRun(f"{target} cannot be measured: {reason}") from reason


def reshaped(prices: Prices, shape: Shape) -> Prices:
    """Return prices whose two figures that were measured in torch, on the default model, are those of another shape:
    the share of the projections, in proportion to their share of the weights, and the size of Q, K and V.
    """
    share = prices.projections * shape.projections / SMALL_SHAPE.projections
    return replace(prices, projections=share, planes=shape.planes)


def calibrated(
    rooms: Sequence[Room], book: Book, torch: Mapping[str, Any], model: str = "", count: int = CALIBRATED
) -> Prices:
    """Return the prices, fitted to `count` questions: the first one of the first user, the second one of the second,
    and so on. Each is answered from one prompt and from a prompt per passage, and from joined states.
    """
    step(f"measuring prices {model}".strip())
    source = book.source
    joins: list[float] = []
    for room in islice(cycle(rooms), count):
        question = room.user.questions[len(joins) % len(room.user.questions)].text
        hits = retriever_over(room.store, room.embedder).search(Query(question), PUBLISHED_PLAN.passages)
        prompt = build(question, [hit.passage for hit in hits], source.template)
        for passages in (1, 2, 3):
            book.answer(build(question, [hit.passage for hit in hits[:passages]], source.template).joined(), (1.0,), 48)
        book.answer(prompt, tuple(hit.similarity for hit in hits), 48)
        next(source.stream(prompt.joined(), SamplingSettings(), max_tokens=1))
        joins.append(_join_ms(source.engine))
    sizes, cached = torch["torch_bytes_per_token"], torch_reuse.CACHED / torch_reuse.TOKENS
    saved = 1 - torch["torch_ms"]["projection_skip"] / torch["torch_ms"]["full"]
    return book.samples.prices(statistics.median(joins), max(saved, 0) / cached, sizes["q_k_v"] / sizes["k_v"])


def _join_ms(engine: Engine) -> float:
    """Return the ms per token of joining the attention states of sequence 0 from memory."""
    length = engine.length(0)
    states = engine.slice(0, 0, length)
    start = time.perf_counter()
    engine.clear(1)
    engine.join(1, [states])
    took = (time.perf_counter() - start) * 1000
    engine.clear(1)
    return took / length
