"""Trains the answerer: a LoRA adapter for the default model, written as GGUF with a card beside it.

Stop it with Ctrl-C at any time: the same command goes on where it was, to the same bytes.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from models.catalog import find
from models.embedder import OnnxEmbedder
from models.llama_model import LlamaModel
from scripts.answerer import adapter_file, reading
from scripts.answerer.card import LICENCE, about, card
from scripts.answerer.curriculum import curriculum
from scripts.answerer.folders import read
from scripts.answerer.lessons import Lesson
from scripts.answerer.llama import from_gguf
from scripts.answerer.packing import Row, packed
from scripts.answerer.training import Recipe, Trainer, batches
from scripts.benchmarks import answers
from scripts.benchmarks.answers import MODEL
from scripts.benchmarks.places import CannotRun, weights
from shared.prompt import CHATML

ROW = 512
"""Tokens in a row; a lesson that is longer has one of its own."""

_KEEP = 20
"""Steps after which the state is kept."""

_EXAMPLES = """Examples:
  scripts/train_answerer build/answerer --data ../shared/data
  scripts/train_answerer build/try --data ../shared/data --tokens 50000      a few minutes, to see it run"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line: 0 done, 1 failed, 2 usage, 3 it cannot run here, 130 stopped and to be gone on with."""
    given = _parser().parse_args(arguments)
    recipe = Recipe(rank=given.rank, rate=given.rate, seed=given.seed)
    try:
        with Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        ) as bar:
            trained = _train(given.folder, given.data, recipe, given.tokens, given.threads, bar)
    except CannotRun as reason:
        print(f"The answerer cannot be trained: {reason}", file=sys.stderr)
        return 3
    except ValueError as error:
        print(f"{error} Name another folder, or begin anew: rm -r {given.folder}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on where this was.", file=sys.stderr)
        return 130
    print(trained)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/train_answerer",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="where the state, the adapter and its card are written")
    parser.add_argument("--data", type=Path, required=True, help="folder of real questions")
    parser.add_argument("--tokens", type=int, default=800_000, help="tokens to read (default: %(default)s)")
    parser.add_argument("--rank", type=int, default=Recipe.rank, help="of the adapter (default: %(default)s)")
    parser.add_argument(
        "--rate", type=float, default=Recipe.rate, help="the highest learning rate (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=Recipe.seed, help="decides everything drawn (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads (default: %(default)s)")
    return parser


def _train(folder: Path, data: Path, recipe: Recipe, tokens: int, threads: int, bar: Progress) -> Path:
    """The adapter's file."""
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the state: what a killed run leaves half written cannot harm another.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "compiled")
    found = weights(MODEL, "all-minilm-l6-v2")
    base = found.path(find(MODEL))
    model = LlamaModel(base)
    end = model.tokenize(CHATML.after_user.strip(), True)[0]
    embedder = OnnxEmbedder(found.path(find("all-minilm-l6-v2")), threads=threads)
    trees = curriculum(_real(data, folder, embedder, bar), data, model.tokenize, end, tokens, recipe.seed)
    rows = list(packed(trees, ROW))
    trainer = Trainer(from_gguf(base, model.model_hash(), folder), recipe, -(-len(rows) // recipe.rows), threads)
    model.close()
    _learn(trainer, rows, folder / f"state-{_name(rows)}.safetensors", bar)
    said = {"name": f"{MODEL}-answerer", "description": about(trees), "license": LICENCE}
    adapter = adapter_file.write(folder / f"{MODEL}-answerer.gguf", trainer.exact, recipe.alpha, base, said)
    bar.stop()
    figures = answers.run(argparse.Namespace(adapter=adapter, data=data, threads=threads, quick=False))
    adapter.with_suffix(".md").write_text(card(recipe, trees, figures), encoding="utf-8")
    return adapter


def _real(data: Path, room: Path, embedder: OnnxEmbedder, bar: Progress) -> list[Lesson]:
    folders = read(data)
    if not folders:
        raise CannotRun(f"there is no folder of questions with answers in {data}.")
    lessons: list[Lesson] = []
    for name, folder in folders.items():
        task = bar.add_task(f"finding passages in {name}", total=None)
        lessons += reading.lessons(
            name, folder, room, embedder, lambda done, total, task=task: bar.update(task, completed=done, total=total)
        )
    return lessons


def _learn(trainer: Trainer, rows: Sequence[Row], state: Path, bar: Progress) -> None:
    if state.exists():
        trainer.load(state)
    task = bar.add_task("learning", total=trainer.steps, completed=trainer.step)
    lost = 0.0
    try:
        for batch in list(batches(rows, trainer.recipe.rows))[trainer.step :]:
            loss = trainer.learn(batch)
            lost = 0.95 * lost + 0.05 * loss if lost else loss
            bar.update(task, completed=trainer.step, description=f"learning, loss {lost:.2f}")
            if trainer.step % _KEEP == 0:
                trainer.save(state)
    finally:
        trainer.save(state)


def _name(rows: Sequence[Row]) -> str:
    """Names what is learnt: the state of other lessons is not gone on with."""
    digest = hashlib.blake2b(digest_size=6)
    for row in rows:
        digest.update(row.tokens.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
