"""`jackdaw status`: what Jackdaw knows and uses now."""

import os

import click

from device_app.build import Device
from device_app.settings import load
from models import catalog
from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from storage.paths import Paths


@click.command(cls=Command, examples=(("What is known and used", "jackdaw status"),))
def command(as_json: bool) -> None:
    """Show how much has been read, which model answers, and how much space both take."""
    paths = Paths.locate(os.environ)
    settings = load(paths, os.environ).settings
    with Device(paths, settings) as device:
        totals = device.knowledge.totals()
        folders = [os.fsdecode(path) for path in device.knowledge.folders()]
        conversations = device.conversations.count()
        model = catalog.find(settings.model.name)
        state = device.weights.state(model)
    size = paths.database.stat().st_size
    if as_json:
        print_json(
            {
                "knowledge": totals,
                "folders": folders,
                "store_bytes": size,
                "conversations": conversations,
                "model": {"name": settings.model.name, "state": state},
            }
        )
        return
    print_blocks(
        [
            [
                ("Folders", "\n".join(folders) or "none yet: jackdaw add ~/Documents"),
                ("Files", f"{totals.files:,} ({totals.skipped:,} could not be read)"),
                ("Documents", f"{totals.documents:,}"),
                ("Passages", f"{totals.passages:,}"),
                ("Store", f"{size / 1e6:,.1f} MB"),
                ("Conversations", f"{conversations:,}"),
                ("Model", f"{settings.model.name} ({state})"),
            ]
        ]
    )
