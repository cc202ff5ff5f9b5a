"""Download the model files that a command of the server needs."""

import click

from models.catalog import Entry, Weights, find
from shared.cli.output import progress
from shared.errors import WeightsMissing
from storage.paths import hand_over, private_folder


def ensure(weights: Weights, *names: str) -> None:
    """Download the missing ones of these models, with a note on stderr. Raises WeightsMissing for a model without a
    pinned checksum.
    """
    for entry in map(find, names):
        if weights.state(entry) == "missing" and not entry.is_file:
            if not entry.pinned:
                raise WeightsMissing(f"The files of {entry.name} are missing. Run: jackdaw models pull {entry.name}")
            _pull(weights, entry)


def _pull(weights: Weights, entry: Entry) -> None:
    click.echo(f"Fetching {entry.name}.", err=True)
    private_folder(weights.folder)
    with progress(entry.name) as report:
        weights.pull(entry, lambda _, done, total: report(done, total))
    for made in weights.folder.rglob("*"):
        hand_over(made, weights.folder)
