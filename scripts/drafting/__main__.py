"""Trains a draft network for a model: it predicts the model's next tokens from the model's own features.

Collects the model's own answers to Jackdaw's prompts, then trains. Writes the network (safetensors) into DIR, and a
card beside it. Training with other settings in the same DIR uses the same texts. Stop it with Ctrl-C at any time: the
same command continues from there, with the same bytes as a result.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from rich.progress import Progress

from models.speculative.network import Fusion
from scripts.drafting.recipe import Collected, Losses, Precision, Recipe
from scripts.training import count, folder, rate, run

_COLLECTED, _RECIPE = Collected(), Recipe()

_EXAMPLES = """Examples:
  scripts/train_draft build/draft --data ../shared/data
  scripts/train_draft build/draft --data ../shared/data --fusion plain           EAGLE's fusion, on the same texts
  scripts/train_draft build/try --data ../shared/data --positions 2000 --held-out 1 --epochs 1      a minute or two

Exit codes: 0 done, 1 failed, 2 usage, 3 training is impossible here, 130 stopped, the same command continues"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. For usage errors argparse exits with code 2."""
    given = _parsed(arguments)
    collected = Collected(positions=given.positions, answers=given.answers, held_out=given.held_out, seed=given.seed)
    settings = Recipe(
        fusion=given.fusion,
        blocks=given.blocks,
        losses=given.losses,
        drafted=given.drafted,
        epochs=given.epochs,
        rate=given.rate,
        precision=given.precision,
        seed=given.seed,
    )

    def train(bar: Progress) -> Any:
        from scripts.drafting.teaching import teach

        return teach(given.folder, given.data, given.model, collected, settings, given.threads, bar)

    def show(trained: Any) -> None:
        files = {"network": str(trained.network), "card": str(trained.card)}
        print(json.dumps(files | {"figures": trained.figures}) if given.json else trained.network)

    return run("A draft network", given.folder, train, show)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/train_draft",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="folder to write texts, state, network and card into")
    add(
        "--data",
        type=folder,
        required=True,
        metavar="DIR",
        help="folder with lihuaworld, email, nq_passages and prompts",
    )
    add("--model", type=Path, metavar="FILE", help="GGUF of the model to draft for (default: the default model)")
    add(
        "--positions",
        type=count,
        default=_COLLECTED.positions,
        help="tokens of answers to collect (default: %(default)s)",
    )
    add("--answers", type=count, default=_COLLECTED.answers, help="answers to each prompt (default: %(default)s)")
    add(
        "--held-out",
        type=count,
        default=_COLLECTED.held_out,
        help="held-out prompts of each kind (default: %(default)s)",
    )
    add(
        "--fusion", choices=get_args(Fusion), default=_RECIPE.fusion, help="fusion of the inputs (default: %(default)s)"
    )
    add("--blocks", type=count, default=_RECIPE.blocks, help="number of network blocks (default: %(default)s)")
    add(
        "--losses",
        choices=get_args(Losses),
        default=_RECIPE.losses,
        help="losses, with their rate (default: %(default)s)",
    )
    add("--drafted", type=count, default=_RECIPE.drafted, help="size of the drafted vocabulary (default: %(default)s)")
    add("--epochs", type=count, default=_RECIPE.epochs, help="passes over all texts (default: %(default)s)")
    add("--rate", type=rate, default=_RECIPE.rate, help="highest learning rate (default: that of the losses)")
    add(
        "--precision",
        choices=get_args(Precision),
        default=_RECIPE.precision,
        help="numbers in which matrices are multiplied (default: %(default)s)",
    )
    add("--seed", type=int, default=_RECIPE.seed, help="seed of all random choices (default: %(default)s)")
    add("--threads", type=count, default=os.cpu_count() or 1, help="threads (default: %(default)s)")
    add("--json", action="store_true", help="print files and figures as one JSON object")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
