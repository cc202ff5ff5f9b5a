"""`jackdaw-server token`: create, list and revoke access tokens."""

import os
from datetime import UTC, datetime

import click

from cloud_server.access.tokens import TokenFile
from shared.cli.frame import Group
from shared.cli.output import age, print_json, print_table
from shared.errors import ExitCode
from storage.paths import Paths

command = Group(
    "token",
    default="list",
    help="Create, list and revoke access tokens. A token is shown once; the server stores only its hash.",
    examples=(
        ("Create a token for a device", "jackdaw-server token create anna-phone"),
        ("List all tokens", "jackdaw-server token list"),
        ("Revoke a device's token at once", "jackdaw-server token revoke anna-phone"),
    ),
)


def _tokens() -> TokenFile:
    return TokenFile(Paths.locate(os.environ).server_tokens)


@command.command("create", examples=(("Create a token for a device", "jackdaw-server token create anna-phone"),))
@click.argument("name")
def create(name: str, as_json: bool) -> None:
    """Make a token for the device or person called NAME, and print the token."""
    entry, token = _tokens().create(name, datetime.now(UTC))
    if as_json:
        print_json({"id": entry.id, "name": entry.name, "token": token})
        return
    click.echo(token)
    click.echo("The token is not shown again. On the device: jackdaw connect URL", err=True)


@command.command("list", examples=(("List all tokens", "jackdaw-server token list"),))
def list_tokens(as_json: bool) -> int | None:
    """List the names of all access tokens."""
    entries = _tokens().entries()
    if as_json:
        print_json(
            {"tokens": [{"id": entry.id, "name": entry.name, "created_at": entry.created_at} for entry in entries]}
        )
    elif entries:
        print_table(("Name", "Id", "Made"), [(entry.name, entry.id, _age(entry.created_at)) for entry in entries])
    else:
        click.echo("There is no token yet, so no device can connect. Add a device: jackdaw-server pair", err=True)
    return None if entries else ExitCode.NOTHING


def _age(moment: str) -> str:
    try:
        return age(moment)
    except (ValueError, TypeError):  # a hand-edited date must not stop the command
        return moment


@command.command("revoke", examples=(("Revoke a device's token", "jackdaw-server token revoke anna-phone"),))
@click.argument("name")
def revoke(name: str, as_json: bool) -> None:
    """Revoke the token with this NAME or id. A running server cuts the connections that use it."""
    gone = _tokens().revoke(name)
    if as_json:
        print_json({"id": gone.id, "name": gone.name})
    else:
        click.echo(f"The token {gone.name} is revoked.")
