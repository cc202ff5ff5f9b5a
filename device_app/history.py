"""Conversations as a person keeps them: Markdown with sources."""

from collections.abc import Sequence

from storage.conversations import Turn


def answer(turn: Turn) -> str:
    """The answer as far as it was written, with a mark where there would have been more."""
    if not turn.complete:
        return f"{turn.answer} (cut off)".strip()
    return f"{turn.answer} … (cut at the limit)" if turn.record.get("cut") else turn.answer or "(no answer)"


def markdown(turns: Sequence[Turn]) -> str:
    """A conversation as Markdown: each question a heading, its answer, its sources as a list."""
    parts = []
    for turn in turns:
        heading = " ".join(turn.question.split())
        parts.append(f"## {heading}\n\n{answer(turn)}\n")
        sources = turn.record.get("sources", [])
        if sources:
            lines = [f"{source['number']}. {source['title']} ({source['path']})" for source in sources]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts).rstrip()
