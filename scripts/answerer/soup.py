"""Merges several adapters of one model into one: the mean of their weight updates.

Training runs from the same initial weights, with different lessons and orders, make different errors. Their mean makes
fewer errors than most of them, keeps more of the base model, and costs no more time (Wortsman et al., Model soups, ICML
2022).
"""

from collections.abc import Mapping, Sequence

import torch
from torch.nn.functional import pad


def mean(adapters: Sequence[Mapping[str, torch.Tensor]], rank: int) -> dict[str, torch.Tensor]:
    """Return the mean of adapters (by peft's names) as one adapter of the given rank, in the best approximation (Eckart
    and Young).

    Each A has shape (its rank, inputs), each B (outputs, its rank). Pads with zeros if a weight allows only a lower
    rank.
    """
    tensors = {}
    for name in adapters[0]:
        if ".lora_A." in name:
            other = name.replace(".lora_A.", ".lora_B.")
            down = torch.cat([adapter[name].cpu().double() for adapter in adapters])
            up = torch.cat([adapter[other].cpu().double() for adapter in adapters], dim=1) / len(adapters)
            # Get the product's singular values from small factors, without forming the product, which is as large as
            # the weight.
            (down, low), (up, high) = torch.linalg.qr(down.T), torch.linalg.qr(up)
            left, values, right = torch.linalg.svd(high @ low.T)
            half = values[:rank].sqrt()
            fill = (0, rank - len(half))
            tensors[name] = pad(half[:, None] * right[: len(half)] @ down.T, (0, 0, *fill)).float()
            tensors[other] = pad(up @ left[:, : len(half)] * half, fill).float()
    return tensors
