"""Loads a GGUF file's weights as tensors; they are dequantised once and cached in a safetensors file. Computes nothing
else.

Needs the research extra. Reading and dequantising the default model takes some 8 s, reading the cached file 1 s.
"""

import os
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch
from gguf import GGUFReader, dequantize
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from shared.errors import EngineError, WeightsDamaged, WeightsError

_FORMAT = "jackdaw torch 1"
_OF_A_LAYER = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes and the two arithmetic constants of a plain Llama. `head` is the width of one head."""

    layers: int
    heads: int
    kv_heads: int
    head: int
    epsilon: float
    rope_base: float


Tensors = dict[str, torch.Tensor]
"""Float16 tensors by GGUF's names ("blk.0.attn_q.weight"). The output head is absent if it equals the embedding.

A Q8_0 weight's error is 2⁻⁸ of the largest in its block, float16's 2⁻¹¹ of the weight itself.
"""


def load(path: Path, model_hash: str, folder: Path) -> tuple[Shape, Tensors]:
    """Return a GGUF file's weights: from the cache in `folder` under the given hash, else dequantised and then cached
    there.

    Raises EngineError if the model is not a plain Llama, WeightsDamaged, and WeightsError if the cache cannot be
    written.
    """
    file = folder / f"{model_hash}.safetensors"
    kept = _read(file)
    if kept is None:
        kept = _dequantised(path)
        _write(file, *kept)
    return kept


def _read(path: Path) -> tuple[Shape, Tensors] | None:
    """Return the cached weights; None if they are missing, damaged or of another format."""
    try:
        with safe_open(path, framework="pt") as file:
            said = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        shape = msgspec.json.decode(said.get("shape", ""), type=Shape)
    except (OSError, SafetensorError, msgspec.DecodeError):
        return None
    return (shape, tensors) if said == _about(shape, tensors) else None


def _write(path: Path, shape: Shape, tensors: Tensors) -> None:
    """Write the cache file, complete or not at all, readable by the user alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".torch-") as room:
            fresh = Path(room) / path.name
            save_file(tensors, fresh, _about(shape, tensors))
            fresh.chmod(0o600)
            with fresh.open("rb") as file:
                os.fsync(file.fileno())
            fresh.replace(path)
    except (OSError, SafetensorError) as error:
        raise WeightsError(
            f"{path} cannot be written ({error}). Make room for it, or choose another folder."
        ) from error


def _about(shape: Shape, tensors: Tensors) -> dict[str, str]:
    """Return the metadata for the cache file's header, with a CRC-32 of all its numbers."""
    checksum = 0
    for name in sorted(tensors):
        checksum = zlib.crc32(tensors[name].numpy().data, zlib.crc32(name.encode(), checksum))
    return {"format": _FORMAT, "shape": msgspec.json.encode(shape).decode(), "checksum": str(checksum)}


def _dequantised(path: Path) -> tuple[Shape, Tensors]:
    try:
        reader = GGUFReader(path)
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise WeightsDamaged(f"{path} cannot be read ({error}). Pull it again with `jackdaw models pull`.") from error
    shape = _shape(reader, path.name)
    expected = {f"blk.{layer}.{part}.weight" for layer in range(shape.layers) for part in _OF_A_LAYER}
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if {*tensors} - {"output.weight"} != expected | {"token_embd.weight", "output_norm.weight"}:
        raise _not_plain(path.name)
    # Dequantising copies all tensors except those in float32, which stay in the read-only file: hence the conversion.
    arrays = {name: dequantize(tensor.data, tensor.tensor_type).astype("float16") for name, tensor in tensors.items()}
    return shape, {name: torch.from_numpy(array) for name, array in arrays.items()}


def _shape(reader: GGUFReader, name: str) -> Shape:
    def said(key: str, other: Any = None) -> Any:
        field = reader.get_field(key)
        return field.contents() if field else other

    if said("general.architecture") != "llama" or said("llama.rope.scaling.type", "none") != "none":
        raise _not_plain(name)
    heads = said("llama.attention.head_count")
    return Shape(
        layers=said("llama.block_count"),
        heads=heads,
        kv_heads=said("llama.attention.head_count_kv", heads),
        head=said("llama.embedding_length") // heads,
        epsilon=said("llama.attention.layer_norm_rms_epsilon"),
        rope_base=said("llama.rope.freq_base", 10_000.0),
    )


def _not_plain(name: str) -> EngineError:
    return EngineError(
        f"{name} is not a plain Llama model, the only kind that the torch engine supports. Choose another model."
    )
