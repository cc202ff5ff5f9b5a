"""The lines below an answer: its badge, the sentence that proves it, its sources, and the timing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual import events
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from device_app.question.abstention import NEAREST
from device_app.question.answer import fell_short
from device_app.tui.wording import (
    GUESS,
    MODEL_ONLY,
    NEAREST_SENTENCE,
    QUOTED,
    UNDERSTOOD,
    badge,
    counted,
    egress,
    gains,
    rounds_in_short,
    safe_line,
    trace_bar,
    trace_legend,
)

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Turn

MARKED_WRONG = "you marked this as wrong"

TINY = 30
"""The width in columns below which the timing is not shown."""

_BAR = 48

_TEXT = 280
"""The most characters of a passage that is shown in place of an answer."""


class Support(Static):
    """The lines below an answer, from the first progress message to the final timing."""

    class SourceChosen(Message):
        """The message that the person clicked a source; `number` counts from 1."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, clock: Callable[[], datetime]) -> None:
        super().__init__(markup=False)
        self._clock = clock
        self._draw: Callable[[int], Content] = lambda _: Content("")
        self._width = 0
        self._doing, self._stays = "", False
        self._sources: Sequence[Mapping[str, Any]] = ()
        self._shows_guess = False

    def progress(self, doing: str, *, stays: bool = False) -> None:
        """Show the current activity above the sources; with `stays`, it remains when more sources come."""
        line = Content.styled(f"… {doing}", "$quiet")
        self._doing, self._stays, sources = doing, stays, self._sources
        self._show(lambda width: Content("\n").join([line, *(_source(source, width) for source in sources)]))

    def reading(self, sources: Sequence[Mapping[str, Any]]) -> None:
        """Show the sources as soon as they are known; the server's sources may be added later."""
        had_sources, self._sources = bool(self._sources), sources
        theirs = sum(source["side"] == "server" for source in sources)
        whose = f", {theirs} of the server" if 0 < theirs < len(sources) else ""
        if had_sources and self._stays:
            self.progress(self._doing, stays=True)
        else:
            self.progress(f"reading {counted(len(sources), 'passage')}{whose}")

    def turn(self, turn: Turn, advice: tuple[str, ...] = ()) -> None:
        """Show all facts about a finished turn, with `advice` if no answer was found, or that the person stopped the
        turn.
        """
        now = self._clock()
        if turn.complete and turn.record:
            self._show(lambda width: about(turn.record, width, now, advice, shows_guess=self._shows_guess))
        else:
            self._show(lambda _: Content.assemble(("■ ", "$warning"), ("stopped before its end", "$quiet")))

    def failure(self, reason: str) -> None:
        """Show the reason for which the answer failed."""
        self._show(lambda _: Content.assemble(("✗ ", "$error"), (safe_line(reason), "$error")))

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines again if the width has changed."""
        if event.size.width != self._width:
            self._width = event.size.width
            self.update(self._draw(self._width))

    def action_guess(self) -> None:
        """Show the model's guess, or hide it again."""
        self._shows_guess = not self._shows_guess
        self.update(self._draw(self._width or self.app.size.width))

    def action_source(self, number: int) -> None:
        """Send the message that the person clicked a source."""
        self.post_message(self.SourceChosen(number))

    def _show(self, draw: Callable[[int], Content]) -> None:
        self._draw = draw
        self.update(draw(self._width or self.app.size.width))


