"""Reads the setting `model.draft`, which may name a model that drafts. Imports little, because it runs before models
load.
"""

from typing import Final, Literal, TypeGuard, get_args

from models.catalog import Entry, Weights, find, own_file
from shared.errors import JackdawError
from shared.memory import available

WithoutModel = Literal["auto", "off", "lookup"]

_WITHOUT_MODEL: Final = get_args(WithoutModel)


def names_no_model(chosen: str) -> TypeGuard[WithoutModel]:
    """Return whether the value of the setting `model.draft` names no model."""
    return chosen in _WITHOUT_MODEL


def drafter_entry(chosen: str) -> Entry | None:
    """Return the catalog entry that the setting `model.draft` names: a name, `file:PATH` or the path of a GGUF file.

    Returns None if it names no model. Raises UsageError.
    """
    if names_no_model(chosen):
        return None
    is_path = chosen.endswith(".gguf") and not chosen.startswith("file:")
    return find(f"file:{own_file(chosen)}" if is_path else chosen, "engine")


def free_memory(chosen: str) -> int:
    """Return the free bytes of memory before the answering model is loaded; 0 if no model is to draft."""
    return 0 if names_no_model(chosen) else available()


def described(weights: Weights, chosen: str, answers: Entry) -> dict[str, str | None]:
    """Return the value of the setting `model.draft`, the model that it names or None, and why that model does not draft
    ("" if it does).

    `answers` is the model that answers. The memory that the drafting model needs is not checked here. Raises
    WeightsMissing, WeightsDamaged, UsageError and EngineError for the model that answers.
    """
    from models.forecast import looked_into

    name, why_not = None, ""
    vocabulary, file = looked_into(weights, answers).vocabulary_fingerprint, weights.path(answers)
    try:
        if entry := drafter_entry(chosen):
            name = entry.name
            if looked_into(weights, entry).vocabulary_fingerprint != vocabulary:
                why_not = "it has another vocabulary"
            elif weights.path(entry).samefile(file):
                why_not = "it is the model that answers"
    except JackdawError as error:
        why_not = str(error)
    return {"setting": chosen, "model": name, "why_not": why_not}
