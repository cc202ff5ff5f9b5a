"""Formats the overview of the caches: savings, limits, background work. Pure; sanitises untrusted text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from textual.content import Content

from device_app.tui.cache.chart import columns, rounded, spread
from device_app.tui.wording import age, counted, safe_line, size

if TYPE_CHECKING:
    from device_app.ahead.outlook import Ahead
    from device_app.commands.work import Worker
    from device_app.tui.edge.overview import Overview
    from storage.qa_entries import Totals

MOST_DAYS = 30
_GAUGE = 20
PLOT_ROWS = 3
_DAY = 2
"""The width of a day's bar in a plot, in columns, including a gap."""
_LABEL = 5
"""The width of the scale at the left of a plot, in columns."""


def duration(ms: float) -> str:
    """Format a duration in milliseconds, up to hours."""
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def saved(overview: Overview, today: date, width: int, rows: int = PLOT_ROWS) -> Content:
    """Return the plots of the caches' savings, day by day, with totals of the days shown."""
    days = overview.days[-max(1, (width - _LABEL) // _DAY) :]
    if not any(day.questions for day in overview.days):
        lines = [
            heading("Savings of the cache"),
            Content("Nothing has been asked yet. If you ask something twice, the second answer comes at once."),
        ]
        return Content("\n").join(lines)
    questions, hits = sum(day.questions for day in days), sum(day.hits for day in days)
    text = f"{hits:,} of {questions:,} ({hits / max(1, questions):.0%})"
    plots = [
        plot(
            ("Answered before", text),
            [day.hits for day in days],
            [day.questions for day in days],
            today,
            "$success",
            rows,
        )
    ]
    spared = [day.ms_saved / 1000 for day in days]
    plots.append(plot(("Seconds saved", duration(1000 * sum(spared))), spared, spared, today, "$accent", rows))
    tokens = [day.tokens_joined for day in days]
    computed = [day.tokens_joined + day.tokens_prefilled for day in days]
    text = f"{sum(tokens):,} not computed"
    plots.append(plot(("Tokens from states", text), tokens, computed, today, "$primary", rows))
    return Content("\n\n").join(plots)


def plot(
    title: tuple[str, str],
    values: Sequence[float],
    whole: Sequence[float],
    today: date,
    style: str,
    height: int,
) -> Content:
    """Return a heading, a bar for each of the last days up to today, and a scale.

    `title` is the heading and the total beside it. Each bar shows a day's number from `values`, and in a lighter shade
    the number from `whole` of which that is a part.
    """
    lines = [Content.assemble(heading(title[0]), (f"  {title[1]}", "$quiet"))]
    top = rounded(max(whole, default=0))
    for row, line in enumerate(columns(values, whole, height)):
        label = top if row == 0 else ""
        lines.append(Content.assemble((f"{label:>{_LABEL - 1}} ", "$quiet"), (spread(line, _DAY), style)))
    across = _DAY * len(values) - 1
    first, last = (today - timedelta(days=len(values) - 1)).strftime("%-d %b"), "today"
    gap = max(1, across - len(first) - len(last))
    lines.append(Content.styled(f"{'0':>{_LABEL - 1}} {first}{' ' * gap}{last}", "$quiet"))
    return Content("\n").join(lines)


def no_suggestions(overview: Overview) -> str:
    """Return why no question is suggested, and the next step."""
    if not overview.passages:
        return "No file has been read yet. Type /add and a path to read files."
    if not overview.qa_limit or overview.threshold >= 1:
        return "No answer is saved ahead under the present settings, so none can be suggested."
    if _next(overview.ahead):
        return "No question is prepared yet. Press w to predict questions from your files and answer them."
    return "All predicted questions have been asked. Your next questions lead to new predictions."


def limits(overview: Overview, width: int) -> Content:
    """Return, for each cache, its size, its limit and its content, with a bar for the used share if there is room."""
    answers, states = overview.answers, overview.states
    layers = (
        ("Answers", answers.bytes, overview.qa_limit, _answers(answers)),
        ("States", states.bytes, overview.kv_limit, f"{counted(states.passages, 'passage')}, {states.tokens:,} tokens"),
    )
    lines = [heading("Space")]
    for name, taken, limit, what in layers:
        share = min(1.0, taken / limit) if limit else 0.0
        bar = max(1, round(share * _GAUGE)) if taken else 0
        text = f"{size(taken)} of {size(limit)}" if limit else "nothing saved: the limit is 0"
        gauge = Content.assemble(("━" * bar, "$accent"), ("─" * (_GAUGE - bar), "$border-blurred"))
        lines.append(_fitted(Content.assemble((f"{name:<8}", "$quiet"), gauge, f" {text}"), width, name, text))
        lines.append(Content.assemble((f"{'':<8}{what}", "$quiet")))
    lines.append(_keys(("l", "changes a limit"), ("c", "clears")))
    return Content("\n").join(lines)


def _answers(totals: Totals) -> str:
    """Return the number of saved questions with an answer, and of those without one, with the reasons."""
    without = ((totals.waiting, "waiting"), (totals.failed, "without an answer"))
    return ", ".join([counted(totals.answered, "answer"), *(f"{count:,} {why}" for count, why in without if count)])


def work_ahead(worker: Worker, ahead: Ahead, now: datetime, width: int, *, here: bool) -> Content:
    """Return the state of the background work, its last step and its next ones. `here`: this app does the work."""
    if here:
        doing = Content.assemble(("● ", "$success"), "preparing answers until you ask something")
    elif worker.paused:
        doing = Content.assemble(("■ ", "$warning"), "paused")
    elif worker.pid is None:
        doing = Content.assemble(("○ ", "$quiet"), "no daemon: ", ("jackdaw daemon install", "$primary"))
    else:
        mark = "$success" if worker.state in ("working", "reading") else "$primary"
        why = f": {safe_line(worker.why)}" if worker.why else ""
        doing = Content.assemble(("● ", mark), f"{worker.state}{why}", (f"  (process {worker.pid})", "$quiet"))
    lines = [heading("Background work"), doing]
    if worker.last:
        seen = f", {age(worker.seen_at, now)}" if worker.seen_at else ""
        lines.append(Content.assemble(("Last  ", "$quiet"), safe_line(worker.last.action), (seen, "$quiet")))
        lines.append(Content(f"      {safe_line(worker.last.subject)}"))
        lines.append(Content.styled(f"      {safe_line(worker.last.why)}", "$quiet"))
        lines.append(
            Content.styled(f"Spent {worker.tokens:,} of {worker.tokens_per_hour:,} tokens this hour", "$quiet")
        )
    for place, step in enumerate(_next(ahead) or ["nothing, all is done"]):
        lines.append(Content.assemble(("Next  " if not place else "      ", "$quiet"), step))
    pause = "resumes" if worker.paused else "pauses"
    lines.append(_keys(("w", "stops" if here else "prepares answers now"), ("p", pause)))
    return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def _next(ahead: Ahead) -> list[str]:
    """Return the remaining background work, in the order of its execution."""
    facts = (
        (ahead.answers, f"answer {counted(ahead.answers, 'waiting question')}"),
        (ahead.questions_since, f"predict questions from {counted(ahead.questions_since, 'question')} you asked"),
        (ahead.passages_unpredicted, f"predict questions from {counted(ahead.passages_unpredicted, 'passage')}"),
        (ahead.passages_unread and ahead.room, f"read {counted(ahead.passages_unread, 'passage')} ahead"),
    )
    return [fact for count, fact in facts if count]


def forecast(overview: Overview, layers: Mapping[str, bool]) -> str:
    """Return a phrase for the data that clearing the caches would delete.

    `layers` says for "answers" and "states" whether that cache is cleared.
    """
    kept, states, parts = overview.answers, overview.states, []
    if layers["answers"]:
        parts.append(f"{counted(kept.entries, 'saved question')} ({size(kept.bytes)})")
    if layers["states"]:
        parts.append(f"{counted(states.slices, 'attention state')} ({size(states.bytes)})")
    return " and ".join(parts)


def is_clear(overview: Overview, layers: Mapping[str, bool]) -> bool:
    """Return whether clearing the chosen caches would delete nothing; `layers` is as in `forecast`."""
    kept, states = overview.answers.entries, overview.states.slices
    return not (layers["answers"] and kept) and not (layers["states"] and states)


def heading(text: str) -> Content:
    return Content.styled(text, "bold")


def _keys(*pairs: tuple[str, str]) -> Content:
    hints = [Content.assemble((key, "$primary bold"), (f" {does}", "$quiet")) for key, does in pairs]
    return Content.styled(" · ", "$quiet").join(hints)


def _fitted(line: Content, width: int, name: str, text: str) -> Content:
    """Return the line, or only its `name` and `text`, without the gauge, if the line is wider than `width`."""
    return line if line.cell_length <= width else Content.assemble((f"{name:<8}", "$quiet"), text)
