"""What the commands that train have in common: their arguments, and how they end and are interrupted."""

import argparse
import math
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


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


def ended(code: int, message: str) -> int:
    """Print the message to standard error, and return the exit code."""
    print(message, file=sys.stderr)
    return code


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
