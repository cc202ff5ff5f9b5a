"""Export of conversations, as Markdown with sources or as JSON, and their deletion."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Literal

from device_app.question.abstention import NEAREST
from device_app.question.answer import GUESS, MODEL_ONLY

if TYPE_CHECKING:
    from device_app.device import Device
    from storage.conversations import Turn


Format = Literal["md", "json"]


def exported(conversation: int, turns: Sequence[Turn], form: Format) -> str:
    """Return a conversation as the text of a file: Markdown, or one line of JSON with `conversation` and `turns`."""
    import msgspec

    if form == "md":
        return markdown(turns) + "\n"
    return msgspec.json.encode({"conversation": conversation, "turns": turns}).decode() + "\n"


def forget(device: Device, conversation: int) -> bool:
    """Delete a conversation, the kept answers to its questions and the marks of its wrong answers.

    Return whether the conversation existed. Raises StoreError, NotWritable.
    """
    from device_app.ahead.daemon import forget_last
    from device_app.knowledge.thread import asked_in
    from storage.qa_entries import QAEntries

    entries = QAEntries(device.database)
    asked = {asked_in(turn, date.today()).text for turn in device.conversations.turns(conversation)}
    entries.delete([entry.id for entry in entries.all() if entry.question in asked])
    deleted = device.conversations.delete(conversation)
    forget_last(device.paths)
    return deleted


def answer(turn: Turn) -> str:
    """Return the answer as far as it was written, with notes: cut off, at the limit, marked wrong, without files."""
    is_alone = turn.answer and turn.record.get("model_only") and not turn.record.get("abstained")
    return f"{_noted(turn)}\n\n({MODEL_ONLY})" if is_alone else _noted(turn)


def _noted(turn: Turn) -> str:
    if not turn.complete:
        return f"{turn.answer} (cut off)".strip()
    if turn.record.get("wrong"):
        return f"{turn.answer} (marked as wrong)"
    return f"{turn.answer} … (cut at the limit)" if turn.record.get("cut") else turn.answer or "(no answer)"


def markdown(turns: Sequence[Turn]) -> str:
    """Return a conversation as Markdown: each question as a heading, then its answer and a list of its sources."""
    parts = []
    for turn in turns:
        heading = " ".join(turn.question.split())
        parts.append(f"## {heading}\n\n{answer(turn)}\n")
        if guess := turn.record.get("guess"):
            parts.append(f"({GUESS} {guess})\n")
        sources = turn.record.get("sources", [])
        if sources:
            lines = [f"{source['number']}. {source['title']} ({source['path']})" for source in sources]
            parts.append("\n".join([NEAREST, "", *lines] if turn.record.get("abstained") else lines) + "\n")
    return "\n".join(parts).rstrip()
