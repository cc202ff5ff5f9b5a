"""Formats the rows for folders, files and passages. Pure; sanitises untrusted text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from device_app.tui.wording import age, counted, safe, safe_line

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Holding, KnownFile, StoredPassage

NARROW = 60
"""The width in columns below which a file takes two lines."""

_DOT = Content.styled(" · ", "$quiet")


def holding(held: Holding, name: str, width: int, now: datetime) -> Content:
    """Return the row of a folder or of a single file: `name`, its path as shown, and facts on the line below."""
    facts = [Content.styled(part, "$quiet") for part in _facts(held)]
    if held.skipped:
        facts.append(Content.styled(f"{held.skipped:,} unreadable", "$warning"))
    if held.changed_at:
        facts.append(Content.styled(age(held.changed_at, now), "$quiet"))
    head = Content.styled(shortened(safe_line(name), width), "$foreground bold")
    return Content("\n").join([head, _DOT.join(facts).truncate(width, ellipsis=True)])


def _facts(held: Holding) -> list[str]:
    if not held.files:
        return [] if held.skipped else ["no file read yet"]
    return [counted(held.files, "file"), counted(held.passages, "passage")]


def file(known: KnownFile, name: str, width: int, now: datetime) -> Content:
    """Return the row of a file inside a folder: `name`, its path there, and its passages, or why it is unreadable."""
    if known.reason is not None:
        about = Content.styled(safe_line(known.reason), "$warning")
    elif not known.complete:
        about = Content.styled("only partly read", "$warning")
    else:
        about = Content.styled(f"{counted(known.passages, 'passage')} · {age(known.at, now)}", "$quiet")
    if width < NARROW:
        return Content("\n").join([Content(shortened(safe_line(name), width)), about.truncate(width, ellipsis=True)])
    about = about.truncate(width // 2, ellipsis=True)
    head = Content(shortened(safe_line(name), width - about.cell_length - 2))
    return Content.assemble(head, " " * (width - head.cell_length - about.cell_length), about)


def passages(some: Sequence[StoredPassage], most: int) -> Content:
    """Return the first `most` of `some`, the passages of a file, under their titles; add a note if there are more."""
    parts: list[Content] = []
    for place, reason in enumerate(some[:most]):
        if place == 0 or reason.document_id != some[place - 1].document_id:
            day = (reason.date or "")[:10]
            parts.append(Content.assemble((safe_line(reason.title), "$primary bold"), (f"  {day}", "$quiet")))
        parts.append(Content(safe(reason.text).strip()))
    if len(some) > most:
        parts.append(Content.styled(f"Only the first {most:,} passages are shown.", "$quiet"))
    return Content("\n\n").join(parts)


def shortened(name: str, width: int) -> str:
    """Return a path cut in its middle, keeping its beginning and the file name; `width` is in characters."""
    if len(name) <= width or width < 8:
        return name[: max(width, 1)]
    end = min(len(name.rpartition("/")[2]) + 1, width - 4)
    return f"{name[: width - end - 1]}…{name[-end:]}"
