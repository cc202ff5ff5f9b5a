"""Several adapters of one model as one: the mean of what they add to each weight.

Runs from the same first weights, taught with other lessons in another order, err differently; their mean errs less, and
costs no time where it is used (Wortsman et al., Model soups, ICML 2022).
"""

from collections.abc import Mapping, Sequence

import torch


def mean(adapters: Sequence[Mapping[str, torch.Tensor]], rank: int) -> dict[str, torch.Tensor]:
    """Of adapters by peft's names, as one of that rank, which is the nearest there is (Eckart and Young).

    Each A has shape (its rank, inputs), each B (outputs, its rank).
    """
    found = {}
    for name in adapters[0]:
        if ".lora_A." in name:
            other = name.replace(".lora_A.", ".lora_B.")
            down = torch.cat([one[name].cpu().double() for one in adapters])
            up = torch.cat([one[other].cpu().double() for one in adapters], dim=1) / len(adapters)
            # The singular values of their product, which itself is as large as the weight.
            (down, low), (up, high) = torch.linalg.qr(down.T), torch.linalg.qr(up)
            left, values, right = torch.linalg.svd(high @ low.T)
            half = values[:rank].sqrt()
            found[name] = (half[:, None] * right[: len(half)] @ down.T).float()
            found[other] = (up @ left[:, : len(half)] * half).float()
    return found
