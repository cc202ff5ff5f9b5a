"""A plain Llama in torch with external attention state: RMSNorm, rotary positions, grouped queries, SwiGLU.

The caller can provide Q, K and V of the first positions, as in PerCache (§4.2.2, figure 24); everything else is still
computed for these positions. Independent of sequences and files. Needs the research extra.
"""

from dataclasses import dataclass

import torch
from torch.nn import functional

from models.research.torch_weights import Shape, Tensors


@dataclass(frozen=True, slots=True)
class _Layer:
    before_attention: torch.Tensor
    projections: torch.Tensor  # of Q, K and V, stacked
    output: torch.Tensor
    before_mlp: torch.Tensor
    gate_and_up: torch.Tensor
    down: torch.Tensor


class TorchLlama:
    """A Llama's float32 weights on a device, and its forward pass. `planes` is the number of heads of q, k and v in a
    state.
    """

    def __init__(self, shape: Shape, tensors: Tensors, device: str = "cpu") -> None:
        def weights(*names: str) -> torch.Tensor:
            return torch.cat([tensors[f"{name}.weight"] for name in names]).to(device, torch.float32)

        self.shape = shape
        self.device = torch.device(device)
        self.planes = {"q": shape.heads, "k": shape.kv_heads, "v": shape.kv_heads}
        self._embedding = weights("token_embd")
        self._head = weights("output") if "output.weight" in tensors else self._embedding
        self._last = weights("output_norm")
        self._layers = [
            _Layer(
                weights(f"blk.{n}.attn_norm"),
                weights(f"blk.{n}.attn_q", f"blk.{n}.attn_k", f"blk.{n}.attn_v"),
                weights(f"blk.{n}.attn_output"),
                weights(f"blk.{n}.ffn_norm"),
                weights(f"blk.{n}.ffn_gate", f"blk.{n}.ffn_up"),
                weights(f"blk.{n}.ffn_down"),
            )
            for n in range(shape.layers)
        ]
        steps = torch.arange(0, shape.head, 2, dtype=torch.float32) / shape.head
        self._frequencies = (shape.rope_base**-steps).to(device)

    def state(self, positions: int) -> torch.Tensor:
        """Allocate Q, K and V for `positions`, shape (layers, heads of all planes, positions, head width).

        The type is float16, in which llama.cpp keeps K and V. Q and K are stored with their position rotation applied.
        """
        heads = sum(self.planes.values())
        return torch.empty(
            self.shape.layers, heads, positions, self.shape.head, dtype=torch.float16, device=self.device
        )

    def run(self, tokens: list[int], state: torch.Tensor, *, start: int, known: int) -> torch.Tensor:
        """Compute the n tokens at positions [start, start + n); return the last token's logits, shape (vocabulary,).

        `state` already has Q, K and V of positions [0, known), with known ≥ start; those of later positions are written
        into it. If known = start, only new positions are computed. If start = 0, all positions are computed, but those
        before `known` take Q, K and V from the state.
        """
        stop = start + len(tokens)
        with torch.inference_mode():
            hidden = self._embedding[torch.tensor(tokens, device=self.device)]
            turn = self._turn(known, stop)
            mask = torch.full((len(tokens), stop), -torch.inf, device=self.device).triu(start + 1)
            for layer, held in zip(self._layers, state, strict=True):
                fresh = self._normed(hidden[known - start :], layer.before_attention)
                held[:, known:stop] = self._projected(fresh, layer.projections, turn)
                hidden = hidden + functional.linear(self._attended(held[:, :stop], start, mask), layer.output)
                gate, up = functional.linear(self._normed(hidden, layer.before_mlp), layer.gate_and_up).chunk(2, -1)
                hidden = hidden + functional.linear(functional.silu(gate) * up, layer.down)
            return functional.linear(self._normed(hidden[-1], self._last), self._head)

    def _normed(self, hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(hidden, weight.shape, weight, self.shape.epsilon)

    def _projected(self, hidden: torch.Tensor, weight: torch.Tensor, turn: torch.Tensor) -> torch.Tensor:
        """Return Q, K and V, shape (heads of all planes, n, head width), with Q and K rotated by their positions.

        GGUF stores the two numbers that are rotated together side by side, so that they form one complex number.
        """
        heads = functional.linear(hidden, weight).view(len(hidden), -1, self.shape.head).transpose(0, 1)
        turned, values = torch.split(heads, [self.planes["q"] + self.planes["k"], self.planes["v"]])
        pairs = torch.view_as_complex(turned.reshape(*turned.shape[:2], -1, 2))
        return torch.cat([torch.view_as_real(pairs * turn).flatten(-2), values])

    def _turn(self, start: int, stop: int) -> torch.Tensor:
        positions = torch.arange(start, stop, dtype=torch.float32, device=self.device)
        angles = torch.outer(positions, self._frequencies)
        return torch.polar(torch.ones_like(angles), angles)

    def _attended(self, held: torch.Tensor, start: int, mask: torch.Tensor) -> torch.Tensor:
        """Return the attention output of the positions from `start` on, shape (n, heads × head width)."""
        queries, keys, values = torch.split(held[None], list(self.planes.values()), dim=1)
        read = functional.scaled_dot_product_attention(
            queries[:, :, start:].float(), keys.float(), values.float(), attn_mask=mask, enable_gqa=True
        )
        return read[0].transpose(0, 1).flatten(1)
