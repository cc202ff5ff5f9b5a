"""A draft network in torch, for training and for a GPU: it computes the same function of the same weights as
`models.speculative.network`.

In training it processes whole texts at once, whose tokens form a tree.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from models.speculative.network import Floats, Shape
from models.speculative.network import Weights as Arrays

Weights = Mapping[str, torch.Tensor]

_HELD_AT_FIRST: Final = 256
"""The tokens for which states have room at first; the room doubles as it is needed."""


class TorchHeld:
    """The network's keys and values of earlier tokens, on the device of the network; see `network.Held`."""

    def __init__(self, shape: Shape, device: str) -> None:
        self.length = 0
        size = (shape.blocks, 2, shape.kv_heads, _HELD_AT_FIRST, shape.head)
        self._states = torch.empty(size, device=device)

    def append(self, block: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the keys and values of new tokens, shape (kv_heads, n, head); return all of them. The caller updates
        `length`.
        """
        stop = self.length + keys.shape[1]
        while stop > self._states.shape[3]:
            self._states = torch.cat([self._states, torch.empty_like(self._states)], 3)
        self._states[block, 0, :, self.length : stop], self._states[block, 1, :, self.length : stop] = keys, values
        return self._states[block, 0, :, :stop], self._states[block, 1, :, :stop]


class TorchNetwork:
    """A draft network whose weights and states are on a torch device, such as "cuda". It takes and returns arrays, as
    `network.DraftNetwork` does.
    """

    def __init__(self, shape: Shape, arrays: Arrays, device: str) -> None:
        self.shape, self.vocabulary, self._device = shape, np.asarray(arrays["vocabulary"]), device
        self._embedding = arrays["embedding"]
        names = (*shape.trained(), "head")
        self._weights = {name: torch.from_numpy(arrays[name].astype(np.float32)).to(device) for name in names}

    def held(self) -> TorchHeld:
        """Return states of no tokens."""
        return TorchHeld(self.shape, self._device)

    def step(
        self,
        held: TorchHeld,
        features: Floats,
        tokens: npt.ArrayLike,
        positions: npt.ArrayLike,
        visible: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Floats, Floats]:
        """Do what `network.Network.step` does."""
        embeddings = self._embedding[np.asarray(tokens)].astype(np.float32)
        count = len(embeddings)
        if visible is None:
            visible = np.tri(count, held.length + count, held.length, dtype=np.bool_)
        given = (features, embeddings, np.asarray(positions, np.float32), np.where(visible, 0, -np.inf))
        with torch.inference_mode():
            before, own, places, unread = (
                torch.from_numpy(np.ascontiguousarray(array, np.float32)).to(self._device) for array in given
            )
            hidden = predicted(self._weights, self.shape, before, own, places, unread, held)
            logits = functional.linear(hidden, self._weights["head"])
            held.length += count
            return hidden.cpu().numpy(), logits.cpu().numpy()


def first_weights(shape: Shape, seed: int) -> dict[str, torch.Tensor]:
    """Return the initial weights: norms 1, biases 0, matrices at random (Xavier, as in Dovetail's own code)."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, size in shape.trained().items():
        weights[name] = torch.zeros(size) if name.endswith("bias") else torch.ones(size)
        if len(size) == 2:
            torch.nn.init.xavier_uniform_(weights[name], generator=generator)
    return weights


def predicted(
    weights: Weights,
    shape: Shape,
    features: torch.Tensor,
    embeddings: torch.Tensor,
    positions: torch.Tensor,
    unread: torch.Tensor,
    held: TorchHeld | None = None,
) -> torch.Tensor:
    """Return the predicted feature of each of n tokens, shape (n, width).

    `features` are the features before the tokens; `unread`, shape (n, held + n), is 0 where a token attends to another,
    and minus infinity elsewhere. The tokens' states are appended to `held`, if it is given.
    """
    hidden = fused(weights, shape, features, embeddings).float()  # in training, products may be in bfloat16
    steps = torch.arange(0, shape.head, 2, dtype=torch.float32, device=hidden.device) / shape.head
    angles = torch.outer(positions.float(), shape.rope_base**-steps)
    turn = angles.cos(), angles.sin()
    for block in range(shape.blocks):
        own = {name: weights[f"block.{block}.{name}"] for name in _names(block)}

        def joined(keys: torch.Tensor, values: torch.Tensor, block: int = block) -> tuple[torch.Tensor, torch.Tensor]:
            return held.append(block, keys, values) if held else (keys, values)

        hidden = _block(own, shape, hidden, turn, unread, joined)
    return hidden


def fused(weights: Weights, shape: Shape, features: torch.Tensor, embeddings: torch.Tensor) -> torch.Tensor:
    """Return the fused inputs, shape (n, width): Dovetail, section 3.2, or EAGLE's linear layer."""
    if shape.fusion == "plain":
        return functional.linear(torch.cat([embeddings, features], 1), weights["fusion.both"], weights["fusion.bias"])
    first = functional.linear(features, weights["fusion.feature"])
    second = functional.silu(
        functional.linear(_normed(embeddings, weights["fusion.norm"], shape), weights["fusion.token"])
    )
    gate = torch.sigmoid(functional.linear(torch.cat([first, second], 1), weights["fusion.gate"]))
    return gate * first + (1 - gate) * second


def _names(block: int) -> list[str]:
    names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"]
    return ["attn_norm", *names] if block else names


def _block(
    weights: Weights,
    shape: Shape,
    hidden: torch.Tensor,
    turn: tuple[torch.Tensor, torch.Tensor],
    unread: torch.Tensor,
    joined: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]],
) -> torch.Tensor:
    def heads(values: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(values, weights[name]).view(len(values), -1, shape.head).transpose(0, 1)

    normed = _normed(hidden, weights["attn_norm"], shape) if "attn_norm" in weights else hidden
    queries = _turned(heads(normed, "attn_q"), turn)
    shared = shape.heads // shape.kv_heads
    keys, values = joined(_turned(heads(normed, "attn_k"), turn), heads(normed, "attn_v"))
    keys, values = keys.repeat_interleave(shared, 0), values.repeat_interleave(shared, 0)
    read = (queries @ keys.transpose(1, 2) * shape.head**-0.5 + unread).softmax(-1) @ values
    hidden = hidden + functional.linear(read.transpose(0, 1).flatten(1), weights["attn_output"])
    normed = _normed(hidden, weights["ffn_norm"], shape)
    inner = functional.silu(functional.linear(normed, weights["ffn_gate"])) * functional.linear(
        normed, weights["ffn_up"]
    )
    return hidden + functional.linear(inner, weights["ffn_down"])


def _normed(hidden: torch.Tensor, weight: torch.Tensor, shape: Shape) -> torch.Tensor:
    return functional.rms_norm(hidden.float(), hidden.shape[-1:], weight, shape.epsilon)


def _turned(heads: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    cosine, sine = turn
    pairs = heads.reshape(*heads.shape[:-1], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], -1).flatten(-2)
