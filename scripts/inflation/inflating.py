"""Writes a GGUF of a larger Llama that computes the same function as a small one, tensor by tensor.

Widths are padded with zeros. RMSNorm divides by the mean square over the width, so its weights are multiplied by
sqrt(d/D) and its epsilon by d/D. Additional heads and feed-forward columns have zero weights on both sides; additional
layers write zeros. Quantised blocks are copied unchanged. The text is the small model's, the cost the larger shape's.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gguf import GGML_QUANT_SIZES, GGUFReader, GGUFValueType, GGUFWriter

from scripts.inflation.shapes import CannotInflate, Shape, places

_LAYER: Final = re.compile(r"blk\.(\d+)\.(\w+)\.weight")
_NORMS: Final = ("attn_norm", "ffn_norm", "output_norm")
_WRITES: Final = ("attn_output", "ffn_down")
"""The parts of a layer whose output is added to the hidden states."""

_OWN: Final = ("GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.architecture")
"""The metadata keys that the GGUF writer adds itself."""

_ROOM: Final = 1 << 28
"""The bytes of disk space that are left free."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """The mapping of one axis of a matrix: its new size, and the new index of each old index."""

    size: int
    old: npt.NDArray[np.intp]
    new: npt.NDArray[np.intp]

    def in_blocks(self, block: int) -> "_Axis":
        """Return the axis counted in blocks of `block` values. Raises CannotInflate if a part of a block would move."""
        if self.size % block or len(self.old) % block:
            raise CannotInflate(f"A width is not a multiple of {block}, the size of a block. Choose another type.")
        old, new = self.old[::block], self.new[::block]
        if (old % block).any() or (new % block).any():
            raise CannotInflate(
                f"The width of a head is not a multiple of {block}, the size of a block. Choose another type."
            )
        return _Axis(self.size // block, old // block, new // block)


def _padded(old: int, new: int) -> _Axis:
    return _Axis(new, np.arange(old), np.arange(old))


def _moved(pairs: Sequence[tuple[int, int]], count: int, width: int) -> _Axis:
    """Return the mapping of a matrix axis on which heads move to new places, given as `pairs` (old, new)."""
    within = np.arange(width)
    old, new = (np.add.outer(np.array(side) * width, within).ravel() for side in zip(*pairs, strict=True))
    return _Axis(count * width, old, new)


class _Inflation:
    """Computes each tensor of the larger model from the small model's weights, which are read as they are needed."""

    def __init__(self, source: Path, shape: Shape) -> None:
        self.reader = GGUFReader(source)
        if self._value("general.architecture") != "llama":
            raise CannotInflate(f"{source.name} is not a Llama, the only kind of model that can be inflated.")
        self.small = Shape(
            *(
                int(self._value(f"llama.{key}"))
                for key in (
                    "embedding_length",
                    "attention.head_count",
                    "attention.head_count_kv",
                    "feed_forward_length",
                    "block_count",
                )
            )
        )
        self.shape = shape
        self._tensors = {tensor.name: tensor for tensor in self.reader.tensors}
        heads, key_heads = places(self.small, shape)
        head = self.small.width // self.small.heads
        width = _padded(self.small.width, shape.width)
        feed_forward = _padded(self.small.feed_forward, shape.feed_forward)
        queries, keys = _moved(heads, shape.heads, head), _moved(key_heads, shape.key_heads, head)
        self._axes: Mapping[str, tuple[_Axis, _Axis]] = {  # what a part writes, and what it reads
            "attn_q": (queries, width),
            "attn_k": (keys, width),
            "attn_v": (keys, width),
            "attn_output": (width, queries),
            "ffn_gate": (feed_forward, width),
            "ffn_up": (feed_forward, width),
            "ffn_down": (width, feed_forward),
        }
        self._width = width

    def values(self, name: str) -> Iterator[tuple[str, Any, GGUFValueType, GGUFValueType | None]]:
        """Yield the metadata keys of the header with their values, types and, for arrays, the types of their
        elements.
        """
        ratio = self.small.width / self.shape.width
        epsilon = "llama.attention.layer_norm_rms_epsilon"
        changed = {
            "general.size_label": f"{name}, inflated",
            "llama.embedding_length": self.shape.width,
            "llama.attention.head_count": self.shape.heads,
            "llama.attention.head_count_kv": self.shape.key_heads,
            "llama.feed_forward_length": self.shape.feed_forward,
            "llama.block_count": self.shape.layers,
            epsilon: self._value(epsilon) * ratio,
        }
        for field in self.reader.fields.values():
            if field.name not in _OWN:
                kind = field.types[0]
                of = field.types[-1] if kind == GGUFValueType.ARRAY else None
                yield field.name, changed.get(field.name, field.contents()), kind, of

    def names(self) -> list[str]:
        """Return the names of all new tensors, in the order of the file."""
        layers = [name for name in self._tensors if name.startswith("blk.0.")]
        further = range(self.small.layers, self.shape.layers)
        return [*self._tensors, *(f"blk.{layer}.{name.removeprefix('blk.0.')}" for layer in further for name in layers)]

    def shape_of(self, name: str) -> tuple[tuple[int, ...], Any]:
        """Return a new tensor's shape, in bytes if it is quantised, and its ggml type."""
        tensor, part, _ = self._part(name)
        if part in _NORMS:
            return (self.shape.width,), tensor.tensor_type
        rows, columns, size = self._matrix(tensor, part)
        return (rows.size, columns.size * size), tensor.tensor_type

    def made(self, name: str) -> npt.NDArray[Any]:
        """Return a new tensor: float32, shape (width,), for a norm; else bytes, shape (rows, bytes of a row)."""
        tensor, part, is_further = self._part(name)
        if part in _NORMS:
            norm = np.zeros(self.shape.width, np.float32)
            norm[: self.small.width] = tensor.data * np.float32(sqrt(self.small.width / self.shape.width))
            return norm
        rows, columns, size = self._matrix(tensor, part)
        made = np.zeros((rows.size, columns.size, size), np.uint8)
        if not (is_further and part in _WRITES):
            blocks = np.ascontiguousarray(tensor.data).view(np.uint8).reshape(int(tensor.shape[1]), -1, size)
            made[np.ix_(rows.new, columns.new)] = blocks[np.ix_(rows.old, columns.old)]
        return made.reshape(rows.size, -1)

    def _matrix(self, tensor: Any, part: str) -> tuple[_Axis, _Axis, int]:
        """Return a matrix's rows, its columns counted in blocks, and the bytes of a block."""
        block, size = GGML_QUANT_SIZES[tensor.tensor_type]
        vocabulary = int(tensor.shape[1])
        rows, columns = self._axes.get(part, (_padded(vocabulary, vocabulary), self._width))
        return rows, columns.in_blocks(block), size

    def _part(self, name: str) -> tuple[Any, str, bool]:
        """Return the small tensor from which a new tensor is made, the part of the model to which it belongs, and
        whether its layer is new.
        """
        layer = _LAYER.fullmatch(name)
        number, part = (int(layer[1]), layer[2]) if layer else (0, name.removesuffix(".weight"))
        is_further = number >= self.small.layers
        known = (*self._axes, "attn_norm", "ffn_norm") if layer else ("token_embd", "output", "output_norm")
        if part not in known:
            raise CannotInflate(f"The model has a tensor {name}, which cannot be inflated. Choose a plain Llama.")
        return self._tensors[f"blk.0.{part}.weight" if is_further else name], part, is_further

    def _value(self, key: str) -> Any:
        field = self.reader.get_field(key)
        if field is None:
            raise CannotInflate(f"The weights do not say their {key}. Choose others.")
        return field.contents()


