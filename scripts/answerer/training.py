"""Low-rank adapters (LoRA: Hu et al. 2021) trained on packed rows. Knows tensors; knows no data and no file formats.

bfloat16 but for the adapter itself, which is kept in float32. Where training stopped, it goes on to the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from scripts.answerer.llama import Llama
from scripts.answerer.packing import Row

TARGETS = ("attn_q", "attn_v", "attn_output", "ffn_up", "ffn_down")
"""What is adapted of each layer: each costs time at every token."""

_WARM_UP = 0.05
_CLIP = 1.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How it is trained: everything but the rows that decides the weights."""

    rank: int = 16
    rate: float = 1e-3
    rows: int = 2
    seed: int = 7

    @property
    def alpha(self) -> int:
        """LoRA's scale: what is learnt counts `alpha / rank`."""
        return 2 * self.rank


class Trainer:
    """A model with an adapter, and the optimiser's memory of it. `step` counts the batches learnt."""

    def __init__(self, base: Llama, recipe: Recipe, steps: int, threads: int) -> None:
        from peft import LoraConfig, inject_adapter_in_model

        torch.manual_seed(recipe.seed)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        config = LoraConfig(r=recipe.rank, lora_alpha=recipe.alpha, target_modules=list(TARGETS), lora_dropout=0.0)
        self.model: Any = inject_adapter_in_model(config, base).to(self.device)
        for block in self.model.blk:
            block.compile(dynamic=False)
        # A thread for each row: within one, the parts between two multiplications are too small to be shared out.
        torch.set_num_threads(1)
        self._compiled: set[int] = set()
        self._side_by_side = ThreadPoolExecutor(threads if self.device == "cpu" else 1)
        self.recipe, self.steps, self.step = recipe, steps, 0
        self.adapter: dict[str, torch.nn.Parameter] = {
            name: weight for name, weight in self.model.named_parameters() if weight.requires_grad
        }
        self.exact = {name: weight.data.float() for name, weight in self.adapter.items()}
        for name, weight in self.adapter.items():
            weight.data = self.exact[name].bfloat16()
        self._optimiser = torch.optim.AdamW(self.exact.values(), lr=recipe.rate, weight_decay=0.0)

    def learn(self, batch: Sequence[Row]) -> float:
        """One step on these rows, as many at a time as there are threads; the mean loss a token, by weight."""
        for group in self._optimiser.param_groups:
            group["lr"] = self.recipe.rate * _pace(self.step / self.steps)
        weight = float(sum(row.weights.sum() for row in batch))
        for length, row in {len(row.tokens): row for row in batch}.items():
            if length not in self._compiled:
                self._slopes(row)  # compiles, which can be done by one thread alone
                self._compiled.add(length)
        lost = 0.0
        # In the order of the rows, however many threads there are: a sum rounds by its order.
        for loss, slopes in self._side_by_side.map(self._slopes, batch):
            lost += loss / weight
            for exact, slope in zip(self.exact.values(), slopes, strict=True):
                part = slope.float() / weight
                exact.grad = part if exact.grad is None else exact.grad.add_(part)
        torch.nn.utils.clip_grad_norm_(self.exact.values(), _CLIP)
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        for name, used in self.adapter.items():
            used.data.copy_(self.exact[name])
        self.step += 1
        return lost

    def save(self, path: Path) -> None:
        """The adapter and all that training needs to go on; appears whole or not at all."""
        tensors = {}
        for name, weight in self.exact.items():
            tensors[name] = weight.cpu()
            for kind, moment in self._optimiser.state.get(weight, {}).items():
                tensors[f"{name} {kind}"] = moment.cpu()
        fresh = path.with_suffix(".part")
        save_file(tensors, fresh, {"step": str(self.step), "steps": str(self.steps), "recipe": repr(self.recipe)})
        fresh.replace(path)

    def load(self, path: Path) -> None:
        """Go on from what was saved. Raises ValueError where that was of another recipe."""
        with safe_open(path, framework="pt") as file:
            said = file.metadata() or {}
            if (said.get("recipe"), said.get("steps")) != (repr(self.recipe), str(self.steps)):
                raise ValueError(
                    f"{path} was trained by another recipe: {said.get('steps')} steps, {said.get('recipe')}."
                )
            for name, weight in self.exact.items():
                weight.copy_(file.get_tensor(name))
                self.adapter[name].data.copy_(weight)
                self._optimiser.state[weight] = {
                    kind: file.get_tensor(f"{name} {kind}").to("cpu" if kind == "step" else self.device)
                    for kind in ("step", "exp_avg", "exp_avg_sq")
                }
        self.step = int(said["step"])

    def _slopes(self, row: Row) -> tuple[float, Sequence[torch.Tensor]]:
        loss = self._loss(row)
        return float(loss.detach()), torch.autograd.grad(loss, list(self.adapter.values()))

    def _loss(self, row: Row) -> torch.Tensor:
        """The sum of the weighted losses; only where something is taught are there logits."""
        from torch.nn.functional import cross_entropy

        def to(array: Any) -> torch.Tensor:
            return torch.from_numpy(array).to(self.device)

        hidden = self.model(to(row.tokens), to(row.positions), to(row.mask()))
        taught = np.flatnonzero(row.targets >= 0)
        logits = self.model.logits(hidden[to(taught)])
        losses = cross_entropy(logits.float(), to(row.targets[taught]), reduction="none")
        return (losses * to(row.weights[taught])).sum()


def batches(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """So many rows at a time, in order; the last may be smaller."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _pace(done: float) -> float:
    """The learning rate's share at this part of the training: up in a line, down along a cosine."""
    return done / _WARM_UP if done < _WARM_UP else 0.5 * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP)))
