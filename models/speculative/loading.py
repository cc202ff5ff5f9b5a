"""Loads the drafting model beside the answering one, if the settings name one and it fits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from models.forecast import Forecast, Room, forecast, model_size
from models.speculative.costs import known
from models.speculative.draft_model import DraftModel
from models.speculative.draft_setting import drafter_entry, names_no_model, network_file
from models.speculative.drafting import Drafting
from models.speculative.small_model import SmallModel
from shared.errors import DraftRejected, EngineError, JackdawError, UsageError
from shared.printable import safe_line

if TYPE_CHECKING:
    from models.catalog import Weights
    from models.engine import Engine

_DRIVER: Final = Path("/proc/driver/nvidia")

_LONGEST_TEXT: Final = 20
"""The most characters of a token that an error message quotes."""


def drafting(weights: Weights, chosen: str, engine: Engine, path: Path, threads: int, free: int) -> Drafting:
    """Return the `Drafting`, which decides how tokens are drafted, for the setting `model.draft`, together with the
    drafting model if the setting names one.

    `path` is the file of the model that answers, in `engine`; `free` is the result of `free_memory` before it was
    loaded. If the drafting model cannot be used, `Drafting.refused` says why, and nothing else changes.
    """
    costs = known(engine, weights.folder, threads)
    if names_no_model(chosen):
        return Drafting(chosen, costs)
    alone = Drafting("auto", costs)
    if not alone.may(engine.info) or (alone.costs and not alone.is_worth_it(engine.info)):
        return alone  # no memory for a model that would never draft
    try:
        if network := network_file(chosen):
            model = _loaded_network(network, engine)
        else:
            model = _loaded(weights, chosen, engine, path, threads, free)
    except DraftRejected as error:
        return replace(alone, refused=str(error))
    return Drafting("auto", costs, model=model)


def _gpu() -> str:
    """Return the torch device of a GPU; "" if there is none. Importing torch takes seconds: it is imported only where
    the system has a driver for a GPU, and an extra has installed it.
    """
    if not _DRIVER.exists() or find_spec("torch") is None:
        return ""
    import torch

    return "cuda" if torch.cuda.is_available() else ""


def _loaded_network(path: Path, engine: Engine) -> DraftModel:
    """Load a draft network, onto a GPU if there is one. Raises DraftRejected."""
    from models.engine import Ends
    from models.llama_features import LlamaFeatureEngine
    from models.speculative.network_drafter import NetworkDrafter
    from models.speculative.network_file import load

    assert isinstance(engine, LlamaFeatureEngine), "engine_type chose the engine by the same setting"
    try:
        network = load(path, engine.info, device := _gpu())
        file = path.stat()
    except (JackdawError, OSError, RuntimeError) as error:  # torch's, as where the GPU's memory is full
        raise _rejected(path.name, str(error)) from error
    key = f"network {path.name} {file.st_size} {file.st_mtime_ns} {device}".strip()
    return DraftModel(path.name, key, partial(NetworkDrafter, network, engine, Ends(engine)), lambda: None)


def _loaded(weights: Weights, chosen: str, engine: Engine, path: Path, threads: int, free: int) -> DraftModel:
    """Load the drafting model. Raises DraftRejected."""
    from models.llama_cpp import LlamaCppEngine
    from models.llama_model import LlamaModel
    from models.soundness import require_sound

    info, name = engine.info, chosen
    try:
        entry = drafter_entry(chosen)
        assert entry
        name = entry.name
        require_sound(file := weights.path(entry))
        needed = forecast(weights, entry, Room(info.prompt_room, info.kv_type))
        taken = model_size(path) + info.kv_bytes_per_token * info.context
        require_room(replace(needed, free_memory=max(0, free - taken)))
        small = LlamaCppEngine(
            LlamaModel(file), context=info.prompt_room, sequences=1, threads=threads, kv_type=info.kv_type
        )
    except (JackdawError, OSError) as error:
        raise _rejected(name, str(error)) from error
    try:
        require_fit(engine, small)
    except EngineError as error:
        small.close()
        raise _rejected(name, str(error)) from error
    return DraftModel(name, small.info.kv_key, partial(SmallModel, small), small.close)


def require_room(needed: Forecast) -> None:
    """Raise UsageError, with the figures, if too little memory is left for the drafting model beside the answering
    one.
    """
    if not needed.fits_memory:
        raise UsageError(f"it {needed.needs} beside the model that answers. Free some memory, or choose a smaller one.")


def require_fit(engine: Engine, small: Engine) -> None:
    """Raise EngineError, with the reason, unless the small model can draft for the model in `engine`.

    Both need the same vocabulary, token by token; the small model has to give finite logits, and has to be able to roll
    back single tokens.
    """
    if small.info.model_hash == engine.info.model_hash:
        raise EngineError("it is the model that answers, and cannot be faster than itself. Choose a smaller one.")
    if different := different_token(engine, small):
        raise EngineError(f"it has another vocabulary: {different}. Choose a smaller model of the same family.")
    if not small.info.sliceable:
        raise EngineError("it would have to read the whole text again after each rejected token. Choose another model.")
    SmallModel(small, [0]).draft(1)
    small.clear(0)


def different_token(engine: Engine, small: Engine) -> str:
    """Return a clause that names the first token in which the vocabularies differ; "" if they are the same."""
    if engine.vocabulary_hash() == small.vocabulary_hash():
        return ""
    sizes = engine.info.vocabulary, small.info.vocabulary
    for token in range(min(sizes)):
        own, other = (_spelled(each, token) for each in (engine, small))
        if own != other:
            return f"token {token:,} is {other} and not {own}"
    if sizes[0] != sizes[1]:
        return f"{sizes[1]:,} tokens and not {sizes[0]:,}"
    return "a control token differs"


def _spelled(engine: Engine, token: int) -> str:
    text = engine.detokenize([token]).decode("utf-8", "backslashreplace")
    return f"“{safe_line(text)[:_LONGEST_TEXT]}”"


def _rejected(name: str, why: str) -> DraftRejected:
    return DraftRejected(f"{safe_line(name)} cannot draft tokens, so answers are written without it: {why}")
