"""`jackdaw me`: shows and stores who the person is, guessed from their files and confirmed by them."""

import sys

import click

from device_app.cli.opening import opened
from device_app.commands import me
from device_app.commands.me import Me
from shared.cli.frame import Group
from shared.cli.output import print_blocks, print_json
from shared.errors import ExitCode, NothingFound

_UNKNOWN = 'Your files do not say who you are. To say it: jackdaw me set "Li Hua" li@example.org'

command = Group(
    "me",
    default="show",
    help="Show or set who you are, so that from:me and “I” in questions are understood.",
    examples=(
        ("Show who you are, or who you may be", "jackdaw me"),
        ("Say who you are, with all your names and addresses", 'jackdaw me set "Li Hua" li@example.org'),
        ("Search what you wrote yourself", "jackdaw search from:me boathouse"),
    ),
)


@command.command("show", examples=(("Show who you are, or who you may be", "jackdaw me"),))
def show(as_json: bool) -> int | None:
    """Show your names, addresses and numbers. If you have not confirmed them, they are guessed, and you are asked.

    The guess is based on folders of sent mail, on who receives most of the mail, and on who is in most of the chats.
    Nothing leaves this device. Exit code 3: there is nothing to guess from.
    """
    with opened() as device:
        known = me.identity(device)
        if known and not known.confirmed and not as_json and sys.stdin.isatty():
            _print(known)
            if not click.confirm("Is that you?", err=True):
                click.echo('To say who you are: jackdaw me set "Li Hua" li@example.org')
                return None
            known = me.state(device, _written(known))
    if as_json:
        print_json(known or {"confirmed": False, "name": None})
    elif known is None:
        click.echo(_UNKNOWN)
    else:
        _print(known)
        if not known.confirmed:
            click.echo("To confirm this: jackdaw me set", err=True)
    return None if known else ExitCode.NOTHING


@command.command(
    "set",
    examples=(
        ("Say who you are", 'jackdaw me set "Li Hua" LiHua li@example.org "+49 170 1234567"'),
        ("Confirm what was guessed", "jackdaw me set"),
    ),
)
@click.argument("names", nargs=-1, metavar="[NAME|ADDRESS|NUMBER]...")
def set_names(names: tuple[str, ...], as_json: bool) -> None:
    """Store your names, addresses and numbers, replacing those given before. Without a NAME, the guess is confirmed."""
    with opened() as device:
        if not names:
            known = me.identity(device)
            if known is None:
                raise NothingFound(_UNKNOWN)
            names = tuple(known.stated) if known.confirmed else tuple(_written(known))
        known = me.state(device, names)
    if as_json:
        print_json(known)
    else:
        _print(known)


@command.command("forget", examples=(("Forget who you are", "jackdaw me forget"),))
def forget(as_json: bool) -> int | None:
    """Forget who you are. Exit code 3: nothing was known."""
    with opened() as device:
        was_known = me.forget(device)
    if as_json:
        print_json({"forgotten": was_known})
    else:
        click.echo("Forgotten." if was_known else "You had not said who you are.")
    return None if was_known else ExitCode.NOTHING


def _written(known: Me) -> list[str]:
    return [*known.names, *known.addresses, *known.numbers]


def _print(known: Me) -> None:
    lists = (("Names", known.names), ("Addresses", known.addresses), ("Numbers", known.numbers))
    facts: list[tuple[str, object]] = [("You are", known.name if known.confirmed else f"{known.name} (a guess)")]
    facts += [(title, ", ".join(values)) for title, values in lists if values]
    if known.guesses:
        facts.append(("Because", "\n".join(f"{guess.written}: {guess.reason}" for guess in known.guesses)))
    print_blocks([facts])
