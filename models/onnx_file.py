"""Writes ONNX files without the package onnx: only the part of the format that a graph with a separate file of weights
needs.

The format is protobuf; field numbers are those of onnx.proto, which never change. Independent of models.
"""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FLOAT, INT32, INT64 = 1, 6, 7
"""Types of elements, by their numbers in TensorProto.DataType."""

_TYPES = {np.dtype("<f4"): FLOAT, np.dtype("<i8"): INT64}
_INLINE_BYTES = 1024
"""Tensors of fewer bytes are stored in the graph's file itself."""

Weights = Sequence[tuple[str, npt.NDArray[Any]]]


def node(operator: str, inputs: Iterable[str], output: str, domain: str | None = None, **attributes: float) -> bytes:
    """Return a NodeProto with one output. An attribute is an INT or a FLOAT, by its Python type."""
    parts = [_bytes(1, name) for name in inputs]
    parts += [_bytes(2, output), _bytes(4, operator)]
    parts += [_bytes(5, _attribute(name, attributes[name])) for name in sorted(attributes)]
    return b"".join(parts) + (b"" if domain is None else _bytes(7, domain))


def value(name: str, kind: int, shape: Iterable[str | int]) -> bytes:
    """Return a ValueInfoProto: an input or output with the given element type; a dimension is given by its length or
    its name.
    """
    dimensions = (_number(1, length) if isinstance(length, int) else _bytes(2, length) for length in shape)
    tensor = _number(1, kind) + _bytes(2, b"".join(_bytes(1, dimension) for dimension in dimensions))
    return _bytes(1, name) + _bytes(2, _bytes(1, tensor))


def opset(domain: str, version: int) -> bytes:
    """Return an OperatorSetIdProto: a set of operators and its version."""
    return _bytes(1, domain) + _number(2, version)


def write_weights(path: Path, weights: Weights) -> list[bytes]:
    """Write the longer tensors (float32 or int64) to a new file and return the TensorProto of each tensor."""
    protos = []
    with path.open("wb") as file:
        for name, values in weights:
            head = [_number(1, length) for length in values.shape]
            head += [_number(2, _TYPES[values.dtype]), _bytes(8, name)]
            raw = values.tobytes()
            if len(raw) < _INLINE_BYTES:
                protos.append(b"".join(head) + _bytes(9, raw))
                continue
            place = {"location": path.name, "offset": str(file.tell()), "length": str(len(raw))}
            head += [_bytes(13, _bytes(1, key) + _bytes(2, said)) for key, said in place.items()]
            protos.append(b"".join(head) + _number(14, 1))  # data_location: EXTERNAL
            file.write(raw)
    return protos


def model(
    name: str,
    nodes: Iterable[bytes],
    tensors: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
    opsets: Iterable[bytes],
    ir_version: int,
) -> bytes:
    """Return a ModelProto with a graph of the given parts."""
    graph = [_bytes(1, part) for part in nodes] + [_bytes(2, name)]
    for field, parts in ((5, tensors), (11, inputs), (12, outputs)):
        graph += [_bytes(field, part) for part in parts]
    sets = [_bytes(8, part) for part in opsets]
    return _number(1, ir_version) + _bytes(7, b"".join(graph)) + b"".join(sets)


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, 2)
    return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative numbers are written as their 64-bit complement
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def _number(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes(field: int, content: bytes | str) -> bytes:
    if isinstance(content, str):
        content = content.encode()
    return _varint(field << 3 | 2) + _varint(len(content)) + content
