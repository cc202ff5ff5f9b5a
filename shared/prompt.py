"""The prompt, as segments that are tokenised one by one: system, then passages, then the question.

The order is fixed so that attention states can be kept: what changes least comes first (PerCache, section 4.1.1). A
passage's segment says nothing of its place among the others, so that it is the same in every prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from shared.types import PUBLIC, StoredPassage

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Segment:
    """Text that is tokenised by itself. Only our own template is `special`: there, control tokens are read as such.

    `passage` is the id of the passage of the store here that it is.
    """

    text: str
    special: bool = False
    passage: int | None = None


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """What a model was trained to see around each part of a conversation. Every string is template text.

    `system_in_user`: the model has no system role, and the instructions open the user's turn.
    """

    before_system: str
    after_system: str
    before_user: str
    after_user: str
    before_assistant: str
    system_in_user: bool = False


CHATML = ChatTemplate(
    before_system="<|im_start|>system\n",
    after_system="<|im_end|>\n",
    before_user="<|im_start|>user\n",
    after_user="<|im_end|>\n",
    before_assistant="<|im_start|>assistant\n",
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question of the same conversation, with its answer; "" where there was none."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """`head` is the same for every question; each element of `passages` is one passage; `tail` holds the question."""

    head: tuple[Segment, ...]
    passages: tuple[tuple[Segment, ...], ...]
    tail: tuple[Segment, ...]

    def ordered(self, places: Sequence[int]) -> "Prompt":
        """The same prompt with its passages in this order of their places."""
        return Prompt(self.head, tuple(self.passages[place] for place in places), self.tail)

    def joined(self) -> "Prompt":
        """The same prompt with all passages as one, to be answered in a single row."""
        return self.in_rows(1)

    def in_rows(self, rows: int) -> "Prompt":
        """The same prompt with its passages `divided` into so many rows, each to be answered by itself."""
        together = tuple(
            tuple(segment for passage in row for segment in passage) for row in divided(self.passages, rows)
        )
        return Prompt(self.head, together, self.tail)

    def text(self) -> str:
        """All of it, as the model sees it."""
        segments = (*self.head, *(segment for passage in self.passages for segment in passage), *self.tail)
        return "".join(segment.text for segment in segments)


def divided(passages: Sequence[Item], rows: int) -> list[tuple[Item, ...]]:
    """What is of the passages, in their order, in so many rows: the first ones in the first row, each row as many as
    the others, or one more than those behind it. Fewer rows where there are fewer passages, but one.
    """
    rows = max(min(rows, len(passages)), 1)
    each, more = divmod(len(passages), rows)
    borders = [row * each + min(row, more) for row in range(rows + 1)]
    return [tuple(passages[start:stop]) for start, stop in pairwise(borders)]


SYSTEM = "Answer the question from the passages, in one short sentence."
"""More words cost a small model answers: told to say so where the passages do not help, it finds less in them."""


NOT_FOUND = "The passages do not say."
"""What a model that was trained for it writes where the passages do not hold the answer."""

_ASK = "Write a question that the passage answers."


def is_not_found(answer: str) -> bool:
    """Whether the model wrote that the passages do not hold the answer, with or without the full stop."""
    return answer.strip().rstrip(".!") == NOT_FOUND.rstrip(".")


def build(
    question: str, passages: Sequence[StoredPassage], template: ChatTemplate = CHATML, earlier: Sequence[Exchange] = ()
) -> Prompt:
    """The prompt for a question, the passages in the order given; `earlier` exchanges stand before the question."""
    talk = "".join(map(_exchange, earlier))
    return _read(passages, f"{talk}Question: {question}", template)


def _exchange(earlier: Exchange) -> str:
    answered = f"Earlier answer: {earlier.answer}\n" if earlier.answer else ""
    return f"Earlier question: {earlier.question}\n{answered}"


def to_ask(passage: StoredPassage, template: ChatTemplate = CHATML) -> Prompt:
    """The prompt for a question that the passage answers (PerCache, section 4.1.2). Up to its tail it is the one that
    answers such a question: attention states kept for either serve both.
    """
    return _read([passage], _ASK, template)


def _read(passages: Sequence[StoredPassage], request: str, template: ChatTemplate) -> Prompt:
    """Instructions, passages, and what is wanted of them."""
    head = [Segment(template.before_user, True), Segment(SYSTEM + "\n\n")]
    if not template.system_in_user:
        head = [
            Segment(template.before_system, True),
            Segment(SYSTEM),
            Segment(template.after_system + template.before_user, True),
        ]
    tail = (Segment(request), Segment(template.after_user + template.before_assistant, True))
    read = tuple((Segment(passage_text(passage), passage=_own(passage)),) for passage in passages)
    return Prompt(tuple(head), read, tail)


def _own(passage: StoredPassage) -> int | None:
    """A server's passages have ids of its own."""
    return None if passage.kind == PUBLIC else passage.id


def turn(text: str, template: ChatTemplate = CHATML) -> Prompt:
    """One turn of a user that says just this: no instructions, no passages."""
    after = template.after_user + template.before_assistant
    return Prompt((), (), (Segment(template.before_user, True), Segment(text), Segment(after, True)))


def passage_text(passage: StoredPassage) -> str:
    """A passage as the model reads it: its title and day, then its words."""
    heading = passage.title if passage.date is None else f"{passage.title} ({passage.date[:10]})"
    return f"{heading}\n{passage.text}\n"
