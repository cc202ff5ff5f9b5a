"""Builds, from the parts of a device, the background work that fills the caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from device_app.ahead import usefulness
from device_app.ahead.population import Population
from device_app.ahead.prediction import Prediction
from device_app.ahead.predictor import STRIDE
from device_app.ahead.reading import InPieces, go_on
from models.interruptible import interruptible
from storage.abstracts import Abstracts
from storage.cache_records import CacheRecords

if TYPE_CHECKING:
    from device_app.device import Device


def population(device: Device, give_way: Callable[[], bool]) -> Population:
    """Return the work that fills the caches; it stops within a batch once `give_way()` is true. Loads the model.

    Raises WeightsError.
    """
    loaded = device.begin_loading().result()
    cache, options, counters = device.settings.cache, device.options(), device.counters  # with the loaded adapter
    source = replace(loaded, engine=interruptible(loaded.engine, give_way))
    embedder = InPieces(device.embedder, give_way)
    retriever = replace(device.retriever, embedder=embedder)
    bank = replace(device.qa_bank, retriever=retriever)
    assistant = replace(device.assistant, source=lambda: source, embedder=embedder, retriever=retriever, bank=bank)
    abstracts = Abstracts(counters.database)
    learned = lru_cache(1)(lambda: usefulness.tallies(CacheRecords(counters.database), datetime.now(UTC)))
    facts = assistant, options, bank, counters, STRIDE, cache.predict_from, abstracts
    prediction = Prediction(*facts, tallies=learned)
    look = partial(go_on, give_way)
    return Population(assistant, options, bank, device.qkv_tree, counters, prediction, cache.cutoff, look)
