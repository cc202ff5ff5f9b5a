"""How facts about the caches are put on the screen. Pure; foreign text becomes harmless here."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from textual.content import Content

from device_app.tui.cache.chart import columns, rounded, spread
from device_app.tui.wording import age, milliseconds, safe, safe_line

if TYPE_CHECKING:
    from device_app.cache.outlook import Ahead
    from device_app.tui.edge.answers import Weighed
    from device_app.tui.edge.caches import Overview, States, Worker
    from device_app.tui.edge.facts import Entry, PassageStates

MOST_DAYS = 30
_GAUGE = 20
_INSTRUCTIONS = "The instructions before every question"
PLOT_ROWS = 3
_DAY = 2
"""Columns of a day in a plot, with the gap behind it."""
_LABEL = 5
"""Columns of the scale on the left of a plot."""


def size(count: float) -> str:
    """Bytes."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{count / limit:,.1f} {unit}"
    return f"{count:,.0f} B"


def duration(ms: float) -> str:
    """A time that adds up over days."""
    seconds = ms / 1000
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def counted(count: int, one: str, many: str = "") -> str:
    """So many of something."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def saved(overview: Overview, today: date, width: int, rows: int = PLOT_ROWS) -> Content:
    """What the caches saved, day by day, and in all."""
    totals = overview.counted
    questions = int(totals.get("questions", 0))
    if not questions:
        lines = [
            _heading("What it saves"),
            Content("Nothing has been asked yet. Ask something twice: the second time the answer is there at once."),
        ]
        return Content("\n").join(lines)
    hits, joined = int(totals.get("qa_hits", 0)), int(totals.get("kv_tokens_saved", 0))
    days = overview.days[-max(1, (width - _LABEL) // _DAY) :]
    told = f"{hits:,} of {questions:,} ({hits / questions:.0%})"
    plots = [
        plot(
            ("Answered before", told),
            [day.hits for day in days],
            [day.questions for day in days],
            today,
            "$success",
            rows,
        )
    ]
    spared = [day.ms_saved / 1000 for day in days]
    plots.append(
        plot(("Seconds saved", duration(totals.get("qa_ms_saved", 0))), spared, spared, today, "$accent", rows)
    )
    tokens = [day.tokens_joined for day in days]
    computed = [day.tokens_joined + day.tokens_prefilled for day in days]
    told = f"{joined:,} not computed"
    plots.append(plot(("Tokens from states", told), tokens, computed, today, "$primary", rows))
    return Content("\n\n").join(plots)


def plot(
    title: tuple[str, str],
    values: Sequence[float],
    whole: Sequence[float],
    today: date,
    style: str,
    height: int,
) -> Content:
    """A heading with the total, a bar for each of the last days up to today, and a scale."""
    lines = [Content.assemble(_heading(title[0]), (f"  {title[1]}", "$quiet"))]
    top = rounded(max(whole, default=0))
    for row, line in enumerate(columns(values, whole, height)):
        label = top if row == 0 else ""
        lines.append(Content.assemble((f"{label:>{_LABEL - 1}} ", "$quiet"), (spread(line, _DAY), style)))
    across = _DAY * len(values) - 1
    first, last = (today - timedelta(days=len(values) - 1)).strftime("%-d %b"), "today"
    gap = max(1, across - len(first) - len(last))
    lines.append(Content.styled(f"{'0':>{_LABEL - 1}} {first}{' ' * gap}{last}", "$quiet"))
    return Content("\n").join(lines)


def limits(overview: Overview, width: int) -> Content:
    """What each layer takes of its limit."""
    answers, states = overview.answers, overview.states
    layers = (
        ("Answers", answers.bytes, overview.qa_limit, counted(answers.answered, "answer")),
        ("States", states.bytes, overview.kv_limit, counted(states.tokens, "token")),
    )
    lines = [_heading("Space")]
    for name, taken, limit, what in layers:
        share = min(1.0, taken / limit) if limit else 0.0
        bar = max(1, round(share * _GAUGE)) if taken else 0
        told = f"{size(taken)} of {size(limit)}" if limit else "nothing is kept: its limit is 0"
        gauge = Content.assemble(("━" * bar, "$accent"), ("─" * (_GAUGE - bar), "$border-blurred"))
        lines.append(_fitted(Content.assemble((f"{name:<8}", "$quiet"), gauge, f" {told}"), width, name, told))
        lines.append(Content.assemble((f"{'':<8}{what}", "$quiet")))
    lines.append(_keys(("l", "changes a limit"), ("c", "clears")))
    return Content("\n").join(lines)


def work_ahead(worker: Worker, ahead: Ahead, now: datetime, width: int, *, here: bool) -> Content:
    """What works ahead, what it did last, what it will do next."""
    if here:
        doing = Content.assemble(("● ", "$success"), "working here, until you ask something")
    elif worker.paused:
        doing = Content.assemble(("■ ", "$warning"), "paused")
    elif worker.pid is None:
        doing = Content.assemble(("○ ", "$quiet"), "no daemon: ", ("jackdaw daemon install", "$primary"))
    else:
        mark = "$success" if worker.state in ("working", "reading") else "$primary"
        why = f": {safe_line(worker.why)}" if worker.why else ""
        doing = Content.assemble(("● ", mark), f"{worker.state}{why}", (f"  (process {worker.pid})", "$quiet"))
    lines = [_heading("Work ahead"), doing]
    if worker.last:
        seen = f", {age(worker.seen_at, now)}" if worker.seen_at else ""
        lines.append(Content.assemble(("Last  ", "$quiet"), safe_line(worker.last.action), (seen, "$quiet")))
        lines.append(Content(f"      {safe_line(worker.last.subject)}"))
        lines.append(Content.styled(f"      {safe_line(worker.last.why)}", "$quiet"))
        lines.append(
            Content.styled(f"Spent {worker.tokens:,} of {worker.tokens_per_hour:,} tokens this hour", "$quiet")
        )
    for place, one in enumerate(_next(ahead) or ["nothing: all is done"]):
        lines.append(Content.assemble(("Next  " if not place else "      ", "$quiet"), one))
    pause = "goes on" if worker.paused else "pauses it"
    lines.append(_keys(("w", "stops it" if here else "works ahead now"), ("p", pause)))
    return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def _next(ahead: Ahead) -> list[str]:
    """What there is to do, in the order it is done in."""
    facts = (
        (ahead.answers, f"answer {counted(ahead.answers, 'question')} that {_verb(ahead.answers, 'wait')}"),
        (ahead.questions_since, f"predict from {counted(ahead.questions_since, 'question')} you asked"),
        (ahead.passages_unpredicted, f"predict from {counted(ahead.passages_unpredicted, 'passage')}"),
        (ahead.passages_unread and ahead.room, f"read {counted(ahead.passages_unread, 'passage')} ahead"),
    )
    return [told for count, told in facts if count]


def _verb(count: int, many: str) -> str:
    return many + "s" if count == 1 else many


# The lists


def entry_row(entry: Entry, now: datetime) -> Content:
    """A kept question: itself, then why it is kept."""
    question = Content(safe_line(entry.question)).truncate(200, ellipsis=True)
    facts = [origin(entry)]
    if entry.uses:
        facts.append(f"served {counted(entry.uses, 'time')}")
    facts += [age(entry.answered_at, now), size(entry.bytes)]
    return Content.assemble(question, "\n", _state(entry), (" · ".join(facts), "$quiet"))


def origin(entry: Entry) -> str:
    """Where the question is from."""
    if entry.origin == "asked":
        return "asked"
    sources = entry.record.get("sources")
    return f"predicted from {safe_line(sources[0]['title'])}" if sources else "predicted"


def _state(entry: Entry) -> Content:
    word = state(entry)
    return Content.styled(f"{word} · ", "$warning") if word else Content("")


def state(entry: Entry) -> str:
    """Why an entry would not serve as it is; empty where nothing is known against it."""
    if entry.failed:
        return "could not be answered"
    if entry.stale:
        return "out of date"
    return "waits" if entry.answer is None else ""


def states_row(kept: PassageStates, now: datetime) -> Content:
    """The attention states of a passage."""
    facts = [
        size(kept.size),
        f"joined {counted(kept.uses, 'time')}",
        age(kept.used_at, now),
        counted(kept.tokens, "token"),
    ]
    if name := _file(kept):
        facts.insert(0, name)
    title = Content(_title(kept)).truncate(200, ellipsis=True)
    return Content.assemble(title, "\n", (" · ".join(facts), "$quiet"))


def _title(kept: PassageStates) -> str:
    if kept.passage == 0:
        return _INSTRUCTIONS
    return "A passage that is gone" if kept.title is None else safe_line(kept.title) or "(no title)"


def _file(kept: PassageStates) -> str:
    return safe_line(os.fsdecode(kept.path).encode("utf-8", "replace").decode().rpartition("/")[2]) if kept.path else ""


# One of them, whole


def entry_whole(entry: Entry, now: datetime) -> Content:
    """All about a kept question."""
    lines = [Content.styled(safe_line(entry.question), "$primary bold"), Content()]
    if entry.answer is not None:
        lines += [Content(safe(entry.answer)), Content()]
    if word := state(entry):
        lines += [Content.styled(f"{word}: {(entry.failed and safe_line(entry.failed)) or _WHY[word]}", "$warning")]
    facts = [("origin", origin(entry)), ("answered", age(entry.answered_at, now))]
    if entry.answer is None:
        facts.pop()
    if entry.cost_ms:
        facts.append(("took", f"{milliseconds(entry.cost_ms)} to make"))
    used = f"{counted(entry.uses, 'time')}, last {age(entry.used_at, now)}" if entry.uses else "not yet"
    facts += [("served", used), ("takes", size(entry.bytes)), ("model", safe_line(entry.recipe.partition(" ")[0]))]
    lines += [Content.assemble((f"{name:<10}", "$quiet"), told) for name, told in facts]
    sources = entry.record.get("sources", ())
    lines += [Content()] if sources else []
    for source in sources:
        place = safe_line(source["path"]).rpartition("/")[2]
        lines.append(
            Content.assemble((f"{source['number']} ", "$accent"), safe_line(source["title"]), (f"  {place}", "$quiet"))
        )
    return Content("\n").join(lines)


_WHY = {
    "out of date": "its files have changed; it is answered again when the device is idle",
    "waits": "it is answered when the device is idle",
}


def weighed(found: Sequence[Weighed]) -> Content:
    """Whether it would serve if it were asked now, and its neighbours."""
    if not found:
        return Content.styled("\nIt is gone by now.", "$warning")
    lines = [Content(), _heading("If it were asked now")]
    for one in found:
        mark = ("serves: ", "$success") if one.serves else ("does not serve: ", "$warning")
        lines.append(Content.assemble((f"{one.similarity:.2f} ", "$accent"), safe_line(one.question)))
        lines.append(Content.assemble("     ", mark, (safe_line(one.reason), "$quiet")))
    return Content("\n").join(lines)


def states_whole(states: States, now: datetime) -> Content:
    """All about the attention states of a passage."""
    kept = states.kept
    lines = [Content.styled(_title(kept), "$primary bold")]
    if kept.path:
        lines.append(Content.styled(safe_line(os.fsdecode(kept.path).encode("utf-8", "replace").decode()), "$quiet"))
    lines += [Content(), Content(safe(states.text)), Content()] if states.text else [Content()]
    facts = (
        ("kept", f"{counted(kept.tokens, 'token')} at {counted(kept.slices, 'place')} in prompts, {size(kept.size)}"),
        ("joined", f"{counted(kept.uses, 'time')}, last {age(kept.used_at, now)}"),
        ("since", age(kept.created_at, now)),
    )
    lines += [Content.assemble((f"{name:<10}", "$quiet"), told) for name, told in facts]
    if states.questions:
        lines += [Content(), _heading("Answers drawn from it")]
        lines += [Content(safe_line(question)) for question in states.questions]
    return Content("\n").join(lines)


def forecast(overview: Overview, layers: Mapping[str, bool]) -> str:
    """What clearing would drop, in words."""
    kept, states, parts = overview.answers, overview.states, []
    if layers["answers"]:
        parts.append(f"{counted(kept.entries, 'kept question')} ({size(kept.bytes)})")
    if layers["states"]:
        parts.append(f"{counted(states.slices, 'attention state')} ({size(states.bytes)})")
    return " and ".join(parts)


def _heading(text: str) -> Content:
    return Content.styled(text, "bold")


def _keys(*pairs: tuple[str, str]) -> Content:
    told = [Content.assemble((key, "$primary bold"), (f" {does}", "$quiet")) for key, does in pairs]
    return Content.styled(" · ", "$quiet").join(told)


def _fitted(line: Content, width: int, name: str, told: str) -> Content:
    """The line, or without its gauge where there is no room for it."""
    return line if line.cell_length <= width else Content.assemble((f"{name:<8}", "$quiet"), told)
