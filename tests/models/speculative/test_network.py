"""The draft network compared with a literal transcription of the paper's equations, one token and one attention head at
a time.
"""

import math
from typing import Any

import numpy as np
import pytest

from models.speculative.network import DraftNetwork, Floats, Fusion, Held, Shape

WIDTH, TOKENS, DRAFTED = 16, 40, 12


def shape(fusion: Fusion = "gated", blocks: int = 1) -> Shape:
    return Shape(
        fusion, blocks, WIDTH, heads=4, kv_heads=2, head=4, inner=24, tokens=TOKENS, drafted=DRAFTED,
        epsilon=1e-5, rope_base=10_000.0,
    )  # fmt: skip


def weights(own: Shape, seed: int = 0) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    made = {name: draw.standard_normal(size).astype(np.float32) * 0.4 for name, size in own.trained().items()}
    made["embedding"] = draw.standard_normal((own.tokens, own.width)).astype(np.float16)
    made["head"] = draw.standard_normal((own.drafted, own.width)).astype(np.float16)
    made["vocabulary"] = np.sort(draw.choice(own.tokens, own.drafted, replace=False)).astype(np.int32)
    return made


def literal(own: Shape, w: dict[str, Any], features: Floats, tokens: list[int]) -> list[Any]:
    """Compute the draft network as the paper writes it: the fusion of Dovetail, section 3.2, then Llama's blocks.

    The first block has no input norm, and there is no norm at the end.
    """
    hidden = []
    for feature, token in zip(features.astype(np.float64), tokens, strict=True):
        e = w["embedding"][token].astype(np.float64)
        if own.fusion == "plain":
            hidden.append(w["fusion.both"] @ np.concatenate([e, feature]) + w["fusion.bias"])
            continue
        h1 = w["fusion.feature"] @ feature
        h2 = silu(w["fusion.token"] @ norm(e, w["fusion.norm"], own))
        z = sigmoid(w["fusion.gate"] @ np.concatenate([h1, h2]))
        hidden.append(z * h1 + (1 - z) * h2)
    for block in range(own.blocks):
        b = {name.removeprefix(f"block.{block}."): w[name] for name in w if name.startswith(f"block.{block}.")}
        normed = [norm(h, b["attn_norm"], own) if block else h for h in hidden]
        after = []
        for place, h in enumerate(hidden):
            read = []
            for head in range(own.heads):
                of = head // (own.heads // own.kv_heads)
                query = rotate(part(b["attn_q"] @ normed[place], head, own), place, own)
                keys = [rotate(part(b["attn_k"] @ normed[at], of, own), at, own) for at in range(place + 1)]
                scores = np.exp([query @ key / math.sqrt(own.head) for key in keys])
                values = [part(b["attn_v"] @ normed[at], of, own) for at in range(place + 1)]
                read.append(sum(s / scores.sum() * v for s, v in zip(scores, values, strict=True)))
            seen = h + b["attn_output"] @ np.concatenate(read)
            x = norm(seen, b["ffn_norm"], own)
            after.append(seen + b["ffn_down"] @ (silu(b["ffn_gate"] @ x) * (b["ffn_up"] @ x)))
        hidden = after
    return hidden


def part(projected: Any, head: int, own: Shape) -> Any:
    return projected[head * own.head : (head + 1) * own.head]


def rotate(values: Any, position: int, own: Shape) -> Any:
    rotated = values.copy()
    for pair in range(own.head // 2):
        angle = position * own.rope_base ** (-2 * pair / own.head)
        a, b = values[2 * pair], values[2 * pair + 1]
        rotated[2 * pair] = a * math.cos(angle) - b * math.sin(angle)
        rotated[2 * pair + 1] = a * math.sin(angle) + b * math.cos(angle)
    return rotated


def norm(x: Any, weight: Any, own: Shape) -> Any:
    return x / np.sqrt((x * x).mean() + own.epsilon) * weight


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def silu(x: Any) -> Any:
    return x * sigmoid(x)


@pytest.mark.parametrize("fusion", ["gated", "plain"])
@pytest.mark.parametrize("blocks", [1, 2])
def test_it_computes_the_papers_equations(fusion: Fusion, blocks: int) -> None:
    own = shape(fusion, blocks)
    w = weights(own)
    features = np.random.default_rng(1).standard_normal((7, WIDTH)).astype(np.float32)
    tokens = [3, 1, 4, 1, 5, 9, 2]
    hidden, logits = DraftNetwork(own, w).step(Held(own), features, tokens, np.arange(7))
    assert np.allclose(hidden, literal(own, w, features, tokens), atol=1e-3)
    assert np.allclose(logits, hidden @ w["head"].T.astype(np.float32), atol=1e-4)


@pytest.mark.parametrize("blocks", [1, 2])
def test_token_by_token_it_computes_the_same_beyond_what_room_there_was_at_first(blocks: int) -> None:
    own = shape(blocks=blocks)
    network, held = DraftNetwork(own, weights(own)), Held(own)
    features = np.random.default_rng(1).standard_normal((150, WIDTH)).astype(np.float32)
    tokens = np.arange(150) % TOKENS
    whole, _ = network.step(Held(own), features, tokens, np.arange(150))
    first, _ = network.step(held, features[:100], tokens[:100], np.arange(100))
    steps = [network.step(held, features[[at]], tokens[[at]], [at])[0] for at in range(100, 150)]
    assert np.allclose(np.concatenate([first, *steps]), whole, atol=1e-4)


def test_branches_of_a_tree_equal_each_path_alone_and_leave_no_trace_once_dropped() -> None:
    own = shape()
    network, held = DraftNetwork(own, weights(own)), Held(own)
    draw = np.random.default_rng(2)
    before, branches = draw.standard_normal((5, WIDTH)).astype(np.float32), draw.standard_normal((2, WIDTH))
    network.step(held, before, [1, 2, 3, 4, 5], np.arange(5))
    visible = np.zeros((2, 7), np.bool_)
    visible[:, :5] = True
    visible[[0, 1], [5, 6]] = True
    together, _ = network.step(held, branches.astype(np.float32), [6, 7], [5, 5], visible)
    for place in (0, 1):
        held.length = 5
        alone, _ = network.step(held, branches[[place]].astype(np.float32), [6 + place], [5])
        assert np.allclose(alone[0], together[place], atol=1e-5)
