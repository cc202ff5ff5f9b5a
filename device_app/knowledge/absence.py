"""Explains why nothing was found for a question, and why no server was asked."""

from collections.abc import Iterator
from datetime import date

from device_app.english import query
from device_app.knowledge.known_people import KnownPeople
from storage.knowledge import KnowledgeStore


def reasons(store: KnowledgeStore, people: KnownPeople, question: str) -> Iterator[str]:
    """Yield a sentence for each reason: nothing was read yet, or a filter matches nothing."""
    if not store.totals().passages:
        yield "Nothing has been read yet. Begin with: jackdaw add ~/Documents"
        return
    filters = query.parse(question, date.today()).filters
    for note in people.notes(filters):
        yield f"{note[:1].upper()}{note[1:]}."
    for written, alone in query.separate(filters).items():
        passages = store.matching(people.widened(alone))
        if passages is not None and not passages.size:
            kinds = f" Kinds that were read: {', '.join(store.kinds())}." if alone.kinds else ""
            yield f"{written} matches nothing that was read.{kinds}"


def not_asked(question: str, *, connected: bool, allowed: bool, local_only: bool = False) -> str:
    """Return why no server is asked for an answer that the files do not give; "" if a server is asked.

    `connected`: a server is known; `allowed`: it may be asked; `local_only`: the person gave --local-only.
    """
    if query.parse(question, date.today()).is_limited:
        return "A question with filters is not sent to a server."
    if not connected:
        return "No server is connected. To connect one: jackdaw connect URL"
    if not allowed:
        return "The server is not asked, as link.allowed is off. To allow that: jackdaw config set link.allowed true"
    return "The server is not asked, because of --local-only." if local_only else ""
