"""`jackdaw search`: finds documents and conversations by words and filters."""

from __future__ import annotations

import os
import subprocess
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from device_app.cli.opening import opened
from device_app.commands.search import Searcher
from device_app.commands.search_results import FileResult, Results, Side, Sort, TurnResult
from device_app.english.searching import FILTERS, parse, require_days
from device_app.presentation import local_time, place_of, search_summary
from shared.cli.frame import Command
from shared.cli.output import console, print_json
from shared.errors import ExitCode, NothingFound, UsageError
from shared.printable import safe, safe_line

if TYPE_CHECKING:
    from rich.text import Text

    from device_app.knowledge.matches import Snippet


class SearchCommand(Command):
    """The type of the command `jackdaw search`, whose help lists the filters."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the filters, then the options."""
        with formatter.section("Filters"):
            formatter.write_dl([(each.example, each.does) for each in FILTERS])
        super().format_options(ctx, formatter)


@click.command(
    cls=SearchCommand,
    examples=(
        ("Search in files and conversations", "jackdaw search blue drill"),
        ("Search for an exact phrase", "jackdaw search '\"blue drill\"'"),
        ("Search in some files only", "jackdaw search from:anna after:2026-03 kind:mail invoice"),
        ("List the latest mails", "jackdaw search kind:mail --sort date"),
        ("Open the second result in your editor", "jackdaw search blue drill --open 2"),
    ),
)
@click.argument("words", nargs=-1, required=True)
@click.option("--files", "side", flag_value=Side.FILES.value, help="Search in files only.")
@click.option("--conversations", "side", flag_value=Side.CONVERSATIONS.value, help="Search in conversations only.")
@click.option(
    "--sort", type=click.Choice([each.value for each in Sort]), default="relevance", show_default=True, help="Order."
)
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="Most results of each kind.")
@click.option("--meaning", is_flag=True, help="Also rank by meaning, which finds passages without the words. Slower.")
@click.option("--open", "number", type=click.IntRange(1), metavar="N", help="Open result N in $EDITOR, at its line.")
def command(
    words: tuple[str, ...], side: str | None, sort: str, limit: int, meaning: bool, number: int | None, as_json: bool
) -> int | None:
    """Find documents and conversations with WORDS, in any form; "in quotation marks" as they stand.

    Nothing leaves this device, and only --meaning loads a model, the embedder. A word that occurs nowhere is replaced
    by the likeliest spelling from your files, and a note says so; a word in quotation marks is not. Exit code 3:
    nothing was found.
    """
    text = " ".join(words)
    require_days(parse(text, date.today()))
    with opened() as device:
        if meaning:
            from device_app.cli.models import ensure_models

            ensure_models(device, "embedder", yes=False)
        searcher = Searcher(device)
        chosen = {"sort": Sort(sort), "side": Side(side or Side.BOTH), "limit": limit, "by_meaning": meaning}
        results = searcher.search(text, date.today(), **chosen)  # type: ignore[arg-type]
        if number is not None:
            return _open(device, results, number, as_json=as_json)
    if as_json:
        print_json(as_object(text, results, Sort(sort)))
    else:
        _print(text, results)
    return ExitCode.NOTHING if results.is_empty else None


def as_object(text: str, results: Results, sort: Sort) -> dict[str, Any]:
    """Return the object that `--json` prints."""
    search = results.search
    return {
        "query": text,
        "searched_for": {"words": search.words, "phrases": search.phrases, "filters": search.filters},
        "corrections": results.corrections,
        "notes": results.notes,
        "sort": sort.value,
        "files": {
            "documents": results.documents,
            "counted": results.is_counted,
            "all_words": results.has_all,
            "results": [_file(result) for result in results.files],
        },
        "conversations": {"results": [_turn(result) for result in results.turns]},
        "facets": results.facets,
    }


def _file(result: FileResult) -> dict[str, Any]:
    passage = result.passage
    return {
        "number": result.number,
        "id": passage.id,
        "path": passage.path,
        "title": passage.title,
        "kind": passage.kind,
        "date": passage.date,
        "people": passage.people,
        "line": passage.line,
        "page": passage.page,
        "score": result.score,
        "others": result.others,
        "snippet": result.snippet.text,
        "marks": result.snippet.marks,
    }


def _turn(result: TurnResult) -> dict[str, Any]:
    turn = result.turn
    return {
        "number": result.number,
        "conversation": turn.conversation_id,
        "turn": turn.id,
        "question": turn.question,
        "asked_at": turn.asked_at,
        "snippet": result.snippet.text,
        "marks": result.snippet.marks,
    }


def _print(text: str, results: Results) -> None:
    out = console()
    for line in search_summary(results):
        click.echo(safe_line(f"({line})"), err=True)
    if results.search.is_empty:
        return  # a note has said so
    if results.is_empty:
        click.echo(f"Nothing in your files and conversations matches “{safe_line(text)}”.")
        return
    from rich.text import Text

    if results.files:
        out.print(Text("Files", style="bold"))
    for result in results.files:
        passage = result.passage
        facts = " · ".join(
            filter(None, (passage.kind, (passage.date or "")[:10], safe_line(", ".join(passage.people[:3]))))
        )
        out.print(Text(f"{result.number:>2}. {safe_line(passage.title) or facts}", style="bold"))
        if passage.title:
            out.print(Text(f"    {facts}", style="dim"))
        out.print(Text(f"    {safe_line(place_of(result))}", style="dim"))
        out.print(_marked(result.snippet))
    if results.turns:
        out.print(Text("Conversations", style="bold"))
    for turn_result in results.turns:
        turn = turn_result.turn
        out.print(Text(f"{turn_result.number:>2}. {safe_line(turn.question)}", style="bold"))
        out.print(
            Text(f"    {local_time(turn.asked_at)[:10]} · jackdaw history show {turn.conversation_id}", style="dim")
        )
        out.print(_marked(turn_result.snippet))
    for name, counts in results.facets.items():
        if len(counts) > 1:
            out.print(Text(f"{name}: " + " · ".join(f"{each.filter} {each.count:,}" for each in counts), style="dim"))


def _marked(snippet: Snippet) -> Text:
    from rich.text import Text

    text = Text("    " + snippet.text)
    for start, end in snippet.marks:
        text.stylize("bold reverse", start + 4, end + 4)
    return text


def _open(device: Any, results: Results, number: int, *, as_json: bool) -> int | None:
    """Open a result: show a file in the editor, or print a turn (as JSON). Raises NothingFound, UsageError."""
    each: list[FileResult | TurnResult] = [*results.files, *results.turns]
    if number > len(each):
        raise NothingFound(f"There is no result {number}; {len(each)} were found.")
    chosen = each[number - 1]
    if isinstance(chosen, TurnResult):
        if as_json:
            print_json({**_turn(chosen), "answer": chosen.turn.answer})
        else:
            click.echo(safe(f"{chosen.turn.question}\n\n{chosen.turn.answer}"))
        return None
    from device_app.commands.editing import command_for

    command = command_for(device, chosen.passage, os.environ)
    try:
        return subprocess.run(command, check=False).returncode and ExitCode.FAILED
    except OSError as error:
        raise UsageError(f"The editor {os.fsdecode(command[0])} cannot be started: {error.strerror}.") from error
