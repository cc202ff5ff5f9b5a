"""What the answerer is taught with: passages, the questions asked of them, and the right answers. Plain values."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.prompt import NOT_FOUND, Exchange
from shared.types import StoredPassage


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and its answer, or `NOT_FOUND`; `earlier` stands before it where it follows on what was said."""

    question: str
    answer: str
    earlier: tuple[Exchange, ...] = ()

    @property
    def abstains(self) -> bool:
        """Whether the passages do not hold the answer."""
        return self.answer == NOT_FOUND


@dataclass(frozen=True, slots=True)
class Lesson:
    """Passages in the order of the prompt, and what is asked of them, each question by itself.

    `source` names the data set. `asked` are questions that a person would ask of the only passage: what the questioner
    is taught with.
    """

    source: str
    passages: tuple[StoredPassage, ...]
    pairs: tuple[Pair, ...] = ()
    asked: tuple[str, ...] = ()


def passage(
    text: str, title: str = "", date: str | None = None, kind: str = "note", people: Sequence[str] = (), number: int = 0
) -> StoredPassage:
    """A passage as the store would give it; `date` is ISO 8601."""
    return StoredPassage(number, text, 0, None, None, number, title, kind, date, tuple(people), title)
