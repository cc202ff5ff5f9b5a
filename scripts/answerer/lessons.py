"""The types of the answerer's training data: passages, questions about them, and the correct answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.prompt import NOT_FOUND, Exchange
from shared.types import StoredPassage


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and its answer, or `NOT_FOUND`; `earlier` are the exchanges before a follow-up question."""

    question: str
    answer: str
    earlier: tuple[Exchange, ...] = ()

    @property
    def abstains(self) -> bool:
        """Whether the passages do not contain the answer."""
        return self.answer == NOT_FOUND


@dataclass(frozen=True, slots=True)
class Lesson:
    """Passages in the order in which the prompt has them, and independent questions about them.

    `source` names the data set. `asked` are questions that a user would ask about the only passage; they train the
    model to generate questions.
    """

    source: str
    passages: tuple[StoredPassage, ...]
    pairs: tuple[Pair, ...] = ()
    asked: tuple[str, ...] = ()


def passage(
    text: str, title: str = "", date: str | None = None, kind: str = "note", people: Sequence[str] = (), number: int = 0
) -> StoredPassage:
    """Return a passage in the form in which the store returns it; `date` is ISO 8601."""
    return StoredPassage(number, text, 0, None, None, number, title, kind, date, tuple(people), title)
