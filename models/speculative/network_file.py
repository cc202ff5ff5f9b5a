"""Reads the file of a draft network, and refuses a file that is damaged or was made for another model."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import DecodeError, json

from models import tensor_file
from models.engine import EngineInfo
from models.speculative.network import DraftNetwork, Network, Shape
from shared.errors import DraftRejected, WeightsDamaged, WeightsMissing

FORMAT: Final = "jackdaw draft network 1"


def target_of(info: EngineInfo) -> str:
    """Return an identifier of the model, with its adapter, whose text and features a draft network predicts."""
    return identity(info.model_hash, info.adapter)


def identity(model_hash: str, adapter_hash: str) -> str:
    """Return the identifier of a model (`target_of`), by its hash and that of its adapter ("" without one)."""
    return f"{model_hash} {adapter_hash}".strip()


@dataclass(frozen=True, slots=True)
class About:
    """The metadata of a draft network's file: the identity of its target model, and the network's shape."""

    target: str
    shape: Shape


def said(about: About) -> dict[str, str]:
    """Return the metadata as a file stores them: in a single key, because the package safetensors writes several keys
    in any order.
    """
    return {FORMAT: json.encode(asdict(about)).decode()}


def about(metadata: Mapping[str, str]) -> About:
    """Return the draft network's metadata. Raises KeyError if the file is not a draft network, and DecodeError."""
    return json.decode(metadata[FORMAT], type=About)


def require_fit(path: Path, model: str, target: str, vocabulary: int) -> None:
    """Raise WeightsMissing, WeightsDamaged or DraftRejected unless the file's network was made for the model named
    `model`, with the identity `target` and that size of its vocabulary. The network's weights are not checked.
    """
    _fitting(path, model, target, vocabulary)


def load(path: Path, info: EngineInfo, device: str = "") -> Network:
    """Return the network in a file, for the engine with the given facts; on a torch device if one is given.

    Raises WeightsMissing, WeightsDamaged (cut short, a tensor missing, not a number) and DraftRejected.
    """
    shape, tensors = _fitting(path, info.model, target_of(info), info.vocabulary)
    if shape.blocks > len(tensors):  # before the names of all blocks are made
        raise _damaged(path, f"no draft network has {shape.blocks:,} blocks and only {len(tensors)} tensors")
    for name, expected in {**shape.trained(), **shape.taken()}.items():
        if name not in tensors or tensors[name].shape != expected:
            raise _damaged(path, f"the tensor {name} is missing or has another shape")
        if name != "embedding" and not np.isfinite(tensors[name]).all():  # the embeddings are not read as a whole
            raise _damaged(path, f"the tensor {name} has values that are not numbers")
    ids = tensors["vocabulary"]
    if ids.dtype.kind != "i" or not ((ids >= 0) & (ids < shape.tokens)).all():
        raise _damaged(path, "its vocabulary names tokens that do not exist")
    if device:
        from models.speculative.torch_network import TorchNetwork

        return TorchNetwork(shape, tensors, device)
    return DraftNetwork(shape, tensors)


def _fitting(path: Path, model: str, target: str, vocabulary: int) -> tuple[Shape, dict[str, npt.NDArray[Any]]]:
    """Return the shape and the tensors of a network that was made for the given model."""
    try:
        metadata, tensors = tensor_file.read(path)
    except FileNotFoundError:
        raise WeightsMissing(
            f"There is no draft network {path}. Name another one, or set model.draft to auto."
        ) from None
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    try:
        known = about(metadata)
    except KeyError:
        raise _damaged(path, "it is no draft network") from None
    except DecodeError as error:
        raise _damaged(path, str(error)) from error
    if target.startswith(f"{known.target} "):
        raise DraftRejected(
            f"The draft network {path} was made for {model} without an adapter. Set model.adapter to off, or name "
            "another network."
        )
    if known.target != target:
        raise DraftRejected(
            f"The draft network {path} was made for a model other than {model}, or for another adapter."
        )
    if known.shape.tokens != vocabulary:
        raise DraftRejected(
            f"The draft network {path} knows {known.shape.tokens:,} tokens, {model} has {vocabulary:,}."
        )
    return known.shape, tensors


def _damaged(path: Path, reason: str) -> WeightsDamaged:
    return WeightsDamaged(f"The draft network {path} cannot be used: {reason}. Train it again, or name another one.")
