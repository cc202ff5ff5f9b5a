"""A draft network in NumPy: predicts a model's next features, and from them its next tokens (Dovetail, section 3.2).

The input for a token is the model's feature of the token before it and the token's embedding. The two are fused, and a
few blocks like the model's own follow; the model's own head, for the tokens of a reduced vocabulary, gives logits.
Independent of files and engines.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Fusion = Literal["gated", "plain"]
"""The way in which the two inputs are fused: Dovetail's dynamic gated fusion (section 3.2), or EAGLE's linear layer."""

Floats = npt.NDArray[np.float32]
Weights = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a draft network. `head` is the width of one attention head, `inner` that of the feed-forward layer;
    `tokens` is the size of the model's vocabulary, `drafted` that of the reduced one.
    """

    fusion: Fusion
    blocks: int
    width: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    tokens: int
    drafted: int
    epsilon: float
    rope_base: float

    def __post_init__(self) -> None:
        """Raise ValueError for sizes that a network cannot have."""
        sizes = (self.blocks, self.width, self.heads, self.kv_heads, self.head, self.inner, self.tokens, self.drafted)
        if min(sizes) < 1 or self.head % 2 or self.heads % self.kv_heads or self.epsilon < 0 or self.rope_base <= 0:
            raise ValueError(f"no draft network has the sizes {self}")

    def trained(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each trained weight; matrices are (outputs, inputs)."""
        wide, narrow = self.heads * self.head, self.kv_heads * self.head
        square = (self.width, self.width)
        shapes: dict[str, tuple[int, ...]] = {"fusion.both": (self.width, 2 * self.width), "fusion.bias": (self.width,)}
        if self.fusion == "gated":
            shapes = {
                "fusion.norm": (self.width,),
                "fusion.feature": square,
                "fusion.token": square,
                "fusion.gate": (self.width, 2 * self.width),
            }
        for block in range(self.blocks):
            own: dict[str, tuple[int, ...]] = {"attn_norm": (self.width,)} if block else {}
            own |= {"attn_q": (wide, self.width), "attn_k": (narrow, self.width), "attn_v": (narrow, self.width)}
            own |= {"attn_output": (self.width, wide), "ffn_norm": (self.width,)}
            own |= {"ffn_gate": (self.inner, self.width), "ffn_up": (self.inner, self.width)}
            own |= {"ffn_down": (self.width, self.inner)}
            shapes |= {f"block.{block}.{name}": own[name] for name in own}
        return shapes

    def taken(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays taken from the model: all embeddings, and the ids and head rows of the
        drafted tokens.
        """
        return {
            "embedding": (self.tokens, self.width),
            "head": (self.drafted, self.width),
            "vocabulary": (self.drafted,),
        }


class States(Protocol):
    """A network's states of earlier tokens; `length` is the number of tokens in use, and can be set back."""

    length: int


class Network(Protocol):
    """The interface of a draft network. Implementations: `DraftNetwork`, and `torch_network.TorchNetwork` on a GPU."""

    shape: Shape
    vocabulary: npt.NDArray[Any]

    def held(self) -> States:
        """Return states of no tokens."""

    def step(
        self,
        held: Any,
        features: Floats,
        tokens: npt.ArrayLike,
        positions: npt.ArrayLike,
        visible: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the features after n tokens, shape (n, width), and their logits, shape (n, drafted).

        `features` are the features before the tokens. `visible`, shape (n, held + n), marks the tokens to which each
        token attends; without it the tokens follow each other. The tokens' states are appended to `held`.
        """


class Held:
    """The network's keys and values of earlier tokens; `length` is the number of tokens in use, and can be set back."""

    def __init__(self, shape: Shape) -> None:
        self.length = 0
        self._states = np.empty((shape.blocks, 2, shape.kv_heads, 64, shape.head), np.float32)

    def append(self, block: int, keys: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Append the keys or values of new tokens, shape (kv_heads, n, head), to the stored ones; return all of them.
        The caller updates `length`.
        """
        stop = self.length + keys.shape[1]
        while stop > self._states.shape[3]:
            self._states = np.concatenate([self._states, np.empty_like(self._states)], 3)
        self._states[block, :, :, self.length : stop] = keys, values
        return self._states[block, 0, :, :stop], self._states[block, 1, :, :stop]


class Matrix(Protocol):
    """A matrix of weights (outputs, inputs), by which values (n, inputs) are multiplied: `values @ matrix.T`."""

    @property
    def T(self) -> Any:
        """What stands on the right of `@`."""


MakeMatrix = Callable[[npt.NDArray[Any]], Matrix]


def float_matrix(weights: npt.NDArray[Any]) -> Floats:
    """Return weights in float32."""
    return weights.astype(np.float32)


class DraftNetwork:
    """A draft network with the weights that `Shape.trained` and `Shape.taken` describe. Embeddings may stay in a mapped
    file.
    """

    def __init__(self, shape: Shape, weights: Weights, matrix: MakeMatrix = float_matrix) -> None:
        """Copy all weights but the embeddings. `matrix` makes matrices of another form, to measure it."""
        self.shape = shape
        self.vocabulary = np.asarray(weights["vocabulary"])
        self._embedding = weights["embedding"]
        self._head = matrix(weights["head"])
        sizes = shape.trained()
        self._matrices = {name: matrix(weights[name]) for name in sizes if len(sizes[name]) == 2}
        self._vectors = {name: float_matrix(weights[name]) for name in sizes if len(sizes[name]) == 1}
        self._frequencies = shape.rope_base ** (-np.arange(0, shape.head, 2, dtype=np.float32) / shape.head)

    def held(self) -> Held:
        """Return states of no tokens."""
        return Held(self.shape)

    def step(
        self,
        held: Held,
        features: Floats,
        tokens: npt.ArrayLike,
        positions: npt.ArrayLike,
        visible: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Do what `Network.step` does."""
        with np.errstate(over="ignore"):  # where exp is infinite, the sigmoid is 0
            hidden = self._fused(features, self._embedding[np.asarray(tokens)].astype(np.float32))
            count = len(hidden)
            if visible is None:
                visible = np.tri(count, held.length + count, held.length, dtype=np.bool_)
            turn = np.exp(1j * np.outer(np.asarray(positions, np.float32), self._frequencies)).astype(np.complex64)
            for block in range(self.shape.blocks):
                hidden = self._block(block, hidden, turn, np.where(visible, 0, -np.inf).astype(np.float32), held)
            held.length += count
            return hidden, np.asarray(hidden @ self._head.T)

    def _fused(self, features: Floats, embeddings: Floats) -> Floats:
        weights = self._matrices
        if self.shape.fusion == "plain":
            both = np.concatenate([embeddings, features], 1)
            return np.asarray(both @ weights["fusion.both"].T + self._vectors["fusion.bias"])
        first = features @ weights["fusion.feature"].T
        second = _silu(self._normed(embeddings, "fusion.norm") @ weights["fusion.token"].T)
        gate = 1 / (1 + np.exp(-(np.concatenate([first, second], 1) @ weights["fusion.gate"].T)))
        return np.asarray(gate * first + (1 - gate) * second)

    def _block(self, block: int, hidden: Floats, turn: npt.NDArray[np.complex64], mask: Floats, held: Held) -> Floats:
        def product(values: Floats, name: str) -> Floats:
            return np.asarray(values @ self._matrices[f"block.{block}.{name}"].T)

        shape, count = self.shape, len(hidden)
        normed = self._normed(hidden, f"block.{block}.attn_norm") if block else hidden
        queries = _turned(self._split(product(normed, "attn_q")), turn)
        keys, values = held.append(
            block, _turned(self._split(product(normed, "attn_k")), turn), self._split(product(normed, "attn_v"))
        )
        # Each head of keys serves several heads of queries.
        grouped = queries.reshape(shape.kv_heads, -1, count, shape.head)
        scores = grouped @ keys[:, None].swapaxes(2, 3) * np.float32(shape.head**-0.5) + mask
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        read = scores / scores.sum(-1, keepdims=True) @ values[:, None]
        read = read.reshape(shape.heads, count, shape.head).swapaxes(0, 1).reshape(count, -1)
        hidden = hidden + product(read, "attn_output")
        normed = self._normed(hidden, f"block.{block}.ffn_norm")
        return hidden + product(_silu(product(normed, "ffn_gate")) * product(normed, "ffn_up"), "ffn_down")

    def _split(self, projected: Floats) -> Floats:
        return projected.reshape(len(projected), -1, self.shape.head).swapaxes(0, 1)

    def _normed(self, hidden: Floats, name: str) -> Floats:
        scale = np.sqrt((hidden * hidden).mean(-1, keepdims=True) + np.float32(self.shape.epsilon))
        return np.asarray(hidden / scale * self._vectors[name])


def _silu(values: Floats) -> Floats:
    return np.asarray(values / (1 + np.exp(-values)))


def _turned(heads: Floats, turn: npt.NDArray[np.complex64]) -> Floats:
    """Rotate keys or queries by their positions; as in GGUF, the two numbers of a rotated pair are adjacent."""
    pairs = np.ascontiguousarray(heads).view(np.complex64) * turn
    return pairs.view(np.float32)
