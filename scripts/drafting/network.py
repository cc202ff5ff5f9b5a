"""A draft network in torch, for training: it computes the same function of the same weights as
`models.speculative.network`.

It processes whole texts at once, whose tokens form a tree.
"""

from collections.abc import Mapping

import torch
from torch.nn import functional

from models.speculative.network import Shape

Weights = Mapping[str, torch.Tensor]


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
) -> torch.Tensor:
    """Return the predicted feature of each of n tokens, shape (n, width).

    `features` are the features before the tokens; `unread`, shape (n, n), is 0 where a token attends to another, and
    minus infinity elsewhere.
    """
    hidden = fused(weights, shape, features, embeddings)
    steps = torch.arange(0, shape.head, 2, dtype=torch.float32) / shape.head
    angles = torch.outer(positions.float(), shape.rope_base**-steps)
    turn = angles.cos(), angles.sin()
    for block in range(shape.blocks):
        hidden = _block({name: weights[f"block.{block}.{name}"] for name in _names(block)}, shape, hidden, turn, unread)
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
    weights: Weights, shape: Shape, hidden: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor], unread: torch.Tensor
) -> torch.Tensor:
    def heads(values: torch.Tensor, name: str) -> torch.Tensor:
        return functional.linear(values, weights[name]).view(len(values), -1, shape.head).transpose(0, 1)

    normed = _normed(hidden, weights["attn_norm"], shape) if "attn_norm" in weights else hidden
    queries, keys = _turned(heads(normed, "attn_q"), turn), _turned(heads(normed, "attn_k"), turn)
    shared = shape.heads // shape.kv_heads
    keys, values = keys.repeat_interleave(shared, 0), heads(normed, "attn_v").repeat_interleave(shared, 0)
    read = (queries @ keys.transpose(1, 2) * shape.head**-0.5 + unread).softmax(-1) @ values
    hidden = hidden + functional.linear(read.transpose(0, 1).flatten(1), weights["attn_output"])
    normed = _normed(hidden, weights["ffn_norm"], shape)
    inner = functional.silu(functional.linear(normed, weights["ffn_gate"])) * functional.linear(
        normed, weights["ffn_up"]
    )
    return hidden + functional.linear(inner, weights["ffn_down"])


def _normed(hidden: torch.Tensor, weight: torch.Tensor, shape: Shape) -> torch.Tensor:
    return functional.rms_norm(hidden, hidden.shape[-1:], weight, shape.epsilon)


def _turned(heads: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    cosine, sine = turn
    pairs = heads.reshape(*heads.shape[:-1], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], -1).flatten(-2)
