"""`jackdaw paths`: prints where files are kept."""

import os

import click

from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from storage.paths import Paths

NAMES = ("config", "data", "cache", "state", "config_file", "database", "weights")


@click.command(
    "paths",
    cls=Command,
    examples=(
        ("Show every folder and file", "jackdaw paths"),
        ("Show the paths if everything is in one folder", "JACKDAW_HOME=~/jackdaw jackdaw paths"),
    ),
)
def command(as_json: bool) -> None:
    """Show where files are kept. JACKDAW_HOME=FOLDER moves all of them into that folder."""
    paths = Paths.locate(os.environ)
    places = {name: str(getattr(paths, name)) for name in NAMES}
    if as_json:
        print_json(places)
    else:
        print_blocks([[(name.replace("_", " "), place) for name, place in places.items()]])
