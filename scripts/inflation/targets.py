"""The models whose pace benchmarks measure, named by shape and number type: the default model, and its weights
inflated.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from models.catalog import Weights, find
from scripts.inflation.shapes import SHAPES, SMALL_SHAPE, Shape
from scripts.places import CannotRun, step

if TYPE_CHECKING:
    from scripts.inflation.making import Type

MODEL: Final = "smollm2-135m"
SMALL: Final = "135m-q8_0"
"""The default model itself."""

USUAL: Final = (SMALL, "360m-q8_0", "1.7b-q8_0", "1.7b-q4_0", "3b-q8_0")
"""The targets that are measured unless others are named."""

TARGETS: Final = (*USUAL, "8b-q8_0")


def chosen_targets(given: str) -> tuple[str, ...]:
    """Return the targets in a list with commas. Raises CannotRun for an unknown one."""
    targets = tuple(dict.fromkeys(filter(None, given.split(","))))
    if not targets:
        raise CannotRun(f"no target is named; there are {', '.join(TARGETS)}.")
    if unknown := set(targets) - set(TARGETS):
        raise CannotRun(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}.")
    return targets


def shape_of(target: str) -> Shape:
    """Return the shape of a target."""
    return SHAPES.get(target.partition("-")[0], SMALL_SHAPE)


@contextmanager
def weights_of(folder: Weights, target: str, threads: int) -> Iterator[Path]:
    """Yield the file of a target's weights. Inflated weights are made first, and removed afterwards.

    Raises CannotInflate, ModuleNotFoundError without the package gguf, WeightsError, OSError.
    """
    if target == SMALL:
        yield folder.path(find(MODEL))
        return
    from scripts.inflation.making import make

    shape, _, number_type = target.partition("-")
    with tempfile.TemporaryDirectory() as room:
        step(f"making {target}")
        path = Path(room, f"{target}.gguf")
        make(folder, path, shape, cast("Type", number_type), threads, lambda *_: None)
        yield path
