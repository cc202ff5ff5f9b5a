"""Retrieves passages for a half-typed question and computes their attention states, on this device only.

The typed text is neither stored nor sent; only attention states of passages are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from device_app.ahead.typing import RANKED, Ranking
from device_app.answering import quoting
from device_app.english import query
from models.interruptible import interruptible
from shared import prompt as prompts
from shared.errors import GaveWay, NotWritable, StoreError, UsageError

if TYPE_CHECKING:
    from device_app.device import Device
    from device_app.question.options import Plan

MOST_SHARE = 0.5
"""The largest share of the space for attention states that one passage may take."""

PIECE_TOKENS = 32
"""Tokens per model batch, about 50 to 100 ms: a question that is sent waits at most that long."""

GiveWay = Callable[[float], bool]
"""Returns whether a reading has to stop; called with the share of the reading that is done."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The cost of reading one passage: the tokens computed, and the time in milliseconds.

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
    if quoting.search_query(asked, options) != asked:
        return ()
    (vector,) = device.embedder.embed([asked.text])
    if device.qa_bank.may_serve(asked, vector):
        return ()
    hits = device.retriever.search(asked, RANKED, options.relevance, vector)
    return [(hit.passage.id, hit.score) for hit in hits]


def read(device: Device, passage: int, give_way: GiveWay) -> Reading:
    """Compute and keep a passage's attention states, unless kept already; stop within a batch once `give_way` is true.

    Waits until the model is loaded. Raises StoreError, WeightsError, EngineError.
    """
    stored = device.knowledge.passages([passage]).get(passage)
    loaded = device.begin_loading().result()
    if stored is None or give_way(0.0):
        return Reading(0, 0.0, done=stored is None)
    size = max(loaded.uncached(prompts.build("", [stored], loaded.template), device.qkv_tree), 1)
    began, before, done, is_kept = time.perf_counter(), loaded.engine.computed, True, True

    def gives_way() -> bool:
        return give_way(min(1.0, (loaded.engine.computed - before) / size))

    source = replace(loaded, engine=interruptible(loaded.engine, gives_way, PIECE_TOKENS))
    assistant = replace(device.assistant, source=lambda: source)
    try:
        assistant.read(stored, device.qkv_tree.limit * MOST_SHARE)
    except GaveWay:
        done = False
    except (StoreError, NotWritable):
        is_kept = False
    tokens = loaded.engine.computed - before
    return Reading(tokens, (time.perf_counter() - began) * 1000 if tokens else 0.0, done, is_kept)
