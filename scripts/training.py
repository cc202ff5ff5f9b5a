"""Code that the training commands share: their arguments, and how they end and are interrupted."""

import argparse
import math
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from scripts.places import CannotRun
from shared.errors import JackdawError

Trained = TypeVar("Trained")


class OtherRecipe(Exception):
    """Raised if the folder holds data or a state that was made with other settings; the message says which."""


def folder(text: str) -> Path:
    """Return an argument as the path of a folder. Raises ArgumentTypeError."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return path


def count(text: str) -> int:
    """Return an argument as a whole number from 1 on. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def rate(text: str) -> float:
    """Return an argument as a number between 0 and 1. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return number


def run(subject: str, room: Path, train: Callable[[Progress], Trained], show: Callable[[Trained], None]) -> int:
    """Train into the folder `room` with progress bars, then show the result; return the exit code.

    An error is printed to standard error. `subject` begins the sentence "… cannot be trained".
    """
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    try:
        with Progress(*columns, console=Console(stderr=True)) as bar:
            trained = train(bar)
    except ModuleNotFoundError as missing:
        return _ended(3, f"{subject} cannot be trained: {missing.name} is missing. Run: scripts/install train")
    except CannotRun as reason:
        return _ended(3, f"{subject} cannot be trained: {reason}")
    except OtherRecipe as error:
        return _ended(1, f"{error} Name another folder, or begin again: rm -r {room}")
    except (JackdawError, OSError) as error:
        return _ended(1, f"The training failed: {error}")
    except KeyboardInterrupt:
        return _ended(130, "Stopped. The same command continues from here.")
    show(trained)
    return 0


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed. The first Ctrl-C is only recorded, as an interrupted
    step cannot be resumed; the second ends the program.
    """
    noted: list[int] = []

    def note(number: int, _frame: object) -> None:
        noted.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(noted)
    finally:
        signal.signal(signal.SIGINT, before)


def _ended(code: int, message: str) -> int:
    print(message, file=sys.stderr)
    return code
