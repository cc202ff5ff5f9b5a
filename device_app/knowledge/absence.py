"""Why nothing at all could be found for a question, where that is so."""

from collections.abc import Iterator
from datetime import date

from device_app.knowledge import query
from storage.knowledge import KnowledgeStore


def reasons(store: KnowledgeStore, question: str) -> Iterator[str]:
    """One sentence each: nothing has been read yet, or which filter matches nothing."""
    if not store.totals().passages:
        yield "Nothing has been read yet. Begin with: jackdaw add ~/Documents"
        return
    for written, alone in query.apart(query.parse(question, date.today()).filters).items():
        found = store.matching(alone)
        if found is not None and not found.size:
            kinds = f" There are: {', '.join(store.kinds())}." if alone.kinds else ""
            yield f"{written} matches nothing that was read.{kinds}"
