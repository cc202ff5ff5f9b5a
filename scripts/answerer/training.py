"""Trains low-rank adapters (LoRA: Hu et al. 2021) on packed rows. Works on tensors; independent of data and file
formats.

The model computes in its own type, bfloat16; the adapter is kept in float32. Interrupted training resumes to the same
weights.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy

from scripts.answerer.llama import Llama
from scripts.answerer.packing import Row
from scripts.answerer.recipe import TARGETS, WARM_UP, Recipe
from scripts.training import OtherRecipe

_CLIP = 1.0
_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Trainer:
    """A model with an adapter in training, and the optimiser's state.

    `step` counts the batches done, of `steps` in total. `adapter` are the weights with which the model computes,
    `exact` the same weights in float32, by peft's names. With compilation, the first step on a new row length is slow,
    later ones faster.
    """

    def __init__(self, base: Llama, recipe: Recipe, steps: int, threads: int, *, compiled: bool = True) -> None:
        from peft import LoraConfig, inject_adapter_in_model  # it takes seconds

        self.recipe, self.steps, self.step = recipe, steps, 0
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(recipe.seed)
        config = LoraConfig(r=recipe.rank, lora_alpha=recipe.alpha, target_modules=list(TARGETS), lora_dropout=0.0)
        inject_adapter_in_model(config, base)
        self.model = base.to(self._device)
        self.adapter = {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}
        self.exact = {name: weight.data.to(torch.float32, copy=True) for name, weight in self.adapter.items()}
        self._optimiser = torch.optim.AdamW(self.exact.values(), lr=recipe.rate, weight_decay=0.0)
        # One thread per row: within a row, the work between two matrix products is too small to divide.
        torch.set_num_threads(1)
        self._side_by_side = ThreadPoolExecutor(threads if self._device == "cpu" else 1)
        self._compiles = compiled
        self._compiled_lengths: set[int] = set()
        if compiled:
            torch.compiler.reset()  # compilations of an earlier trainer count against this one's limit
            for block in self.model.blk:
                block.compile(dynamic=False)

    def learn(self, batch: Sequence[Row]) -> float:
        """Do one training step on the given rows, one row per thread at a time. Return the mean loss per unit of loss
        weight.
        """
        self._compile(batch)
        weight = float(sum(row.weights.sum() for row in batch))
        lost = 0.0
        # In the order of the rows, whatever the number of threads: the rounding of a sum depends on its order.
        for loss, slopes in self._side_by_side.map(self.slopes, batch):
            lost += loss / weight
            for exact, slope in zip(self.exact.values(), slopes, strict=True):
                part = slope.float() / weight
                exact.grad = part if exact.grad is None else exact.grad.add_(part)
        self._descend()
        return lost

    def slopes(self, row: Row) -> tuple[float, Sequence[torch.Tensor]]:
        """Return a row's weighted loss, summed, and its gradient for each weight of the adapter."""
        loss = self._loss(row)
        return float(loss.detach()), torch.autograd.grad(loss, list(self.adapter.values()))

    def save(self, path: Path) -> None:
        """Save the adapter and the training state, atomically."""
        tensors = {}
        for name, weight in self.exact.items():
            tensors[name] = weight.cpu()
            for kind, moment in self._optimiser.state.get(weight, {}).items():
                tensors[f"{name} {kind}"] = moment.cpu()
        fresh = path.with_suffix(".part")
        save_file(tensors, fresh, {"step": str(self.step), "steps": str(self.steps), "recipe": repr(self.recipe)})
        fresh.replace(path)

    def load(self, path: Path) -> None:
        """Resume from a saved state. Raises OtherRecipe if the state was made with other settings."""
        with safe_open(path, framework="pt") as file:
            said = file.metadata() or {}
            if (said.get("recipe"), said.get("steps")) != (repr(self.recipe), str(self.steps)):
                raise OtherRecipe(
                    f"{path} was made with other settings: {said.get('steps')} steps, {said.get('recipe')}."
                )
            self.step = int(said["step"])
            for name, weight in self.exact.items():
                weight.copy_(file.get_tensor(name))
                self.adapter[name].data.copy_(weight)
                if self.step:
                    self._optimiser.state[weight] = {
                        kind: file.get_tensor(f"{name} {kind}").to("cpu" if kind == "step" else self._device)
                        for kind in _MOMENTS
                    }

    def _compile(self, batch: Sequence[Row]) -> None:
        """Compile the model for new row lengths, which only a single thread may do."""
        for length, row in {len(row.tokens): row for row in batch}.items():
            if self._compiles and length not in self._compiled_lengths:
                self.slopes(row)
                self._compiled_lengths.add(length)

    def _descend(self) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] = self.recipe.rate * _pace((self.step + 0.5) / self.steps)
        torch.nn.utils.clip_grad_norm_(self.exact.values(), _CLIP)
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        for name, used in self.adapter.items():
            used.data.copy_(self.exact[name])
        self.step += 1

    def _loss(self, row: Row) -> torch.Tensor:
        """Return the sum of the weighted losses; computes logits only for positions with a target."""
        hidden = self.model(self._to(row.tokens), self._to(row.positions), self._to(row.mask()))
        taught = np.flatnonzero(row.targets >= 0)
        logits = self.model.logits(hidden[self._to(taught)])
        losses = cross_entropy(logits.float(), self._to(row.targets[taught]), reduction="none")
        return (losses * self._to(row.weights[taught])).sum()

    def _to(self, array: npt.NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)


def batches(rows: Iterable[Row], size: int) -> Iterator[Sequence[Row]]:
    """Yield batches of `size` rows of equal length, so that no thread waits for another; leftover rows come last."""
    waiting = defaultdict[int, list[Row]](list)
    for row in rows:
        alike = waiting[len(row.tokens)]
        alike.append(row)
        if len(alike) == size:
            yield tuple(alike)
            alike.clear()
    left = [row for alike in waiting.values() for row in alike]
    for start in range(0, len(left), size):
        yield left[start : start + size]


def _pace(done: float) -> float:
    """Return the learning rate's factor at a fraction of the training: linear warm-up, then cosine decay."""
    return done / WARM_UP if done < WARM_UP else 0.5 * (1 + math.cos(math.pi * (done - WARM_UP) / (1 - WARM_UP)))
