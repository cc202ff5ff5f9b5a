"""Formats facts for the screen in few words. Pure; sanitises untrusted text.

The facts about an answer come from its record: the object that `ask --json` prints and the history keeps.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from textual.content import Content

from device_app.presentation import ORIGINS, STEPS, drawn_from, gains
from device_app.question.answer import GUESS, MODEL_ONLY, NEAREST_SENTENCE, QUOTED, UNDERSTOOD, looked_up_line
from shared.printable import counted, safe, safe_line

__all__ = [
    "GUESS",
    "MODEL_ONLY",
    "NEAREST_SENTENCE",
    "QUOTED",
    "UNDERSTOOD",
    "age",
    "badge",
    "counted",
    "egress",
    "gains",
    "looked_up_line",
    "milliseconds",
    "rounds_in_short",
    "safe",
    "safe_line",
    "size",
    "trace_bar",
    "trace_legend",
]

_STEP_STYLES = {
    "look up": "$secondary",
    "retrieve": "$primary",
    "load": "$quiet",
    "prefill": "$accent",
    "decode": "$success",
    "check": "$accent",
    "evidence": "$secondary",
    "quote": "$success",
}
_STEP_WORDS = STEPS | {
    "look up": "looking up",
    "retrieve": "searching",
    "load": "loading",
    "prefill": "reading",
    "decode": "writing",
    "check": "looking again",
    "evidence": "checking",
    "quote": "quoting",
}
"""Labels of an answer's steps in the line below the answer; the window that explains it shows the steps' own names."""

_LEAST_SHARE = 0.02
"""The least share of the total time with which a step is named below an answer; shorter steps are left out."""


def age(moment: str, now: datetime) -> str:
    """Return the age of an ISO 8601 time as a phrase; if older than a week, its date."""
    then = datetime.fromisoformat(moment)
    seconds = max(0.0, (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds())
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 86_400:
        return f"{seconds // 3600:.0f} h ago"
    if seconds < 7 * 86_400:
        days = int(seconds // 86_400)
        return "yesterday" if days == 1 else f"{days} days ago"
    return then.date().isoformat()


def milliseconds(ms: float) -> str:
    """Return a duration in milliseconds as text: in seconds from one second on, else in milliseconds."""
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"


def size(count: float) -> str:
    """Return a number of bytes as text with a unit."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= limit:
            return f"{count / limit:,.1f} {unit}"
    return f"{count:,.0f} B"


def badge(record: Mapping[str, Any], now: datetime) -> tuple[str, str]:
    """Return a label of who answered (device, server or nobody), with the answer's age if it was kept, else its speed
    or time.
    """
    trace = record["trace"]
    if not record["found"]:
        return "not written" if record.get("model_only") else "nothing found", milliseconds(trace["total_ms"])
    if record.get("abstained"):
        return "no answer", milliseconds(trace["total_ms"])
    drawn = drawn_from(record["origin"], {source["side"] for source in record["sources"]})
    words = ORIGINS.get(record["origin"])
    origin = drawn or (words.badge if words else record["origin"])
    if answered_at := record["cache"]["qa"]["answered_at"]:
        return origin, f"{age(answered_at, now)} · {milliseconds(trace['total_ms'])}"
    decode = sum(step["ms"] for step in trace["steps"] if step["name"] == "decode")
    tokens = trace.get("tokens", 0)
    speed = f"{tokens / decode * 1000:.0f} tok/s" if tokens > 1 and decode else milliseconds(trace["total_ms"])
    return origin, speed


def egress(record: Mapping[str, Any]) -> str:
    """Return a sentence about the data that left the device."""
    left = record["egress"]
    if not left["bytes"]:
        return "nothing left this device"
    return f"{left['bytes']:,} bytes left this device: {safe_line(', '.join(map(str, left['items'])))}"


def rounds_in_short(rounds: Sequence[Mapping[str, Any]]) -> str:
    """Return a phrase with the number of retrieval rounds for an answer, their pipeline, and the passages found."""
    pipelines = ", ".join(dict.fromkeys(safe_line(looked_up["pipeline"]) for looked_up in rounds))
    passages = {passage for looked_up in rounds for passage in looked_up["passages"]}
    return f"{counted(len(rounds), 'round')} of {pipelines}, {counted(len(passages), 'passage')}"


def trace_bar(record: Mapping[str, Any], width: int) -> Content:
    """Return a bar of this width, in which each step of the answer has its share of the time."""
    steps = _steps(record)
    spent = sum(ms for _, ms in steps)
    if not spent:
        return Content("")
    ends = [round(sum(ms for _, ms in steps[: place + 1]) / spent * width) for place in range(len(steps))]
    starts = [0, *ends[:-1]]
    return Content.assemble(
        *(
            ("━" * (end - start), _STEP_STYLES.get(name, "$foreground"))
            for (name, _), start, end in zip(steps, starts, ends, strict=True)
        )
    )


def trace_legend(record: Mapping[str, Any], width: int) -> Content:
    """Return the total time, preceded by as many of the longest steps as fit."""
    steps = _steps(record)
    spent = sum(ms for _, ms in steps) or 1.0
    whole = Content.styled(f"{milliseconds(record['trace']['total_ms'])} in all", "$quiet")
    legend = whole
    shown: set[float] = set()
    for longest in sorted((ms for _, ms in steps if ms / spent >= _LEAST_SHARE), reverse=True):
        shown.add(longest)
        parts = [
            Content.assemble(
                (_STEP_WORDS.get(name, name), _STEP_STYLES.get(name, "$foreground")), (f" {milliseconds(ms)}", "$quiet")
            )
            for name, ms in steps
            if ms in shown
        ]
        longer = Content.styled(" · ", "$quiet").join([*parts, whole])
        if longer.cell_length > width:
            break
        legend = longer
    return legend


def _steps(record: Mapping[str, Any]) -> Sequence[tuple[str, float]]:
    return [(step["name"], step["ms"]) for step in record["trace"]["steps"]]
