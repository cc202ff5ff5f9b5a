"""What benchmarks and the training share: weights, the person's own or where JACKDAW_HOME points, and words to whoever
waits.
"""

import os
import sys

from models.catalog import Weights, find
from shared.errors import JackdawError
from storage.paths import Paths


class CannotRun(Exception):
    """Something that is needed is not here; the message says what."""


def weights(*names: str) -> Weights:
    """The folder of weights, with these in it; what is missing is pulled. Raises CannotRun."""
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
    """Tell whoever waits what is being done."""
    print(f"{what} …", file=sys.stderr, flush=True)
