"""`jackdaw history`: lists, searches, exports and deletes conversations."""

import os
from collections.abc import Sequence

import click

from device_app.cli.opening import opened
from device_app.commands.history import answer, exported, forget, markdown
from device_app.device import Device
from device_app.presentation import local_time
from shared.cli.frame import Group
from shared.cli.output import print_blocks, print_json, print_table
from shared.errors import ExitCode, NothingFound, UsageError
from shared.printable import safe
from storage.conversations import Turn
from storage.private import write_private

command = Group(
    "history",
    default="list",
    help="List, search, export and delete conversations.",
    examples=(
        ("List conversations, the latest first", "jackdaw history list"),
        ("Search questions and answers", "jackdaw history search dentist"),
        ("Save a conversation to a file", "jackdaw history export 3 > talk.md"),
    ),
)


def _turns(device: Device, conversation: int) -> Sequence[Turn]:
    turns = device.conversations.turns(conversation)
    if not turns:
        raise NothingFound(f"There is no conversation {conversation}. To list conversations: jackdaw history list")
    return turns


@command.command("list", examples=(("List the last ten conversations", "jackdaw history list --limit 10"),))
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most conversations to show.")
def list_conversations(limit: int, as_json: bool) -> int | None:
    """List conversations, the latest first."""
    with opened() as device:
        conversations = device.conversations.recent(limit)
    if as_json:
        print_json({"conversations": conversations})
    elif conversations:
        print_table(
            ("Number", "Last", "Turns", "Began with"),
            [
                (
                    conversation.id,
                    local_time(conversation.updated_at),
                    conversation.turns,
                    conversation.title,
                )
                for conversation in conversations
            ],
        )
    else:
        click.echo('There are no conversations yet. Start one: jackdaw ask "…"')
    return None if conversations else ExitCode.NOTHING


@command.command("show", examples=(("Show a conversation", "jackdaw history show 3"),))
@click.argument("number", type=int)
def show(number: int, as_json: bool) -> None:
    """Show conversation NUMBER."""
    with opened() as device:
        turns = _turns(device, number)
    if as_json:
        print_json({"conversation": number, "turns": turns})
    else:
        print_blocks([_block(turn) for turn in turns])


@command.command("search", examples=(("Search questions and answers", "jackdaw history search dentist"),))
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most turns to show.")
def search(words: tuple[str, ...], limit: int, as_json: bool) -> int | None:
    """Show questions and answers that contain all WORDS."""
    with opened() as device:
        turns = device.conversations.search(" ".join(words), limit)
    if as_json:
        print_json({"turns": turns})
    elif turns:
        print_blocks([[("Conversation", turn.conversation_id), *_block(turn)] for turn in turns])
    else:
        click.echo(f"No question or answer contains “{safe(' '.join(words))}”.")
    return None if turns else ExitCode.NOTHING


@command.command(
    "export",
    examples=(
        ("Export a conversation as Markdown", "jackdaw history export 3 > talk.md"),
        ("Export a conversation into a file only you can read", "jackdaw history export 3 --to talk.md"),
    ),
)
@click.argument("number", type=int)
@click.option("--to", type=click.Path(dir_okay=False, path_type=str), help="File to write instead of standard output.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def export(number: int, to: str | None, force: bool, as_json: bool) -> None:
    """Write conversation NUMBER as Markdown, or with --json as JSON."""
    with opened() as device:
        turns = _turns(device, number)
    if to is None:
        if as_json:
            print_json({"conversation": number, "turns": turns})
        else:
            click.echo(safe(markdown(turns)))
        return
    from pathlib import Path

    if os.path.exists(to) and not force:  # noqa: PTH110 (Path.exists raises in a folder without permission)
        raise UsageError(f"The file {to} exists already. Name another file, or replace this one with --force.")
    write_private(Path(to), exported(number, turns, "json" if as_json else "md"))
    if as_json:
        print_json({"file": to, "turns": len(turns)})
    else:
        click.echo(f"{len(turns)} questions with their answers were written to {to}.")


@command.command("delete", examples=(("Delete a conversation", "jackdaw history delete 3"),))
@click.argument("number", type=int)
def delete(number: int, as_json: bool) -> None:
    """Delete conversation NUMBER for good, together with the saved answers to its questions."""
    with opened() as device:
        if not forget(device, number):
            raise NothingFound(f"There is no conversation {number}. To list conversations: jackdaw history list")
    if as_json:
        print_json({"conversation": number, "deleted": True})
    else:
        click.echo(f"Conversation {number} is deleted.")


def _block(turn: Turn) -> list[tuple[str, object]]:
    return [("Asked", local_time(turn.asked_at)), ("Question", turn.question), ("Answer", answer(turn))]
