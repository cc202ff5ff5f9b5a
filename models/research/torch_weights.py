"""The weights of a GGUF file as tensors: dequantised once, then kept in a safetensors file. Knows no computation.

Needs the research extra. Reading and dequantising the default model takes some 8 s, what was kept 1 s.
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
    """A plain Llama: its sizes, and the two constants of its arithmetic. `head` is the width of one head."""

    layers: int
    heads: int
    kv_heads: int
    head: int
    epsilon: float
    rope_base: float


Tensors = dict[str, torch.Tensor]
"""By GGUF's names ("blk.0.attn_q.weight"), in float16: a Q8_0 weight is off by 2⁻⁸ of its block's largest, this by 2⁻¹¹
of itself. The head is there under its own name only where it is not the embedding."""


def load(path: Path, model_hash: str, folder: Path) -> tuple[Shape, Tensors]:
    """The weights of a GGUF file, from `folder` where they were kept under this hash of it, else made and kept there.

    Raises EngineError for what is no plain Llama, WeightsDamaged, and WeightsError where they cannot be kept.
    """
    file = folder / f"{model_hash}.safetensors"
    kept = _read(file)
    if kept is None:
        kept = _dequantised(path)
        _write(file, *kept)
    return kept


def _read(path: Path) -> tuple[Shape, Tensors] | None:
    """What was kept; None where nothing was, or it is damaged or of another format."""
    try:
        with safe_open(path, framework="pt") as file:
            said = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
        shape = msgspec.json.decode(said.get("shape", ""), type=Shape)
    except (OSError, SafetensorError, msgspec.DecodeError):
        return None
    return (shape, tensors) if said == _about(shape, tensors) else None


def _write(path: Path, shape: Shape, tensors: Tensors) -> None:
    """Appears whole or not at all, and is the person's alone."""
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
    """What is said in the file's head, a CRC-32 of all numbers in it."""
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
    # The quantiser makes arrays of its own but for what was float32 already: those lie in the read-only file.
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
    return EngineError(f"{name} is not a plain Llama, which is all that the torch engine computes. Name another model.")
