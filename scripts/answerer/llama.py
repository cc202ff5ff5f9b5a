"""A plain Llama for training, with GGUF's tensor names and layout, so that trained weights need no conversion.

Like `models.research.torch_llama`, without a KV cache but with gradients and explicit positions: one row of tokens
holds many prompts.
"""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from models.research.torch_weights import Shape, load


class Block(nn.Module):
    """One layer: grouped-query attention, then a SwiGLU feed-forward network, each after RMSNorm."""

    def __init__(self, shape: Shape, width: int, inner: int) -> None:
        super().__init__()
        self.shape = shape
        self.attn_norm = nn.Parameter(torch.empty(width))
        self.attn_q = nn.Linear(width, shape.heads * shape.head, bias=False)
        self.attn_k = nn.Linear(width, shape.kv_heads * shape.head, bias=False)
        self.attn_v = nn.Linear(width, shape.kv_heads * shape.head, bias=False)
        self.attn_output = nn.Linear(shape.heads * shape.head, width, bias=False)
        self.ffn_norm = nn.Parameter(torch.empty(width))
        self.ffn_gate = nn.Linear(width, inner, bias=False)
        self.ffn_up = nn.Linear(width, inner, bias=False)
        self.ffn_down = nn.Linear(inner, width, bias=False)

    def forward(
        self, hidden: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor], mask: torch.Tensor
    ) -> torch.Tensor:
        """Return the output of this layer for the input `hidden`, both of shape (tokens, width). `turn` are the cosines
        and sines of the rotary embedding, `mask` has the shape (tokens, tokens).
        """
        normed = functional.rms_norm(hidden, hidden.shape[-1:], self.attn_norm, self.shape.epsilon)
        queries = _turned(self._heads(self.attn_q(normed)), turn)
        keys = _turned(self._heads(self.attn_k(normed)), turn)
        values = self._heads(self.attn_v(normed))
        shared = self.shape.heads // self.shape.kv_heads
        keys, values = keys.repeat_interleave(shared, 0), values.repeat_interleave(shared, 0)
        # Written out: torch's own attention with a mask takes five times as long in the backward pass on a CPU.
        scores = queries @ keys.transpose(1, 2) * self.shape.head**-0.5 + mask
        read = scores.softmax(-1) @ values
        hidden = hidden + self.attn_output(read.transpose(0, 1).flatten(1))
        normed = functional.rms_norm(hidden, hidden.shape[-1:], self.ffn_norm, self.shape.epsilon)
        changed: torch.Tensor = self.ffn_down(functional.silu(self.ffn_gate(normed)) * self.ffn_up(normed))
        return hidden + changed

    def _heads(self, projected: torch.Tensor) -> torch.Tensor:
        """Return a projection of the input, shape (heads, tokens, head width)."""
        return projected.view(len(projected), -1, self.shape.head).transpose(0, 1)


class Llama(nn.Module):
    """The whole model; `output` is set only if the output head differs from the embedding."""

    def __init__(self, shape: Shape, vocabulary: int, width: int, inner: int) -> None:
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(vocabulary, width)
        self.blk = nn.ModuleList([Block(shape, width, inner) for _ in range(shape.layers)])
        self.output_norm = nn.Parameter(torch.empty(width))
        self.output: nn.Linear | None = None

    def forward(self, tokens: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the last layer's normed output for each token, shape (tokens, width).

        `tokens` and `positions` have the shape (tokens,); `mask` (tokens, tokens) is True where a token attends to
        another.
        """
        steps = torch.arange(0, self.shape.head, 2, dtype=torch.float32, device=tokens.device) / self.shape.head
        angles = torch.outer(positions.float(), self.shape.rope_base**-steps)
        hidden = self.token_embd(tokens)
        turn = angles.cos().to(hidden.dtype), angles.sin().to(hidden.dtype)
        unread = torch.zeros(mask.shape, dtype=hidden.dtype, device=mask.device).masked_fill_(~mask, -torch.inf)
        for block in self.blk:
            hidden = block(hidden, turn, unread)
        return functional.rms_norm(hidden, hidden.shape[-1:], self.output_norm, self.shape.epsilon)

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits of each hidden state, shape (n, vocabulary)."""
        head = self.token_embd if self.output is None else self.output
        return functional.linear(hidden, head.weight)


def from_gguf(weights: Path, model_hash: str, kept: Path) -> Llama:
    """Load a GGUF file's weights, frozen, in bfloat16; dequantised weights are cached in the folder `kept` under the
    given hash.

    Raises as `models.research.torch_weights.load` does.
    """
    shape, tensors = load(weights, model_hash, kept)
    vocabulary, width = tensors["token_embd.weight"].shape
    with torch.device("meta"):  # the tensors are assigned, not copied
        model = Llama(shape, vocabulary, width, tensors["blk.0.ffn_up.weight"].shape[0])
        if "output.weight" in tensors:
            model.output = nn.Linear(width, vocabulary, bias=False)
    state = {
        name.removesuffix(".weight") if name.endswith("norm.weight") else name: tensor.bfloat16()
        for name, tensor in tensors.items()
    }
    model.load_state_dict(state, assign=True)
    model.requires_grad_(False)
    return model


def _turned(heads: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Apply the rotary embedding to queries or keys; in GGUF the two numbers of a rotated pair are adjacent."""
    cosine, sine = turn
    pairs = heads.reshape(*heads.shape[:-1], -1, 2)
    first, second = pairs[..., 0], pairs[..., 1]
    return torch.stack([first * cosine - second * sine, first * sine + second * cosine], -1).flatten(-2)
