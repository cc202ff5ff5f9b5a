"""Formats the rows of the search: results in files and conversations, and filters that narrow them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets.option_list import Option

from device_app.english.searching import FILTERS
from device_app.presentation import local_time, position_of
from device_app.tui.wording import safe_line

if TYPE_CHECKING:
    from device_app.commands.search_results import FileResult, Results, TurnResult
    from device_app.knowledge.matches import Snippet


def options(results: Results, width: int, named: Callable[[str], str]) -> list[Option]:
    """Return all rows, cut for this width: the results in files and in conversations, then filters to narrow them.

    `named` formats a path. Results have the ids file:PLACE and turn:PLACE, filters narrow:TEXT.
    """
    rows: list[Option] = []
    for heading, some in (
        ("Files", [_file(place, result, width, named) for place, result in enumerate(results.files)]),
        ("Conversations", [_turn(place, result, width) for place, result in enumerate(results.turns)]),
        ("Narrow it down", list(_facets(results))),
    ):
        if some:
            rows += [Option(Content.styled(heading, "$quiet italic"), disabled=True), *some]
    return rows


def filter_help() -> Content:
    """Return the list of filters, for an empty field."""
    width = max(len(each.example) for each in FILTERS)
    lines = [
        Content.assemble((each.example.ljust(width), "$primary"), (f"  {each.does}", "$quiet")) for each in FILTERS
    ]
    return Content("\n").join([Content('Words in any form, "a phrase", and filters:'), Content(), *lines])


def _file(place: int, result: FileResult, width: int, named: Callable[[str], str]) -> Option:
    passage = result.passage
    person = safe_line(passage.people[0]).partition(" <")[0] if passage.people else ""
    facts = " · ".join(filter(None, (passage.kind, (passage.date or "")[:10], person)))
    folder, _, name = passage.path.rpartition("/")
    title = safe_line(passage.title) or name
    lines = [
        Content.assemble((safe_line(title), "bold"), (f"  {facts}", "$quiet")),
        _snippet(result.snippet, width),
        Content.styled(safe_line(f"{name}{position_of(result)} · {named(folder)}"), "$quiet"),
    ]
    return Option(Content("\n").join(lines), id=f"file:{place}")


def _turn(place: int, result: TurnResult, width: int) -> Option:
    turn = result.turn
    heading = Content.assemble((safe_line(turn.question), "bold"), (f"  {local_time(turn.asked_at)[:10]}", "$quiet"))
    return Option(Content("\n").join([heading, _snippet(result.snippet, width)]), id=f"turn:{place}")


def _facets(results: Results) -> Iterator[Option]:
    for counts in results.facets.values():
        for each in counts if len(counts) > 1 else ():
            line = Content.assemble((safe_line(each.filter), "$primary"), (f"  {each.count:,}", "$quiet"))
            yield Option(line, id=f"narrow:{each.filter}")


def _snippet(snippet: Snippet, width: int) -> Content:
    """Return the snippet with its matches marked, cut so that the first match is visible."""
    first = min((start for start, _ in snippet.marks), default=0)
    cut = snippet.text.rfind(" ", 0, max(first - width // 4, 0)) + 1 if first > width // 2 else 0
    content = Content(snippet.text)
    for start, end in snippet.marks:
        content = content.stylize("$accent bold", start, end)
    return Content.assemble("… ", content[cut:]) if cut else content
