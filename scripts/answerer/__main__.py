"""Trains the answerer: a LoRA adapter for the default model, written as GGUF with a card beside it.

Stop it with Ctrl-C at any time: the same command continues from there, with the same bytes as a result.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.progress import Progress

from scripts.answerer.recipe import Recipe
from scripts.training import count, folder, rate, run

_RECIPE = Recipe()
_TOKENS = 900_000

_EXAMPLES = """Examples:
  scripts/train_answerer build/answerer --data ../shared/data
  scripts/train_answerer build/try --data ../shared/data --runs 1 --tokens 50000      a few minutes, to see it run

Exit codes: 0 done, 1 failed, 2 usage, 3 training is impossible here, 130 stopped, the same command continues"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. For usage errors argparse exits with code 2."""
    given = _parsed(arguments)

    def train(bar: Progress) -> Path:
        from scripts.answerer.teaching import teach

        recipe = Recipe(rank=given.rank, rate=given.rate, seed=given.seed, runs=given.runs)
        return teach(given.folder, given.data, recipe, given.tokens, given.threads, bar)

    return run("The answerer", given.folder, train, print)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/train_answerer",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder to write state, adapter and card into")
    parser.add_argument("--data", type=folder, required=True, metavar="DIR", help="folder of real questions")
    parser.add_argument("--tokens", type=count, default=_TOKENS, help="tokens of each run (default: %(default)s)")
    parser.add_argument(
        "--runs", type=count, default=_RECIPE.runs, help="training runs to average (default: %(default)s)"
    )
    parser.add_argument("--rank", type=count, default=_RECIPE.rank, help="rank of the adapter (default: %(default)s)")
    parser.add_argument("--rate", type=rate, default=_RECIPE.rate, help="highest learning rate (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=_RECIPE.seed, help="seed of all random choices (default: %(default)s)"
    )
    parser.add_argument("--threads", type=count, default=os.cpu_count() or 1, help="threads (default: %(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
