"""Writes weights of a larger shape that produce the default model's text: the cost of a large model, with a known
answer.

They measure speed alone: they show nothing about a large model's quality, nor about how predictable its text is. An
adapter of the default model does not fit them.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from scripts.inflation.shapes import SHAPES, CannotInflate
from scripts.places import CannotRun, weights
from shared.errors import JackdawError

_EXAMPLES = """Examples:
  scripts/inflate /tmp/1.7b.gguf --shape 1.7b                   1.8 GB
  scripts/inflate /tmp/1.7b-q4.gguf --shape 1.7b --type q4_0    1.0 GB

With q4_k_m, the disk also needs room for the q8_0 file while the command runs; the weights are rounded twice.

Exit codes: 0 done, 1 failed, 2 usage, 3 it cannot be made here, 130 stopped"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. For usage errors argparse exits with code 2."""
    parser = argparse.ArgumentParser(
        prog="scripts/inflate",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the GGUF file to write")
    parser.add_argument(
        "--shape", choices=SHAPES, required=True, help="the model whose widths and number of layers the file gets"
    )
    parser.add_argument(
        "--type", choices=("q8_0", "q4_1", "q4_0", "q4_k_m"), default="q8_0", help="(default: %(default)s)"
    )
    given = parser.parse_args(arguments)
    if not given.file.parent.is_dir():
        parser.error(f"there is no folder {given.file.parent}")
    try:
        from scripts.inflation.making import make
        from scripts.inflation.targets import MODEL
    except ModuleNotFoundError as missing:
        return _ended(3, f"Weights cannot be inflated: {missing.name} is missing. Run: scripts/install research")
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    try:
        folder = weights(MODEL)
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(given.file.name, total=None)
            make(
                folder,
                given.file,
                given.shape,
                given.type,
                os.cpu_count() or 1,
                lambda done, total: bar.update(task, completed=done, total=total),
            )
    except (CannotRun, CannotInflate) as reason:
        return _ended(3, f"{given.file} cannot be made: {reason}")
    except (JackdawError, OSError) as error:
        return _ended(1, f"{given.file} could not be written: {error}")
    except KeyboardInterrupt:
        return _ended(130, "Stopped. Nothing was written.")
    print(given.file)
    return 0


def _ended(code: int, why: str) -> int:
    print(why, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
