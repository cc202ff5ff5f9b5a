"""Loads the catalog's models that the settings name.

Imports are placed so that the weights are read while another thread does the slow imports.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from models import catalog
from models.threads import threads

if TYPE_CHECKING:
    from device_app.inference.local import LocalSource
    from device_app.settings import Embedder as EmbedderSettings
    from device_app.settings import Model
    from models.engine import Embedder, Engine


def engine(weights: catalog.Weights, settings: Model) -> Engine:
    """Load the model, without features that would change answers here. Raises WeightsMissing, WeightsDamaged."""
    from models.llama_model import LlamaModel

    entry = catalog.find(settings.name, "engine")
    path = weights.path(entry)
    if entry.is_file:  # the catalog's were checked on arrival
        from models.soundness import require_sound

        require_sound(path)
    model = LlamaModel(path)
    # Only now: these import numpy, which another thread imports while the weights are read.
    from models.exactness import Verdicts
    from models.llama_bindings import arithmetic
    from models.llama_cpp import LlamaCppEngine

    loaded = LlamaCppEngine(
        model,
        context=settings.context,
        threads=threads(settings.threads),
        kv_type=settings.kv,
        adapter=entry.adapter_file(settings.adapter),
    )
    loaded.restrict(Verdicts(weights.folder).inexact(loaded, arithmetic()))
    return loaded


def configured(weights: catalog.Weights, settings: Model) -> LocalSource:
    """Load the model, and the one that drafts beside it; return it as a source of tokens, drafted as the settings say.

    Raises WeightsMissing, WeightsDamaged.
    """
    from models.speculative.chosen import free_memory

    free = free_memory(settings.draft)
    loaded = source(engine(weights, settings))
    from models.speculative.loading import drafting  # only now: it imports numpy

    path = weights.path(catalog.find(settings.name, "engine"))
    used = drafting(weights, settings.draft, loaded.engine, path, threads(settings.threads), free)
    return replace(loaded, drafting=used)


def source(engine: Engine) -> LocalSource:
    """Return the model as a source of tokens, with its own chat template."""
    from device_app.inference.local import LocalSource
    from models.chat_template import parse

    return LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))


def embedder(weights: catalog.Weights, settings: EmbedderSettings) -> Embedder:
    """Return the model that turns text into vectors. Its first use raises WeightsMissing and WeightsDamaged."""
    from models.embedder import OnnxEmbedder

    entry = catalog.find(settings.name, "embedder")
    return OnnxEmbedder(partial(weights.path, entry), threads=threads(settings.threads))
