"""Trains a draft network on collected texts, on a GPU if torch sees one. Works on tensors; independent of engines and
prompts.

Training that was stopped continues to the same weights, on the same processor with the same number of threads.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn import functional

from models.speculative.network import Shape
from models.speculative.torch_network import first_weights, predicted
from scripts.drafting.collecting import HEAD, READ, WRITTEN, Text
from scripts.drafting.recipe import NOISE, OWN_FEATURES, WARM_UP, WEIGHTS, Recipe
from scripts.training import OtherRecipe

_CLIP = 1.0
_REVISION = 2
"""A part of what identifies a saved state. It is raised when a step learns in another way."""

_MOMENTS = ("step", "exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class Row:
    """A text as the network reads it: all n tokens except the first. `before` are the features before these tokens,
    `after` the features to predict, both of shape (n, width); `parents` are the places of the tokens before them, -1 if
    they are not in the row; `taught` marks the tokens that count in the loss.
    """

    before: torch.Tensor
    after: torch.Tensor
    parents: torch.Tensor
    tokens: torch.Tensor
    positions: torch.Tensor
    unread: torch.Tensor
    taught: torch.Tensor
    likeliest: npt.NDArray[np.int32]
    is_written: npt.NDArray[np.bool_]

    def on(self, device: str) -> "Row":
        """Return the row with its tensors on a torch device."""
        values = {name: getattr(self, name) for name in Row.__slots__}
        moved: dict[str, Any] = {
            name: value.to(device) for name, value in values.items() if isinstance(value, torch.Tensor)
        }
        return replace(self, **moved)


def row(text: Text, *, since: int = HEAD, without_prompt: bool = False) -> Row:
    """Return a text as a row. With `since=WRITTEN`, the row has no features of the prompt, as when the network drafts:
    it begins with the first token of the answer whose predecessor's feature is known. With `without_prompt`, the prompt
    is there, but the answers are read as if it were not.
    """
    parents = text.parents
    depth = np.zeros(len(parents), np.int64)
    reads = np.zeros((len(parents), len(parents)), np.bool_)
    for place, parent in enumerate(parents):
        reads[place, place] = parent >= 0
        if parent >= 0:
            depth[place] = depth[parent] + 1
            reads[place] |= reads[parent]
    used = np.flatnonzero((parents >= 0) & (text.parts >= since))
    if since == WRITTEN:
        used = used[text.parts[parents[used]] == WRITTEN]
    features = torch.from_numpy(text.features).float()
    places = np.full(len(parents) + 1, -1)  # the last one stands for the parent -1
    places[used] = np.arange(len(used))
    visible = reads[np.ix_(used, used)]
    if without_prompt:
        begins = text.parts[parents[used]] != WRITTEN  # of answers: the first token, before which is the prompt
        visible &= (text.parts[used] != WRITTEN)[:, None] | ~begins | np.eye(len(used), dtype=np.bool_)
    unread = np.where(visible, 0, -np.inf).astype(np.float32)
    return Row(
        before=features[parents[used]],
        after=features[used],
        parents=torch.from_numpy(places[parents[used]]),
        tokens=torch.from_numpy(text.tokens[used].astype(np.int64)),
        positions=torch.from_numpy(depth[used]),
        unread=torch.from_numpy(unread),
        taught=torch.from_numpy(text.parts[used] >= READ),
        likeliest=text.likeliest[used],
        is_written=text.parts[used] == WRITTEN,
    )


def frequent(texts: Sequence[Text], most: int) -> npt.NDArray[np.int32]:
    """Return the ids of the most frequent tokens, at most the given number, in ascending order."""
    counts = Counter[int]()
    for text in texts:
        counts.update(text.tokens[text.parts >= READ].tolist())
        counts.update(text.likeliest[text.likeliest >= 0].tolist())
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    return np.array(sorted(ranked[:most]), np.int32)


class Trainer:
    """A network in training, with the optimiser's state. `step` counts the texts learned from, of `steps` in total.

    Rows to learn from may be on any torch device; rows to predict are on `device`.
    """

    def __init__(
        self, shape: Shape, settings: Recipe, embedding: torch.Tensor, head: torch.Tensor, steps: int, threads: int
    ) -> None:
        """Create a trainer. `embedding`, shape (tokens, width), and `head`, shape (drafted, width), are the model's and
        are not trained.
        """
        torch.set_num_threads(threads)
        self.shape, self.settings, self.steps, self.step = shape, settings, steps, 0
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        weights = first_weights(shape, settings.seed)
        self.weights = {name: weight.to(self.device).requires_grad_() for name, weight in weights.items()}
        self._embedding, self._head = embedding.to(self.device), head.to(self.device)
        self._optimiser = torch.optim.AdamW(self.weights.values(), lr=settings.highest_rate, betas=(0.9, 0.95))

    def learn(self, text: Row) -> float:
        """Do one training step on a text; return the loss per token that counts."""
        for group in self._optimiser.param_groups:
            group["lr"] = self.settings.highest_rate * _pace((self.step + 0.5) / self.steps)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.settings.precision == "bfloat16"):
            loss = self._loss(text.on(self.device))
        self._optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.weights.values(), _CLIP)
        self._optimiser.step()
        self.step += 1
        return float(loss.detach())

    @property
    def leaves_prompt_out(self) -> bool:
        """Whether the next step reads the answers as if there were no prompt."""
        return self.settings.losses == "ours" and self.step % 2 == 1

    def predicted(self, text: Row, before: torch.Tensor | None = None) -> torch.Tensor:
        """Return the predicted features of a text, shape (n, width); `before` replaces the features that the network
        reads.
        """
        before = text.before if before is None else before
        embeddings = self._embedding[text.tokens].float()
        return predicted(self.weights, self.shape, before, embeddings, text.positions, text.unread)

    def logits(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logits of the drafted tokens, shape (n, drafted)."""
        return functional.linear(features, self._head)

    def taken(self) -> dict[str, torch.Tensor]:
        """Return the weights of the network that are taken from the model, on the CPU."""
        return {"embedding": self._embedding.cpu(), "head": self._head.cpu()}

    def save(self, path: Path) -> None:
        """Save weights and state, atomically."""
        tensors = {}
        for name, weight in self.weights.items():
            tensors[name] = weight.detach()
            for kind, moment in self._optimiser.state.get(weight, {}).items():
                tensors[f"{name} {kind}"] = moment
        fresh = path.with_suffix(".part")
        # One key: safetensors writes several in any order, and equal trainings are to give equal bytes.
        save_file(tensors, fresh, {"at": f"{self.step} {self._identity()}"})
        fresh.replace(path)

    def load(self, path: Path) -> None:
        """Continue from a saved state. Raises OtherRecipe if the state was made with other settings or other data."""
        with safe_open(path, framework="pt") as file:
            step, _, settings = (file.metadata() or {}).get("at", "").partition(" ")
            if settings != self._identity():
                raise OtherRecipe(f"{path} was made with other settings or other data: {settings}.")
            self.step = int(step)
            for name, weight in self.weights.items():
                weight.data.copy_(file.get_tensor(name))
                if self.step:
                    moments = {kind: file.get_tensor(f"{name} {kind}") for kind in _MOMENTS}
                    # AdamW counts its steps on the CPU.
                    self._optimiser.state[weight] = {
                        kind: moment if kind == "step" else moment.to(self.device) for kind, moment in moments.items()
                    }

    def _identity(self) -> str:
        return f"{self.settings} {self.shape} {self.steps} steps, revision {_REVISION}"

    def _loss(self, text: Row) -> torch.Tensor:
        before = text.before
        generator = torch.Generator().manual_seed(self.settings.seed + self.step)
        if self.settings.losses == "ours" and self.step >= self.steps - self.steps // self.settings.epochs:
            with torch.no_grad():
                own = self.predicted(text)[text.parents]
            drawn = torch.rand(len(own), generator=generator).to(self.device)
            chosen = (drawn < OWN_FEATURES) & (text.parents >= 0)
            before = torch.where(chosen[:, None], own, before)
        if self.settings.losses == "paper":
            noise = torch.rand(before.shape, generator=generator).to(self.device) - 0.5
            before = before + noise * (NOISE * 512 / len(before))
        features = self.predicted(text, before)[text.taught]
        target = text.after[text.taught]
        soft, smooth = WEIGHTS[self.settings.losses]
        return soft * cross_entropy(self.logits(features), self.logits(target)) + soft_l1(features, target) * smooth


