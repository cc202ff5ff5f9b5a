"""What the filters of documents mean, and the order in which documents are listed. SQL and the index in memory both
follow what is decided here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from shared.types import Filters
from storage.database import folded

LATEST_FIRST: Final = "date DESC, documents.id DESC"
"""The order of documents as SQL: by date, then the one read last first; those without a date last, as SQLite takes NULL
for the least value.
"""

OLDEST_FIRST: Final = "date NULLS LAST, documents.id"

# Both are JSON arrays, as `people` is, so that a name in quotation marks matches as a whole in each.
_SENDER = "CASE kind WHEN 'mail' THEN json_array(COALESCE(json_extract(people, '$[0]'), '')) ELSE people END"
_RECIPIENTS = "CASE kind WHEN 'mail' THEN json_remove(people, '$[0]') ELSE people END"

TEXTS: Final[Mapping[str, str]] = {
    "people": "people",
    "senders": _SENDER,
    "recipients": _RECIPIENTS,
    "places": "path",
    "titles": "title",
}
"""For each filter that matches a part of a text: that text as SQL, folded like the filter's values."""

# The names of many documents are the same, and so are their files: each is compared once, not with every document.
# The limit, which limits nothing, keeps SQLite from comparing before it leaves out what is the same.
NAMES: Final = "(SELECT DISTINCT kind, people FROM documents LIMIT -1)"
_OF_NAMES = f"(kind, people) IN (SELECT kind, people FROM {NAMES} WHERE {{}})"
_COMPARED: Final = {
    "people": _OF_NAMES,
    "senders": _OF_NAMES,
    "recipients": _OF_NAMES,
    "places": "file_id IN (SELECT id FROM files WHERE {})",
    "titles": "({})",
}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What filters require of a document, all of it; what is empty requires nothing.

    Its kind is one of `kinds`. Each text in `parts` (see `TEXTS`) contains one of the given parts. Its date, compared
    as text, is `first`, `last` or between them.
    """

    kinds: Sequence[str]
    parts: Mapping[str, Sequence[str]]
    first: str
    last: str

    @classmethod
    def of(cls, filters: Filters) -> Self:
        """Return the meaning of the filters."""
        parts = {name: tuple(map(folded, getattr(filters, name, ()))) for name in TEXTS}
        return cls(
            tuple(map(folded, filters.kinds)),
            {name: each for name, each in parts.items() if each},
            # ISO 8601 sorts as text, and "~" sorts after every time of day.
            filters.after.isoformat() if filters.after else "",
            f"{filters.before.isoformat()}~" if filters.before else "",
        )


def conditions(filters: Filters) -> tuple[list[str], list[str]]:
    """Return SQL conditions on the table `documents`, all of which have to be true, and their parameters in order."""
    meaning = Meaning.of(filters)
    conditions: list[str] = []
    parameters: list[str] = []
    for name, parts in meaning.parts.items():
        conditions.append(_COMPARED[name].format(" OR ".join([f"instr(folded({TEXTS[name]}), ?) > 0"] * len(parts))))
        parameters += parts
    if meaning.kinds:
        conditions.append(f"kind IN ({', '.join('?' * len(meaning.kinds))})")
        parameters += meaning.kinds
    # The bare column can use the index.
    for comparison, day in ((">=", meaning.first), ("<=", meaning.last)):
        if day:
            conditions.append(f"date {comparison} ?")
            parameters.append(day)
    return conditions, parameters
