"""`jackdaw status`: shows what Jackdaw has read, and the model and server that it uses."""

import os

import click

from device_app.cli.companion import standing
from device_app.cli.opening import opened
from device_app.presentation import spent_today
from models import catalog
from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from shared.printable import safe_line

NO_SERVER = "none: questions are answered on this device alone. To connect a server: jackdaw connect URL"


@click.command(
    cls=Command,
    examples=(
        ("Show the state of Jackdaw", "jackdaw status"),
        ("Print the state as JSON for a script", "jackdaw status --json"),
    ),
)
def command(as_json: bool) -> None:
    """Show how much has been read, the model, the space that both take, and the state of the companion server.

    The server is contacted for a few seconds at most, unless nothing may be sent to it.
    """
    from device_app.companion.dispatch.day import DayLimits, Days

    with opened() as device:
        paths, settings = device.paths, device.settings
        totals = device.knowledge.totals()
        folders = [os.fsdecode(path) for path in device.knowledge.folders()]
        conversations = device.conversations.count()
        model = catalog.find(settings.model.name)
        state = device.weights.state(model)
        adapter, refused = (device.adapter, device.refused) if state == "present" else (None, "")
        server = standing(device)
        spent, limits = Days(paths.dispatch_spent).spent(), DayLimits(settings.link.day_joules, settings.link.day_money)
    size = paths.database.stat().st_size
    if as_json:
        print_json(
            {
                "knowledge": totals,
                "folders": folders,
                "store_bytes": size,
                "conversations": conversations,
                "model": {
                    "name": settings.model.name,
                    "state": state,
                    "adapter": adapter.hash if adapter else "",
                    "refused": refused,
                },
                "server": server,
                "spent": limits.as_json(spent) if server else None,
            }
        )
        return
    today = [("Today", spent_today(spent, limits))] if server else []
    print_blocks(
        [
            [
                ("Folders", "\n".join(folders) or "none yet: jackdaw add ~/Documents"),
                ("Files", f"{totals.files:,} ({totals.skipped:,} could not be read)"),
                ("Documents", f"{totals.documents:,}"),
                ("Passages", f"{totals.passages:,}"),
                ("Store", f"{size / 1e6:,.1f} MB"),
                ("Conversations", f"{conversations:,}"),
                ("Model", f"{settings.model.name} ({state})" + (f"\n{safe_line(refused)}" if refused else "")),
                ("Server", server.summary() if server else NO_SERVER),
                *today,
            ]
        ]
    )