def cross_entropy(predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of the predicted distribution relative to the target's; both are given as logits
    (n, drafted).
    """
    return -(target.softmax(-1) * predicted.log_softmax(-1)).sum(-1).mean()


def soft_l1(predicted: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the SmoothL1 loss of the features, as the mean over all numbers."""
    return functional.smooth_l1_loss(predicted, target)


def learn(
    trainer: Trainer,
    files: Sequence[Path],
    load: Callable[[Path], Text],
    state: Path,
    every: int,
    on_loss: Callable[[float], bool],
) -> None:
    """Do the remaining training steps, and save the state regularly and at the end.

    `on_loss` gets each loss; if it returns True, the state is saved and KeyboardInterrupt raised.
    """
    if state.exists():
        trainer.load(state)
    for file in list(order(files, trainer.settings))[trainer.step :]:
        stops = on_loss(trainer.learn(row(load(file), without_prompt=trainer.leaves_prompt_out)))
        if trainer.step % every == 0 or trainer.step == trainer.steps or stops:
            trainer.save(state)
        if stops:
            raise KeyboardInterrupt


def order(files: Sequence[Path], settings: Recipe) -> Iterator[Path]:
    """Yield the files of all epochs, in another order in each epoch."""
    rng = random.Random(settings.seed)
    for _ in range(settings.epochs):
        yield from rng.sample(files, len(files))


def _pace(done: float) -> float:
    """Return the learning rate's factor at a fraction of the training: linear warm-up, then linear decay."""
    return done / WARM_UP if done < WARM_UP else (1 - done) / (1 - WARM_UP)
