"""Runs the whole training of the answerer: from folders of questions to an adapter with its model card. Needs the extra
`train`.
"""

import hashlib
import os
from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path

from rich.progress import Progress, TaskID

from models.catalog import find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.llama_model import LlamaModel
from scripts.answerer import adapter_file, reading
from scripts.answerer.card import LICENCE, about, card
from scripts.answerer.curriculum import curriculum
from scripts.answerer.lessons import Lesson
from scripts.answerer.llama import from_gguf
from scripts.answerer.packing import Row, packed
from scripts.answerer.quotes import quotes
from scripts.answerer.recipe import SCALE, USED, Recipe
from scripts.answerer.soup import mean
from scripts.answerer.training import Trainer, batches
from scripts.benchmarks import answers
from scripts.benchmarks.answers import MODEL
from scripts.datasets import folders, stores
from scripts.places import weights
from scripts.training import asked_to_stop
from shared.prompt import CHATML

KEPT_EVERY = 20
"""The number of steps between two saves of the training state."""

EMBEDDER = "all-minilm-l6-v2"


def teach(room: Path, data: Path, recipe: Recipe, tokens: int, threads: int, bar: Progress) -> Path:
    """Train with about `tokens` tokens per run, and return the adapter's file in the folder `room`; its card is beside
    it.

    Ctrl-C raises KeyboardInterrupt, and the next call resumes. Raises CannotRun; OtherRecipe if `room` holds a state of
    the same lessons with other settings; JackdawError and OSError.
    """
    room.mkdir(parents=True, exist_ok=True)
    # In this folder, so that half-written files of a killed run do not affect others.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(room / "compiled")
    folder = weights(MODEL, EMBEDDER)
    base = folder.path(find(MODEL))
    real = real_lessons(data, room, OnnxEmbedder(folder.path(find(EMBEDDER)), threads=threads), bar)
    with closing(LlamaModel(base)) as model:
        end = model.tokenize(CHATML.after_user.strip(), True)[0]
        runs = [curriculum(real, data, model.tokenize, end, tokens, recipe.seed + run) for run in range(recipe.runs)]
        digest = model.model_hash()
    learnt = []
    for number, trees in enumerate(runs, 1):
        rows = list(packed(trees))
        trainer = Trainer(from_gguf(base, digest, room), recipe, len(list(batches(rows, recipe.rows))), threads)
        learn(trainer, rows, room / f"state-{_digest(rows)}.safetensors", bar, f"run {number} of {recipe.runs}")
        learnt.append(trainer.exact)
    bar.stop()
    read = [*chain.from_iterable(runs)]
    adapter = room / f"{MODEL}-answerer.gguf"
    said = {"name": adapter.stem, "description": about(read), "license": LICENCE}
    adapter_file.write(adapter, mean(learnt, recipe.rank), USED * SCALE, base, said)
    figures = answers.run(Namespace(adapter=adapter, data=data, threads=threads, quick=False))
    adapter.with_suffix(".md").write_text(card(recipe, read, figures), encoding="utf-8")
    return adapter


def real_lessons(data: Path, room: Path, embedder: Embedder, bar: Progress) -> list[Lesson]:
    """Return the lessons from each folder of questions that exists, and quotations from its meetings. Raises CannotRun
    if no folder exists.
    """
    lessons: list[Lesson] = []
    for name, folder in folders.read(data).items():
        task = bar.add_task(f"finding passages in {name}", total=None)

        def on_progress(done: int, total: int, task: TaskID = task) -> None:
            bar.update(task, completed=done, total=total)

        with stores.searched(room, name, folder, embedder) as retriever:
            lessons += reading.lessons(name, folder, retriever, on_progress)
        if folder.summaries:
            lessons += quotes(folder)
    return lessons


def learn(trainer: Trainer, rows: Sequence[Row], state: Path, bar: Progress, named: str) -> None:
    """Run the remaining steps, saving the state regularly. Raises KeyboardInterrupt after saving the state."""
    if state.exists():
        trainer.load(state)
    task = bar.add_task(f"learning, {named}", total=trainer.steps, completed=trainer.step)
    smooth: float | None = None
    with asked_to_stop() as asked:
        for batch in list(batches(rows, trainer.recipe.rows))[trainer.step :]:
            loss = trainer.learn(batch)
            smooth = loss if smooth is None else 0.95 * smooth + 0.05 * loss
            bar.update(task, completed=trainer.step, description=f"learning, {named}, loss {smooth:.2f}")
            if trainer.step % KEPT_EVERY == 0 or trainer.step == trainer.steps or asked():
                trainer.save(state)
            if asked():
                raise KeyboardInterrupt


def _digest(rows: Sequence[Row]) -> str:
    """Return an id of the training rows, by which a saved state of other lessons is recognised and not resumed."""
    digest = hashlib.blake2b(digest_size=6)
    for row in rows:
        for array in (row.tokens, row.positions, row.targets, row.weights):
            digest.update(array.tobytes())
    return digest.hexdigest()