def about(
    record: dict[str, Any], width: int, now: datetime, advice: tuple[str, ...] = (), *, shows_guess: bool = False
) -> Content:
    """Return all lines below a finished answer for this width, from its `record`, the object of `ask --json`.

    `advice` says why nothing was found. The model's unsupported guess is shown only if `shows_guess`.
    """
    origin, detail = badge(record, now)
    abstained = record.get("abstained") or not record["found"]
    style = "$warning" if abstained else {"qa_bank": "$success"}.get(record["origin"], "$primary")
    lines = [Content.assemble(("● ", style), (origin, f"{style} bold"), (f" · {detail}", "$quiet"))]
    if len(lines[0]) > width:
        lines[0] = Content.assemble(
            ("● ", style), (origin, f"{style} bold"), (f" · {detail.partition(' · ')[0]}", "$quiet")
        )
    left = Content.styled(egress(record), "$quiet")
    if len(lines[0]) + len(left) + 3 <= width:
        lines[0] = Content.assemble(lines[0], (" · ", "$quiet"), left)
    else:
        lines.append(Content.assemble("  ", left))
    if record.get("wrong"):
        lines.append(Content.assemble(("✗ ", "$error"), (MARKED_WRONG, "$error")))
    lines += [Content.assemble("  ", safe_line(reason)) for reason in advice]
    lines += [Content.assemble("  ", (safe_line(file["reason"]), "$warning")) for file in record.get("stale", ())]
    if not record["found"]:
        lines += [Content.assemble("  ", safe_line(reason)) for reason in record["trace"].get("decided", ())]
        return Content("\n").join(lines)
    lines += [
        Content.assemble("  ", (safe_line(why), "$warning")) for why in fell_short(record["trace"].get("decided", ()))
    ]
    if rounds := record["trace"].get("rounds"):
        lines.append(Content.styled(f"  looked up by the server: {rounds_in_short(rounds)}", "$quiet"))
    lines += _carried(record)
    for source in record["sources"]:
        lines.append(_source(source, width))
        if abstained and (text := safe_line(source.get("text", ""))):
            shown = text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
            lines.append(Content.assemble("    ", (shown, "$quiet")))
    if guess := record.get("guess"):
        folded = f"▾ {GUESS} {safe_line(guess)}" if shows_guess else "▸ the model's guess"
        lines.append(Content.assemble("  ", (folded, "$quiet")).stylize(Style.from_meta({"@click": "guess"})))
    bar = trace_bar(record, min(width - 2, _BAR))
    if bar and width >= TINY:
        lines += [Content.assemble("  ", part) for part in (bar, trace_legend(record, width - 2))]
        lines += [Content.assemble("  ", (gain, "$quiet")) for gain in gains(record)]
    return Content("\n").join(lines)


def _carried(record: Mapping[str, Any]) -> list[Content]:
    """Return the line with the sentence that proves the answer, in quotation marks, else with the nearest sentence.

    Return the line of `_without_proof` if it gives one, and [] if there is nothing to show.
    """
    support = record.get("support")
    proof = record["evidence"] if support in ("proven", "word for word") else None
    near = record.get("nearest") or (record["evidence"] if support == "near" else None)
    if said := _without_proof(record):
        return [Content.assemble("  ", said)]
    if proof and support == "word for word":
        return [Content.assemble("  ", (f"✓ word for word in [{proof['source']}]", "$success"))]
    if proof:
        quote = f"“{safe_line(proof['sentence'])}”"
        return [Content.assemble("  ", (quote, "italic"), (f" [{proof['source']}]", "$accent"))]
    if record.get("abstained"):
        return [Content.assemble("  ", (NEAREST, "$quiet"))]
    if near:
        line = f"{NEAREST_SENTENCE} {safe_line(near['sentence'])}"
        return [Content.assemble("  ", (line, "$quiet"), (f" [{near['source']}]", "$accent"))]
    return []


def _without_proof(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the line, and its style, below an answer by a rule, by the model alone, or quoted; None for others."""
    if understood := record.get("understood"):
        return f"{UNDERSTOOD} {safe_line(understood)}", "$quiet"
    if record.get("model_only") and not record.get("abstained"):
        return MODEL_ONLY, "$warning"
    return (QUOTED, "$success") if record.get("quoted") else None


def _source(source: Mapping[str, Any], width: int) -> Content:
    """Return a source's line: number, title, file name if there is room, and its date or "the server"."""
    number, title = source["number"], safe_line(source["title"])
    name = safe_line(source["path"]).rpartition("/")[2]
    day = "· the server" if source["side"] == "server" else (source["date"] or "")[:10]
    click = Style.from_meta({"@click": f"source({number})"})
    room = max(width - len(f"  {number} ") - (len(day) + 1 if day else 0), 8)
    label = Content.assemble((title, "$foreground"), *([(f"  {name}", "$quiet")] if name != title else []))
    line = Content.assemble("  ", (f"{number} ", "$accent bold"), label.truncate(room, ellipsis=True))
    if day:
        line = Content.assemble(line, (f" {day}", "$quiet"))
    return line.stylize(click)
