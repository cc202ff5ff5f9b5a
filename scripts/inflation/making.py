"""Makes inflated weights of the default model in each quantisation type, from the model file of that type or of the
nearest one.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from models.catalog import Weights, find
from models.quantize import requantise
from scripts.inflation.inflating import inflate
from scripts.inflation.shapes import SHAPES
from scripts.inflation.targets import MODEL

Type = Literal["q8_0", "q4_1", "q4_0", "q4_k_m"]


def make(
    folder: Weights, target: Path, shape: str, kind: Type, threads: int, progress: Callable[[int, int], None]
) -> None:
    """Write weights of the given shape and type to `target`, which appears complete or not at all.

    Q8_0 and Q4_1 are copied from the default model's own files. For Q4_0 the small weights are requantised first; for
    Q4_K_M, whose blocks are wider than the small model's heads, the large ones afterwards. Raises CannotInflate,
    WeightsError, OSError.
    """
    small = folder.path(find(MODEL))
    if kind == "q4_1":
        small = folder.path(find(f"{MODEL}-q4_1"))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as room:
        if kind == "q4_0":
            requantise(small, Path(room, "small.gguf"), kind, threads=threads)
            small = Path(room, "small.gguf")
        large = Path(room, "large.gguf") if kind == "q4_k_m" else target
        inflate(small, large, SHAPES[shape], shape, progress)
        if kind == "q4_k_m":
            requantise(large, target, kind, threads=threads)
