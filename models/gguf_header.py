"""Reads the header of a GGUF file: keys, values, names and shapes of tensors. Independent of llama.cpp; reads no
weights.

The file is not trusted: counts and lengths are checked before they are used. Layout: ggml's `docs/gguf.md`.
"""

import math
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"GGUF"
_VERSIONS = (2, 3)  # they do not differ in anything that is read here
_MOST_KEYS, _MOST_TENSORS = 10_000, 10_000
_MOST_ELEMENTS, _MOST_BYTES = 4_000_000, 1 << 20  # the lengths of an array and of a string
_DIMENSIONS = 4

UINT32, FLOAT32, STRING, ARRAY = 4, 6, 8, 9
_SCALARS = dict(zip((0, 1, 2, 3, UINT32, 5, FLOAT32, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
"""The `struct` format letter of each scalar type, by GGUF's number of the type."""

_BLOCKS = {0: ("F32", 4, 1), 1: ("F16", 2, 1), 8: ("Q8_0", 34, 32), 30: ("BF16", 2, 1)}
"""For each tensor type, by ggml's number: its name, the number of bytes and the number of values of a block."""


class Malformed(ValueError):
    """A fault in a file's header, described in a few words."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value and GGUF's number of its type. For an array, `held` is its number of elements."""

    type: int
    held: str | float


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's name and its shape in GGUF's order, which begins with the length of a row."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """The keys with their values, and the tensors, that a GGUF header lists."""

    values: dict[str, Value]
    tensors: tuple[Tensor, ...]


def read_values(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """Yield the keys with their values from the start of the file. Raises Malformed.

    An array is skipped only when the next key is requested, because skipping a vocabulary takes 20 ms.
    """
    _, count = _counts(file)
    return _values(file, count)


def read_header(file: BinaryIO) -> Header:
    """Read the whole header of an adapter and check that all its tensors are present. Raises Malformed."""
    tensor_count, values = _head(file)
    padding = _alignment(values.get("general.alignment"))
    tensors: dict[str, Tensor] = {}
    stop = 0  # the expected offset of the next tensor in the part with the weights
    for _ in range(tensor_count):
        tensor, kind, offset = _tensor(file)
        size = _bytes(tensor, kind)
        if tensor.name in tensors:
            raise Malformed(f"the file has the tensor {tensor.name} twice")
        if offset != stop:
            raise Malformed(f"the tensor {tensor.name} is at a wrong offset")
        tensors[tensor.name] = tensor
        end = stop + size
        stop = _padded(end, padding)
    if tensor_count:
        begin = _padded(file.tell(), padding)
        size = file.seek(0, os.SEEK_END)
        if size < begin + end:
            raise Malformed(f"the file is cut short: {begin + end:,} bytes were written, {size:,} are there")
        if size > begin + stop:
            raise Malformed("data follows its last tensor")
    return Header(values, tuple(tensors.values()))


def read_outline(file: BinaryIO) -> Header:
    """Read the header of a model, whose tensors may have any type. Does not check that the file holds the tensors.
    Raises Malformed.
    """
    tensor_count, values = _head(file)
    return Header(values, tuple(_tensor(file)[0] for _ in range(tensor_count)))


def _head(file: BinaryIO) -> tuple[int, dict[str, Value]]:
    """Return the number of tensors, and the values by their keys."""
    tensor_count, count = _counts(file)
    values: dict[str, Value] = {}
    for key, value in _values(file, count):
        if key in values:
            raise Malformed(f"it has the key {key} twice")
        values[key] = value
    return tensor_count, values


def _counts(file: BinaryIO) -> tuple[int, int]:
    if _take(file, len(MAGIC)) != MAGIC:
        raise Malformed("it is not a GGUF file")
    version, tensors, values = struct.unpack("<IQQ", _take(file, 20))
    if version not in _VERSIONS:
        raise Malformed(f"it is GGUF of version {version}, which is not known")
    if tensors > _MOST_TENSORS or values > _MOST_KEYS:
        raise Malformed(f"it claims {tensors:,} tensors and {values:,} keys, which is too many")
    return tensors, values


def _values(file: BinaryIO, count: int) -> Iterator[tuple[str, Value]]:
    for _ in range(count):
        key = _text(file)
        # C ends a key at a zero byte, so llama.cpp would read another key.
        if not (key and key.isascii() and key.isprintable()):
            raise Malformed("a key is not printable")
        (kind,) = _numbers(file, "I")
        if kind == STRING:
            yield key, Value(kind, _text(file))
        elif kind == ARRAY:
            of, length = _numbers(file, "IQ")
            if length > _MOST_ELEMENTS:
                raise Malformed(f"it claims a list of {length:,} elements, which is too long")
            yield key, Value(kind, length)
            _pass_over(file, of, length)
        else:
            (number,) = _numbers(file, _letter(kind))
            yield key, Value(kind, number)


def _pass_over(file: BinaryIO, of: int, length: int) -> None:
    if of == STRING:
        for _ in range(length):
            file.seek(_length(file), os.SEEK_CUR)
    else:
        file.seek(length * struct.calcsize(_letter(of)), os.SEEK_CUR)


def _tensor(file: BinaryIO) -> tuple[Tensor, int, int]:
    """Read a tensor's name and shape; return them with ggml's number of its type and its offset."""
    name = _text(file)
    (dimensions,) = _numbers(file, "I")
    if not 1 <= dimensions <= _DIMENSIONS:
        raise Malformed(f"a tensor has {dimensions:,} dimensions")
    shape = _numbers(file, "Q" * dimensions)
    kind, offset = _numbers(file, "IQ")
    return Tensor(name, tuple(shape)), kind, offset


def _bytes(tensor: Tensor, kind: int) -> int:
    """Return the size in bytes of an adapter's tensor."""
    if kind not in _BLOCKS:
        known = ", ".join(name for name, _, _ in _BLOCKS.values())
        raise Malformed(f"its numbers are of a type (ggml's {kind}) that is none of {known}")
    _, block, values = _BLOCKS[kind]
    shape = tensor.shape
    if not all(shape) or shape[0] % values:
        raise Malformed(f"a tensor cannot have the shape {' x '.join(map(str, shape))}")
    return math.prod(shape) // values * block


def _alignment(value: Value | None) -> int:
    if value is None:
        return 32
    held = value.held
    if value.type != UINT32 or not isinstance(held, int) or held.bit_count() != 1:
        raise Malformed("its alignment is not a power of two")
    return held


def _padded(size: int, to: int) -> int:
    return -(-size // to) * to


def _letter(kind: int) -> str:
    if kind not in _SCALARS:
        raise Malformed(f"a value is of a type ({kind}) that is not known")
    return _SCALARS[kind]


def _text(file: BinaryIO) -> str:
    return _take(file, _length(file)).decode("utf-8", "replace")


def _length(file: BinaryIO) -> int:
    (length,) = _numbers(file, "Q")
    if length > _MOST_BYTES:
        raise Malformed(f"it claims a text of {length:,} bytes, which is too long")
    return int(length)


def _numbers(file: BinaryIO, letters: str) -> tuple[int, ...]:
    return struct.unpack(f"<{letters}", _take(file, struct.calcsize(f"<{letters}")))


def _take(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise Malformed("the file is cut short")
    return data
