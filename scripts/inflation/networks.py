"""Inflates a draft network as its target model is inflated: it computes the same, at the cost of the larger model's
draft network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from models.speculative.network import Shape as NetworkShape
from scripts.inflation.shapes import Shape, places

_NORMS: Final = ("fusion.norm", "attn_norm", "ffn_norm")

_AXES: Final[Mapping[str, tuple[str, ...]]] = {
    "fusion.norm": ("width",),
    "fusion.bias": ("width",),
    "fusion.feature": ("width", "width"),
    "fusion.token": ("width", "width"),
    "fusion.gate": ("width", "both"),
    "fusion.both": ("width", "both"),
    "attn_norm": ("width",),
    "attn_q": ("queries", "width"),
    "attn_k": ("keys", "width"),
    "attn_v": ("keys", "width"),
    "attn_output": ("width", "queries"),
    "ffn_norm": ("width",),
    "ffn_gate": ("inner", "width"),
    "ffn_up": ("inner", "width"),
    "ffn_down": ("width", "inner"),
    "embedding": ("tokens", "width"),
    "head": ("drafted", "width"),
    "vocabulary": ("drafted",),
}
"""What each array's axes count; `both` is two widths, one behind the other."""


def inflated(
    own: NetworkShape, arrays: Mapping[str, npt.NDArray[Any]], large: Shape
) -> tuple[NetworkShape, dict[str, npt.NDArray[Any]]]:
    """Return the shape and the arrays of a draft network for a model that was inflated to the shape `large`.

    Its features are the small model's, padded with zeros, and so are those that the network predicts; its logits are
    the same but for rounding. Raises CannotInflate.
    """
    heads, key_heads = places(Shape(own.width, own.heads, own.kv_heads, own.inner, own.blocks), large)
    width, inner = np.arange(own.width), np.arange(own.inner)
    tokens, drafted = np.arange(own.tokens), np.arange(own.drafted)
    axes = {  # the new size, and the old and the new indices
        "width": (large.width, width, width),
        "both": (2 * large.width, np.arange(2 * own.width), np.concatenate([width, large.width + width])),
        "queries": (large.heads * own.head, *_moved(heads, own.head)),
        "keys": (large.key_heads * own.head, *_moved(key_heads, own.head)),
        "inner": (large.feed_forward, inner, inner),
        "tokens": (own.tokens, tokens, tokens),
        "drafted": (own.drafted, drafted, drafted),
    }
    ratio = own.width / large.width
    made: dict[str, npt.NDArray[Any]] = {}
    for name, array in arrays.items():
        part = name.rpartition(".")[2] if name.startswith("block.") else name
        sizes, old, new = zip(*(axes[axis] for axis in _AXES[part]), strict=True)
        made[name] = np.zeros(sizes, array.dtype)
        made[name][np.ix_(*new)] = array[np.ix_(*old)] * array.dtype.type(sqrt(ratio) if part in _NORMS else 1)
    shape = replace(
        own,
        width=large.width,
        heads=large.heads,
        kv_heads=large.key_heads,
        inner=large.feed_forward,
        epsilon=own.epsilon * ratio,
    )
    return shape, made


def _moved(pairs: Sequence[tuple[int, int]], width: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the old and the new indices of heads that move to new places, given as pairs (old, new)."""
    old, new = (np.add.outer(np.array(side) * width, np.arange(width)).ravel() for side in zip(*pairs, strict=True))
    return old, new
