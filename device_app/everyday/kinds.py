"""The names of the kinds of documents, singular and plural."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PLURALS: Final[Mapping[str, str]] = {
    "mail": "mails",
    "note": "notes",
    "chat": "days of chat",
    "event": "events",
    "task": "tasks",
    "page": "web pages",
    "paper": "papers",
    "data": "records",
    "table": "tables",
}
_SINGULARS: Final[Mapping[str, str]] = {"chat": "day of chat", "page": "web page", "data": "record"}


def counted_kind(kind: str, count: int) -> str:
    """Return a number of documents with the name of their kind: "1 mail", "1,822 mails"."""
    name = _SINGULARS.get(kind, kind) if count == 1 else PLURALS.get(kind, f"{kind}s")
    return f"{count:,} {name}"
