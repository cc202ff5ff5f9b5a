"""Formats kept answers and attention states, as list rows and in full. Pure; sanitises untrusted text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from device_app.tui.cache.wording import heading
from device_app.tui.wording import age, counted, milliseconds, safe, safe_line, size

if TYPE_CHECKING:
    from device_app.tui.edge.answers import Weighed
    from device_app.tui.edge.caches import States
    from device_app.tui.edge.facts import Entry, PassageStates

_INSTRUCTIONS = "The instructions in every prompt"


def entry_row(entry: Entry, now: datetime) -> Content:
    """Return the list row of a kept question: the question, then its state, origin, use, age and size."""
    question = Content(safe_line(entry.question)).truncate(200, ellipsis=True)
    facts = [origin(entry)]
    if entry.uses:
        facts.append(f"used {counted(entry.uses, 'time')}")
    facts += [age(entry.answered_at, now), size(entry.bytes)]
    return Content.assemble(question, "\n", _state(entry), (" · ".join(facts), "$quiet"))


def origin(entry: Entry) -> str:
    """Return the origin of a kept question: asked by the person, or predicted from documents."""
    if entry.origin == "asked":
        return "asked"
    titles = list(dict.fromkeys(safe_line(source["title"]) for source in entry.record.get("sources", ())))
    if not titles:
        return "predicted"
    return f"predicted from {titles[0]}" + (f" and {len(titles) - 1} more" if titles[1:] else "")


def _state(entry: Entry) -> Content:
    word = state(entry)
    return Content.styled(f"{word} · ", "$warning") if word else Content("")


def state(entry: Entry) -> str:
    """Return why a kept answer would not be given to a question now; "" if no reason is known."""
    if entry.failed:
        return "could not be answered"
    if entry.stale:
        return "out of date"
    return "waits" if entry.answer is None else ""


def states_row(kept: PassageStates, now: datetime) -> Content:
    """Return the list row of a passage's kept attention states."""
    facts = [
        size(kept.size),
        f"reused {counted(kept.uses, 'time')}",
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
    return "A deleted passage" if kept.title is None else safe_line(kept.title) or "(no title)"


def _file(kept: PassageStates) -> str:
    return safe_line(kept.shown.rpartition("/")[2])


def entry_whole(entry: Entry, now: datetime) -> Content:
    """Return all facts about a kept question."""
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
    used = f"{counted(entry.uses, 'time')}, last {age(entry.used_at, now)}" if entry.uses else "never"
    facts += [("used", used), ("takes", size(entry.bytes)), ("model", safe_line(entry.fingerprint.partition(" ")[0]))]
    lines += [Content.assemble((f"{name:<10}", "$quiet"), fact) for name, fact in facts]
    sources = entry.record.get("sources", ())
    lines += [Content()] if sources else []
    for source in sources:
        place = safe_line(source["path"]).rpartition("/")[2]
        lines.append(
            Content.assemble((f"{source['number']} ", "$accent"), safe_line(source["title"]), (f"  {place}", "$quiet"))
        )
    return Content("\n").join(lines)


_WHY = {
    "out of date": "the files have changed; a new answer is written when idle",
    "waits": "the question is answered when the device is idle",
}


def weighed(candidates: Sequence[Weighed]) -> Content:
    """Return, for each kept answer compared, whether it would be given if the shown question were asked now."""
    if not candidates:
        return Content.styled("\nThis answer was deleted meanwhile.", "$warning")
    lines = [Content(), heading("If you asked this question now")]
    for candidate in candidates:
        mark = ("can be used: ", "$success") if candidate.serves else ("cannot be used: ", "$warning")
        lines.append(Content.assemble((f"{candidate.similarity:.2f} ", "$accent"), safe_line(candidate.question)))
        lines.append(Content.assemble("     ", mark, (safe_line(candidate.reason), "$quiet")))
    return Content("\n").join(lines)


def states_whole(states: States, now: datetime) -> Content:
    """Return all facts about a passage's attention states."""
    kept = states.kept
    lines = [Content.styled(_title(kept), "$primary bold")]
    if kept.shown:
        lines.append(Content.styled(safe_line(kept.shown), "$quiet"))
    lines += [Content(), Content(safe(states.text)), Content()] if states.text else [Content()]
    facts = (
        ("saved", f"{counted(kept.tokens, 'token')} at {counted(kept.slices, 'place')} in prompts, {size(kept.size)}"),
        ("reused", f"{counted(kept.uses, 'time')}, last {age(kept.used_at, now)}"),
        ("since", age(kept.created_at, now)),
    )
    lines += [Content.assemble((f"{name:<10}", "$quiet"), fact) for name, fact in facts]
    if states.questions:
        lines += [Content(), heading("Answers from this passage")]
        lines += [Content(safe_line(question)) for question in states.questions]
    return Content("\n").join(lines)
