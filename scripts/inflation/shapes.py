"""The shapes to which weights can be inflated: widths and numbers of layers.

A head stays 64 wide, no layer can be removed, and the vocabulary stays that of the small model. Where a known model has
wider heads or fewer layers, its shape here has as many weights in total. At 4 times the small model's width, the square
root by which norms are scaled is a power of two, so that the text is the same to the bit; at another width, rounding
may decide between tokens of about the same probability.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_HEAD: Final = 64


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a Llama model: the width of its hidden states, the numbers of heads and key heads, the width of its
    feed-forward part, and the number of layers.
    """

    width: int
    heads: int
    key_heads: int
    feed_forward: int
    layers: int

    @property
    def states(self) -> int:
        """The numbers of a token's attention states."""
        return 2 * self.key_heads * _HEAD * self.layers

    @property
    def planes(self) -> float:
        """The size of a token's Q, K and V relative to its K and V."""
        return (self.heads + 2 * self.key_heads) / (2 * self.key_heads)

    @property
    def projections(self) -> float:
        """The share of a layer's weights that project to Q, K and V."""
        projected = self.width * (self.heads + 2 * self.key_heads) * _HEAD
        return projected / (projected + self.width * (self.heads * _HEAD + 3 * self.feed_forward))


SMALL_SHAPE: Final = Shape(576, 9, 3, 1536, 30)
"""The default model's own shape."""

SHAPES: Final[Mapping[str, Shape]] = {
    "360m": Shape(960, 15, 5, 2560, 32),  # SmolLM2-360M
    "1.7b": Shape(2304, 36, 36, 4608, 30),  # SmolLM2-1.7B: 2048, 32, 32, 8192, 24
    "3b": Shape(2304, 36, 9, 9472, 36),  # SmolLM3-3B: 2048, 16 and 4 of twice the width, 11008, 36
    "8b": Shape(4096, 64, 16, 14_336, 32),  # Llama-3.1-8B: 4096, 32 and 8 of twice the width, 14336, 32
}


class CannotInflate(ValueError):
    """Raised when weights cannot be inflated; the message says why, and what to do."""


def places(small: Shape, large: Shape) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the new place of each query head and of each key head, as pairs (old, new).

    Query heads that share a key head stay together. If a key head serves more query heads than the new shape allows, it
    is copied. Raises CannotInflate if the shape is too small.
    """
    per_key, room = small.heads // small.key_heads, large.heads // large.key_heads
    heads: list[tuple[int, int]] = []
    key_heads: list[tuple[int, int]] = []
    for key_head in range(small.key_heads):
        for first in range(0, per_key, room):
            copies = len(key_heads)
            members = range(first, min(first + room, per_key))
            heads += [(key_head * per_key + member, copies * room + member - first) for member in members]
            key_heads.append((key_head, copies))
    too_small = small.width > large.width or small.feed_forward > large.feed_forward or small.layers > large.layers
    if too_small or len(key_heads) > large.key_heads:
        raise CannotInflate(f"{small} does not fit into {large}. Choose a larger shape.")
    if small.width * large.heads != large.width * small.heads:
        raise CannotInflate(f"The heads of {small} and {large} are not equally wide. Choose another shape.")
    return heads, key_heads
