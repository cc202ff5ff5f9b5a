"""Where benchmarks find weights: the person's own, or where JACKDAW_HOME points."""

import os

from models.catalog import Weights, find
from scripts.benchmarks.__main__ import CannotRun
from storage.paths import Paths


def weights(*names: str) -> Weights:
    """The folder of weights, with these in it. Raises CannotRun."""
    folder = Weights(Paths.locate(os.environ).weights)
    missing = [name for name in names if folder.state(find(name)) != "present"]
    if missing:
        raise CannotRun(f"model files are missing; run: .venv/bin/jackdaw models pull {' '.join(missing)}")
    return folder