def inflate(source: Path, target: Path, shape: Shape, name: str, progress: Callable[[int, int], None]) -> None:
    """Write the weights in `source`, inflated to the given shape and called `name`, to `target`, which appears complete
    or not at all.

    `progress` is called with the bytes written so far and those in total. The bytes are the same each time. Raises
    CannotInflate, OSError.
    """
    inflation = _Inflation(source, shape)
    shapes = {tensor: inflation.shape_of(tensor) for tensor in inflation.names()}
    total = sum(int(np.prod(size)) * (4 if len(size) == 1 else 1) for size, _ in shapes.values())
    if (free := shutil.disk_usage(target.parent).free) < total + _ROOM:
        raise CannotInflate(f"{target.parent} has {free >> 20:,} MiB free; {(total + _ROOM) >> 20:,} are needed.")
    handle, fresh = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    try:
        _write(Path(fresh), inflation, name, shapes, lambda done: progress(done, total))
        with Path(fresh).open("rb") as file:
            os.fsync(file.fileno())
        Path(fresh).replace(target)
    finally:
        Path(fresh).unlink(missing_ok=True)


def _write(
    path: Path,
    inflation: _Inflation,
    name: str,
    shapes: Mapping[str, tuple[tuple[int, ...], Any]],
    progress: Callable[[int], None],
) -> None:
    writer = GGUFWriter(path, "llama")
    try:
        for key, value, kind, of in inflation.values(name):
            writer.add_key_value(key, value, kind, sub_type=of)
        for tensor, (size, kind) in shapes.items():
            is_norm = len(size) == 1
            dtype = np.dtype(np.float32 if is_norm else np.uint8)
            writer.add_tensor_info(tensor, size, dtype, int(np.prod(size)) * dtype.itemsize, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        done = 0
        for tensor in shapes:
            made = inflation.made(tensor)
            writer.write_tensor_data(made)
            progress(done := done + made.nbytes)
    finally:
        writer.close()
