"""Runs the whole training of a draft network: from folders of questions to the network with its card. Needs the extra
`train`.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from rich.progress import Progress
from safetensors.numpy import save_file

from models.catalog import find
from models.chat_template import parse
from models.llama_features import LlamaFeatureEngine
from models.llama_model import LlamaModel
from models.research.torch_weights import load as load_weights
from models.speculative.network import Shape
from models.speculative.network_file import About, said, target_of
from scripts.benchmarks.dovetail_prompts import prompts
from scripts.drafting import collecting, measuring, training
from scripts.drafting.card import card
from scripts.drafting.recipe import Collected, Recipe
from scripts.places import weights
from scripts.training import asked_to_stop
from shared.prompt import Prompt

MODEL: Final = "smollm2-135m"
KEPT_EVERY: Final = 20
"""The number of steps between two saves of the training state."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The result of a training: the files of the network and of its card, and the figures."""

    network: Path
    card: Path
    figures: dict[str, Any]


def teach(
    room: Path, data: Path, model: Path | None, collected: Collected, settings: Recipe, threads: int, bar: Progress
) -> Trained:
    """Collect texts and train a network in the folder `room`, continuing from the data and state that the folder holds.

    Ctrl-C raises KeyboardInterrupt, and the next call continues. Raises CannotRun, OtherRecipe, JackdawError, OSError.
    """
    room.mkdir(parents=True, exist_ok=True)
    path = model or weights(MODEL).path(find(MODEL))
    sequences = collecting.TOGETHER * collected.answers
    context = collecting.room(collected)
    engine = LlamaFeatureEngine(
        LlamaModel(path), context=context, sequences=sequences, threads=threads, kv_type="q8_0", shared=True
    )
    with closing(engine):
        info = engine.info
        files = _collected(engine, room / "texts", data, collected, bar, held_out=False)
        held_out = _collected(engine, room / "held-out", data, collected, bar, held_out=True)
    texts = [collecting.load(file) for file in files]
    vocabulary = training.frequent(texts, settings.drafted)
    shape, embedding, head = _model(path, info.model_hash, room, settings, vocabulary)
    trainer = training.Trainer(shape, settings, embedding, head, settings.epochs * len(files), threads)
    named = f"draft-{settings.fusion}-{settings.blocks}-{settings.losses}"
    task = bar.add_task("learning", total=trainer.steps)
    with asked_to_stop() as asked:

        def on_step(loss: float) -> bool:
            bar.update(task, completed=trainer.step, description=f"learning, loss {loss:.2f}")
            return asked()

        training.learn(trainer, files, collecting.load, room / f"{named}.state", KEPT_EVERY, on_step)
    network = write(room / f"{named}.safetensors", trainer, vocabulary, target_of(info))
    bar.stop()
    own = [collecting.load(file) for file in held_out]
    figures = measuring.figures(trainer, network, info, [text for text in own if text.written], (1, threads))
    figures["texts"] = len(texts)
    figures["written"] = sum(text.written for text in texts)
    figures["read"] = sum(int((text.parts == collecting.READ).sum()) for text in texts)
    network.with_suffix(".md").write_text(card(info.model, shape, settings, collected, figures), "utf-8")
    return Trained(network, network.with_suffix(".md"), figures)


def write(path: Path, trainer: training.Trainer, vocabulary: "np.ndarray[Any, Any]", target: str) -> Path:
    """Write the network for a target model, atomically: its trained weights in float16, and the weights taken from the
    model.
    """
    arrays = {name: weight.detach().cpu().numpy().astype(np.float16) for name, weight in trainer.weights.items()}
    arrays |= {name: tensor.numpy().astype(np.float16) for name, tensor in trainer.taken().items()}
    fresh = path.with_suffix(".part")
    save_file({**arrays, "vocabulary": vocabulary.astype(np.int32)}, fresh, said(About(target, trainer.shape)))
    return fresh.replace(path)


def _collected(
    engine: LlamaFeatureEngine, folder: Path, data: Path, settings: Collected, bar: Progress, *, held_out: bool
) -> list[Path]:
    """Return texts of prompts of all kinds in turn; held-out prompts have a single, greedy answer each."""
    total = 4 * settings.held_out if held_out else settings.positions
    task = bar.add_task("held-out answers" if held_out else "the model's own answers, in tokens", total=total)
    template = parse(engine.info.chat_template, engine.info.bos)

    def made() -> Iterator[Prompt]:
        kinds = prompts(data, template, held_out=held_out).values()
        in_turn = (prompt for group in zip_longest(*kinds) for prompt in group if prompt)
        return in_turn if not held_out else islice(in_turn, total)

    def enough(written: int) -> bool:
        return not held_out and written >= total

    own = replace(settings, answers=1) if held_out else settings
    return collecting.collect(
        engine, made, folder, own, enough, lambda written: bar.update(task, completed=written if not held_out else None)
    )


def _model(
    path: Path, model_hash: str, room: Path, settings: Recipe, vocabulary: "np.ndarray[Any, Any]"
) -> tuple[Shape, torch.Tensor, torch.Tensor]:
    """Return the network's shape, which follows the model's, and two arrays of the model: its embeddings, and the rows
    of its output head for the drafted tokens.
    """
    plain, tensors = load_weights(path, model_hash, room)
    embedding = tensors["token_embd.weight"]
    head = tensors.get("output.weight", embedding)[torch.from_numpy(vocabulary.astype(np.int64))].float()
    shape = Shape(
        fusion=settings.fusion,
        blocks=settings.blocks,
        width=embedding.shape[1],
        heads=plain.heads,
        kv_heads=plain.kv_heads,
        head=plain.head,
        inner=tensors["blk.0.ffn_up.weight"].shape[0],
        tokens=embedding.shape[0],
        drafted=len(vocabulary),
        epsilon=plain.epsilon,
        rope_base=plain.rope_base,
    )
    return shape, embedding.clone(), head
