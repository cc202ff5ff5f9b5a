"""Retrieves passages for a half-typed question and computes their attention states, on this device only.

The typed text is neither stored nor sent; only attention states of passages are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from device_app.ahead.typing import RANKED, Ranking, ReadQuestion
from device_app.english import query
from device_app.question.request import search_query_of
from models.interruptible import interruptible
from shared import prompt as prompts
from shared.errors import GaveWay, NotWritable, StoreError, UsageError
from shared.trace import Trace

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.inference.local import LocalSource
    from device_app.question.options import Plan

MOST_SHARE = 0.5
"""The largest share of the space for attention states that one passage may take."""

PIECE_TOKENS = 32
"""Tokens per model batch, about 50 to 100 ms: a question that is sent waits at most that long."""

GiveWay = Callable[[int], bool]
"""Whether to stop, called with the number of tokens computed so far."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The cost of reading one passage, or the question: the tokens computed, and the time in milliseconds.

    `done` is false if it was aborted; `is_kept` is false if its states were not stored.
    """

    tokens: int
    ms: float
    done: bool
    is_kept: bool = True


def readable_ranks(plan: Plan) -> int:
    """Return how many of a search's best passages may be read: only the first if one prompt holds several passages."""
    return RANKED if plan.passages == 1 or plan.arrangement == "rows" else 1


def nearest(device: Device, text: str) -> Ranking:
    """Return the ids and scores of the passages nearest to a half-typed question, best first.

    Empty if the answer would be a quote, if a kept answer may serve, or if the text is no valid question. Raises
    StoreError, WeightsError.
    """
    options = device.options()
    try:
        asked = query.parse(text, date.today())
    except UsageError:
        return ()
    if search_query_of(asked, options) != asked:
        return ()
    (vector,) = device.embedder.embed([asked.text])
    if device.qa_bank.may_serve(asked, vector):
        return ()
    hits = device.retriever.search(asked, RANKED, options.relevance, vector)
    return [(hit.passage.id, hit.score) for hit in hits]


def read(device: Device, passage: int, give_way: GiveWay) -> Reading:
    """Compute and keep a passage's attention states, unless kept already; stop within a batch once `give_way` is true.

    What was computed before it stopped stays in the engine, for the next prompt. Waits until the model is loaded.
    Raises StoreError, WeightsError, EngineError.
    """
    stored = device.knowledge.passages([passage]).get(passage)
    loaded = device.begin_loading().result()
    if stored is None or give_way(0):
        return Reading(0, 0.0, done=stored is None)
    tree = device.qkv_tree
    prompt = replace(prompts.build("", [stored], loaded.template), tail=())
    if not loaded.may_keep(prompt, tree, tree.limit * MOST_SHARE):
        return Reading(0, 0.0, done=True)

    def compute(source: LocalSource) -> None:
        source.begin(prompt, Trace(), tree)
        source.keep(prompt, tree)

    return _computed(loaded, give_way, compute)


def read_question(device: Device, step: ReadQuestion, give_way: GiveWay) -> Reading:
    """Compute the attention states of a part of the question after its passage, if the passage's are kept.

    Stops within a batch once `give_way` is true. The states stay in the engine, for the next prompt. Raises StoreError,
    WeightsError, EngineError.
    """
    stored = device.knowledge.passages([step.passage]).get(step.passage)
    loaded = device.begin_loading().result()
    if give_way(0):
        return Reading(0, 0.0, done=False)
    try:
        asked = query.parse(step.text, date.today()).text
    except UsageError:
        asked = ""
    if stored is None or not asked:
        return Reading(0, 0.0, done=True)
    whole = prompts.build(asked, [stored], loaded.template)
    beginning = whole if step.is_whole else replace(whole, tail=whole.tail[:1])
    if loaded.missing(beginning, device.qkv_tree):
        return Reading(0, 0.0, done=True)
    return _computed(loaded, give_way, lambda source: source.begin(beginning, Trace(), device.qkv_tree))


def _computed(loaded: LocalSource, give_way: GiveWay, compute: Callable[[LocalSource], None]) -> Reading:
    """Run the computation in batches, and return its cost."""
    before, began, done, is_kept = loaded.engine.computed, time.perf_counter(), True, True

    def gives_way() -> bool:
        return give_way(loaded.engine.computed - before)

    try:
        compute(replace(loaded, engine=interruptible(loaded.engine, gives_way, PIECE_TOKENS, keeps=True)))
    except GaveWay:
        done = False
    except (StoreError, NotWritable):
        is_kept = False
    tokens = loaded.engine.computed - before
    return Reading(tokens, (time.perf_counter() - began) * 1000 if tokens else 0.0, done, is_kept)
