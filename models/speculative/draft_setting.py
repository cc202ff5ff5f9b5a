"""Reads the setting `model.draft`, which may name a model that drafts. Imports little, because it runs before models
load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeGuard, get_args

from models.catalog import Entry, Weights, find, own_file
from shared.errors import JackdawError
from shared.memory import available

if TYPE_CHECKING:
    from models.llama_cpp import LlamaCppEngine

WithoutModel = Literal["auto", "off", "lookup"]

_WITHOUT_MODEL: Final = get_args(WithoutModel)


def names_no_model(chosen: str) -> TypeGuard[WithoutModel]:
    """Return whether the value of the setting `model.draft` names no model."""
    return chosen in _WITHOUT_MODEL


def network_file(chosen: str) -> Path | None:
    """Return the absolute path of the draft network that the setting `model.draft` names; None if it names none."""
    return own_file(chosen) if chosen.endswith(".safetensors") else None


def stored(chosen: str) -> str:
    """Return the value of the setting `model.draft` as the settings file keeps it: with an absolute path. Raises
    UsageError.
    """
    if network := network_file(chosen):
        return str(network)
    entry = drafter_entry(chosen)
    return entry.address if entry else chosen


def engine_type(chosen: str) -> type[LlamaCppEngine]:
    """Return the class of the answering model's engine: a draft network needs one that provides features. Imports
    numpy.
    """
    if network_file(chosen):
        from models.llama_features import LlamaFeatureEngine

        return LlamaFeatureEngine
    from models.llama_cpp import LlamaCppEngine

    return LlamaCppEngine


def drafter_entry(chosen: str) -> Entry | None:
    """Return the catalog entry that the setting `model.draft` names: a name, `file:PATH` or the path of a GGUF file.

    Returns None if it names no model or a draft network. Raises UsageError.
    """
    if names_no_model(chosen) or network_file(chosen):
        return None
    is_path = chosen.endswith(".gguf") and not chosen.startswith("file:")
    return find(f"file:{own_file(chosen)}" if is_path else chosen, "engine")


def free_memory(chosen: str) -> int:
    """Return the free bytes of memory before the answering model is loaded; 0 if no model is to draft."""
    return 0 if names_no_model(chosen) else available()


def described(weights: Weights, chosen: str, answers: Entry, adapter_hash: str = "") -> dict[str, str | None]:
    """Return the value of the setting `model.draft`, the model that it names or None, and why that model does not draft
    ("" if it does).

    `answers` is the model that answers, with the adapter of the given hash. The memory that the drafting model needs is
    not checked here. Raises WeightsMissing, WeightsDamaged, UsageError and EngineError for the model that answers.
    """
    from models.forecast import looked_into

    own, file = looked_into(weights, answers), weights.path(answers)
    name, why_not = None, ""
    try:
        if network := network_file(chosen):
            from models.llama_model import model_hash
            from models.speculative.network_file import identity, require_fit

            name = network.name
            require_fit(network, answers.name, identity(model_hash(file), adapter_hash), own.vocabulary)
        elif entry := drafter_entry(chosen):
            name = entry.name
            if looked_into(weights, entry).vocabulary_fingerprint != own.vocabulary_fingerprint:
                why_not = "it has another vocabulary"
            elif weights.path(entry).samefile(file):
                why_not = "it is the model that answers"
    except JackdawError as error:
        why_not = str(error)
    return {"setting": chosen, "model": name, "why_not": why_not}
