"""Reads safetensors files without the package safetensors: memory-mapped tensors, and the metadata in the header."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {"F32": "<f4", "F16": "<f2", "I32": "<i4", "I64": "<i8"}


def read(path: Path) -> tuple[dict[str, str], dict[str, npt.NDArray[Any]]]:
    """Return the file's metadata, and its tensors by name, mapped read-only; tensors of types other than F32, F16, I32
    and I64 are left out.

    Raises ValueError if header and length disagree, OSError if the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        # A corrupt length must not become an allocation.
        header = json.loads(file.read(min(length, size)))
    try:
        said = header.pop("__metadata__", {})
        end = max((facts["data_offsets"][1] for facts in header.values()), default=0)
        if size != 8 + length + end:
            raise ValueError(f"{8 + length + end:,} bytes were written, {size:,} are there")
        data = np.memmap(path, mode="r", offset=8 + length, dtype=np.uint8)
        tensors = {
            name: _tensor(data[slice(*facts["data_offsets"])], facts["dtype"], facts["shape"])
            for name, facts in header.items()
            if facts["dtype"] in _TYPES
        }
        return {str(key): str(value) for key, value in said.items()}, tensors
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"its header is damaged: {error!r}") from None


def _tensor(data: npt.NDArray[np.uint8], kind: str, shape: list[int]) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.ndarray.view(data, np.ndarray).view(_TYPES[kind])
    if array.size != math.prod(shape):
        raise ValueError(f"a tensor of {shape} has {array.size} numbers")
    return array.reshape(shape)
