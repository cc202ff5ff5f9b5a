"""The types of the facts that widgets show. Widgets import these types from here, not from the store's modules."""

from dataclasses import dataclass

from shared.types import StoredPassage
from storage.cache_records import PassageStates
from storage.conversations import Conversation, Turn
from storage.holdings import Holding, KnownFile
from storage.knowledge import Totals
from storage.qa_entries import Entry

__all__ = [
    "Conversation",
    "Entry",
    "Holding",
    "KnownFile",
    "Passage",
    "PassageStates",
    "StoredPassage",
    "Totals",
    "Turn",
]


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with the texts before it and after it (`behind`) in its document; "" at an end of the document."""

    passage: StoredPassage
    before: str
    behind: str
