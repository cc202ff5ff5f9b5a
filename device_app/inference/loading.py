"""Loads the models of the catalog that the settings name.

Imports are placed so that one thread reads the weights while another does the slow imports.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from models import catalog, exact_loading
from models.threads import threads

if TYPE_CHECKING:
    from device_app.inference.local import LocalSource
    from device_app.settings import Embedder as EmbedderSettings
    from device_app.settings import Model
    from models.engine import Embedder, Engine
    from models.exact_loading import Setting
    from models.llama_cpp import LlamaCppEngine


def engine(weights: catalog.Weights, settings: Model) -> LlamaCppEngine:
    """Load the model with the engine setting whose results are most exact on this device (`models.exact_loading`).

    Raises WeightsMissing, WeightsDamaged.
    """
    from models.llama_model import LlamaModel
    from models.speculative.draft_setting import engine_type

    entry = catalog.find(settings.name, "engine")
    path = weights.path(entry)
    if entry.is_file:  # the catalog's were checked on arrival
        from models.soundness import require_sound

        require_sound(path)
    adapter, gpu_layers = entry.adapter_file(settings.adapter), exact_loading.layers(settings.gpu_layers)

    def build(setting: Setting) -> LlamaCppEngine:
        model = LlamaModel(path, gpu_layers, repacks=setting.repacks)
        # Only now: it imports numpy, which another thread imports while the weights are read.
        return engine_type(settings.draft)(
            model, context=settings.context, threads=threads(settings.threads), kv_type=setting.kv, adapter=adapter
        )

    chosen = exact_loading.choice(weights.folder, path, settings.kv, adapter, gpu_layers)
    return exact_loading.load(build, settings.kv, chosen)


def configured(weights: catalog.Weights, settings: Model) -> LocalSource:
    """Load the model and, if the settings name one, the draft model; return them as one source of tokens.

    Raises WeightsMissing, WeightsDamaged.
    """
    from models.speculative.draft_setting import free_memory

    free = free_memory(settings.draft)
    model = engine(weights, settings)
    loaded = replace(source(model), finish_checks=partial(exact_loading.finish, model, weights.folder))
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
