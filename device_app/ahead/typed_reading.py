"""Searching for a half-typed question and reading its likely passages, on this device alone.

What was typed is neither stored nor sent: attention states of passages are all that is kept.
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

MOST_SHARE = 0.5
"""The share of the room for states that one passage may take."""

PIECE_TOKENS = 32
"""Tokens computed at a time, a twentieth of a second or two: a question that is sent waits no longer."""

GiveWay = Callable[[float], bool]
"""Whether a reading has to end, called with the share of it that is done."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading one passage took; it is `done` unless it was broken off. `is_kept`: its states could be stored."""

    tokens: int
    ms: float
    done: bool
    is_kept: bool = True


def nearest(device: Device, text: str) -> Ranking:
    """Return the passages nearest to a half-typed question, by their ids.

    There are none where the files would be quoted or a kept answer may serve, and where the text is no question that
    could be asked. Raises StoreError, WeightsError.
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
    """Keep the attention states of a passage, unless they are kept already; stop within a batch where `give_way()`.

    The model is waited for while it loads. Raises StoreError, WeightsError, EngineError.
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
