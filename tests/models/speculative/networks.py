"""Small draft networks with random weights, and their files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models.engine import Logits
from models.fake import FakeEngine
from models.features import Features
from models.speculative.network import DraftNetwork, Floats, Held, Shape
from shared.errors import EngineError

_TYPES = {"float16": "F16", "float32": "F32", "int32": "I32"}


WIDTH = 8


def small_shape(**changes: Any) -> Shape:
    sizes = {"width": WIDTH, "heads": 2, "kv_heads": 1, "head": 4, "inner": 12, "tokens": 258, "drafted": 5}
    return Shape(**{"fusion": "gated", "blocks": 1, "epsilon": 1e-5, "rope_base": 1e4, **sizes, **changes})


def tensors(own: Shape) -> dict[str, Any]:
    draw = np.random.default_rng(0)
    sizes = {**own.trained(), **own.taken()}
    made: dict[str, Any] = {name: draw.standard_normal(size).astype(np.float16) for name, size in sizes.items()}
    return made | {"vocabulary": np.arange(own.drafted, dtype=np.int32)}


def write(path: Path, arrays: dict[str, Any], metadata: dict[str, str]) -> Path:
    """Write a safetensors file without the package safetensors."""
    header: dict[str, Any] = {"__metadata__": metadata}
    data = b""
    for name, array in arrays.items():
        header[name] = {
            "dtype": _TYPES[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data)
    return path


class Knowing(DraftNetwork):
    """A network that knows the text, but for each third token."""

    def __init__(self, shape: Shape, text: Sequence[int]) -> None:
        super().__init__(shape, tensors(shape) | {"vocabulary": np.arange(shape.tokens, dtype=np.int32)})
        self._text = text

    def step(
        self, held: Held, features: Floats, tokens: Any, positions: Any, visible: npt.NDArray[np.bool_] | None = None
    ) -> tuple[Floats, Floats]:
        logits = np.zeros((len(features), self.shape.tokens), np.float32)
        for own, place in zip(logits, positions, strict=True):
            right = self._text[place + 1] if place + 1 < len(self._text) else 0
            own[right if place % 3 else 7] = 9.0
        return super().step(held, features, tokens, positions, visible)[0], logits


def feature(place: int, token: int) -> Features:
    return np.random.default_rng(1000 * place + token).standard_normal(WIDTH).astype(np.float32)


class Featured(FakeEngine):
    """A fake engine whose features depend on each token and its place. It may come before another fake in a class."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._passed: dict[int, int] = {}  # by sequence: the number of tokens of the last pass

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self._passed = dict.fromkeys(tokens, 1)
        return super().decode(tokens)

    def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
        logits = super().verify(tokens)
        self._passed = {sequence: len(own) for sequence, own in tokens.items()}
        return logits

    def features(self, sequence: int) -> Features:
        if sequence not in self._passed:
            raise EngineError("the last pass has no such sequence")
        held = self.tokens(sequence)
        places = range(len(held) - self._passed[sequence], len(held))
        return np.stack([feature(place, held[place]) for place in places])
