"""`jackdaw wrong`: marks an answer as wrong, lists marked answers and removes marks."""

import click

from device_app.cli.opening import opened
from device_app.commands import marking
from device_app.commands.turns import last
from device_app.device import Device
from device_app.presentation import local_time
from shared.cli.frame import Command
from shared.cli.output import print_json, print_table
from shared.errors import ExitCode, UsageError
from shared.printable import safe_line


@click.command(
    cls=Command,
    examples=(
        ("Mark the last answer as wrong", "jackdaw wrong"),
        ("Mark the answer to a question", 'jackdaw wrong "When is the dentist?"'),
        ("List the answers marked as wrong", "jackdaw wrong --list"),
        ("Undo the last mark", "jackdaw wrong --undo"),
    ),
)
@click.argument("question", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="List the answers marked as wrong, the latest first.")
@click.option("--undo", is_flag=True, help="Undo the last mark, or the mark of QUESTION.")
def command(question: tuple[str, ...], listed: bool, undo: bool, as_json: bool) -> int | None:
    """Mark the last answer, or the last answer to QUESTION, as wrong. The answer is not used again.

    The same text is neither shown as an answer to that question nor saved for it, until its passages or the model
    change; the passages are shown instead. The mark is deleted together with the conversation that showed the answer.
    Exit code 3: there is no such answer.
    """
    words = " ".join(question)
    if listed and (undo or words):
        raise UsageError("--list takes no question and no other option. Run: jackdaw wrong --list")
    with opened() as device:
        if listed:
            return _list(device, as_json)
        if undo:
            mark = marking.undo(device, words or None)
            if as_json:
                print_json({"question": mark.question, "answer": mark.answer, "undone": True})
            else:
                click.echo(f"No longer marked as wrong: {safe_line(mark.answer)}")
            return None
        marked = (
            marking.mark_question(device, words) if words else marking.mark_turn(device, last(device.conversations))
        )
    if as_json:
        print_json(marked)
    else:
        click.echo(f"{safe_line(marked.question)}\n  {safe_line(marked.answer)}\n{marked.message}")
    return None


def _list(device: Device, as_json: bool) -> ExitCode | None:
    marks = device.qa_bank.wrong.all()
    if as_json:
        names = ("question", "answer", "marked_at", "holds")
        print_json({"wrong": [{name: getattr(mark, name) for name in names} for mark in marks]})
    elif marks:
        print_table(
            ("Marked", "Question", "Wrong answer", "Holds"),
            [(local_time(mark.marked_at), mark.question, mark.answer, _holds(holds=mark.holds)) for mark in marks],
        )
    else:
        click.echo("No answer is marked as wrong. Mark the last one with: jackdaw wrong")
    return None if marks else ExitCode.NOTHING


def _holds(*, holds: bool) -> str:
    return "yes" if holds else "no: the answer's files have changed"
