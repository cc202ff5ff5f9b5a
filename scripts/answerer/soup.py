"""Several adapters of one model as one: the mean of what they add to each weight.

Runs from the same first weights, taught with other lessons in another order, err differently. Their mean errs less than
most of them, keeps more of the model, and takes no more time (Wortsman et al., Model soups, ICML 2022).
"""

from collections.abc import Mapping, Sequence

import torch
from torch.nn.functional import pad


def mean(adapters: Sequence[Mapping[str, torch.Tensor]], rank: int) -> dict[str, torch.Tensor]:
    """Of adapters by peft's names, as one of that rank, which is the nearest there is (Eckart and Young).

    Each A has shape (its rank, inputs), each B (outputs, its rank). What a weight has no room for is zeros.
    """
    tensors = {}
    for name in adapters[0]:
        if ".lora_A." in name:
            other = name.replace(".lora_A.", ".lora_B.")
            down = torch.cat([adapter[name].cpu().double() for adapter in adapters])
            up = torch.cat([adapter[other].cpu().double() for adapter in adapters], dim=1) / len(adapters)
            # The singular values of their product, which itself is as large as the weight.
            (down, low), (up, high) = torch.linalg.qr(down.T), torch.linalg.qr(up)
            left, values, right = torch.linalg.svd(high @ low.T)
            half = values[:rank].sqrt()
            fill = (0, rank - len(half))
            tensors[name] = pad(half[:, None] * right[: len(half)] @ down.T, (0, 0, *fill)).float()
            tensors[other] = pad(up @ left[:, : len(half)] * half, fill).float()
    return tensors
