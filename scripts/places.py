"""Code that benchmarks and training share: the folder of weights (the user's own, or in JACKDAW_HOME), and progress
messages.
"""

import os
import sys
from collections.abc import Sequence

from models.catalog import Weights, find
from shared.errors import JackdawError
from storage.paths import Paths


class CannotRun(Exception):
    """Raised if a required file or package is missing; the message says which."""


def chosen_parts(only: str | None, parts: Sequence[str]) -> Sequence[str]:
    """Return the parts of a benchmark to run: those named in `only`, separated by commas, or all. Raises CannotRun."""
    chosen = only.split(",") if only else parts
    if unknown := sorted(set(chosen) - set(parts)):
        raise CannotRun(f"the benchmark has no part {', '.join(unknown)}. Its parts: {', '.join(parts)}.")
    return chosen


def weights(*names: str) -> Weights:
    """Return the folder of weights, after downloading those of the given models that are missing. Raises CannotRun."""
    folder = Weights(Paths.locate(os.environ).weights)
    for name in names:
        if folder.state(find(name)) != "present":
            step(f"pulling {name}")
            try:
                folder.pull(find(name))
            except JackdawError as error:
                raise CannotRun(str(error)) from error
    return folder


def step(what: str) -> None:
    """Print the name of the current step on stderr."""
    print(f"{what} …", file=sys.stderr, flush=True)
