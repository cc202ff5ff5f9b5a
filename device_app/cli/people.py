"""`jackdaw knowledge people`: lists everybody in the files and on the phone, with all their names."""

import click

from device_app.cli.opening import opened
from device_app.commands.people import described
from shared.cli.frame import Command
from shared.cli.output import print_blocks, print_json
from shared.errors import ExitCode
from shared.printable import safe_line


@click.command(
    "people",
    cls=Command,
    examples=(
        ("List everybody, who is named most often first", "jackdaw knowledge people"),
        ("Show all names of a person", 'jackdaw knowledge people "Jake Watson"'),
    ),
)
@click.argument("name", required=False)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Number of people to list.")
def people(name: str | None, limit: int, as_json: bool) -> int | None:
    """List the people in your files and on your phone, or those with NAME, a number or an address, with all names.

    Each name is followed by its source. Exit code 3: there is nobody.
    """
    with opened() as device:
        everybody = described(device, name)
    shown = everybody[:limit]
    if as_json:
        print_json({"people": shown, "count": len(everybody)})
    elif shown:
        rows = [
            (person.name + (" (you)" if person.is_me else ""), "\n".join(each.said for each in person.names))
            for person in shown
        ]
        print_blocks([[(safe_line(title), names)] for title, names in rows])
        if len(everybody) > limit:
            click.echo(f"{len(everybody) - limit:,} more: --limit {len(everybody)}", err=True)
    else:
        click.echo(f"Nobody is called {safe_line(name)}." if name else "Nothing that was read names anybody.")
    return None if shown else ExitCode.NOTHING
