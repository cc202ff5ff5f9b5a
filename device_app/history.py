"""Conversations as a person keeps them: Markdown with sources."""

from collections.abc import Sequence

from storage.conversations import Turn


def markdown(turns: Sequence[Turn]) -> str:
    """A conversation as Markdown: each question a heading, its answer, its sources as a list."""
    parts = []
    for turn in turns:
        heading = " ".join(turn.question.split())
        parts.append(f"## {heading}\n\n{turn.answer or '(no answer)'}{'' if turn.complete else ' (cut off)'}\n")
        sources = turn.record.get("sources", [])
        if sources:
            lines = [f"{source['number']}. {source['title']} ({source['path']})" for source in sources]
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts).rstrip()
