"""The prompt, as segments that are tokenised separately: system, then passages, then the question.

The segments that change least come first, so that their KV states can be cached (PerCache, section 4.1.1). A passage's
segment does not depend on its position, so that it is the same in every prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from shared.types import PUBLIC, StoredPassage

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Segment:
    """Text that is tokenised separately.

    Control tokens are recognised only in `special` segments, which hold the project's own template. `passage` is the id
    of the segment's passage in this device's store.
    """

    text: str
    special: bool = False
    passage: int | None = None


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """The text that a model expects around each part of a conversation. Every string is text of the template.

    `system_in_user`: the model has no system role, so the instructions are the beginning of the user's turn.
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
    """An earlier question of the conversation and its answer ("" if there was none)."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """The parts of a prompt. `head`, the instructions, is the same for every question.

    Each element of `passages` is one passage; `tail` holds the question.
    """

    head: tuple[Segment, ...]
    passages: tuple[tuple[Segment, ...], ...]
    tail: tuple[Segment, ...]

    def ordered(self, places: Sequence[int]) -> "Prompt":
        """Return the prompt with the passages at the indices `places`, in this order."""
        return Prompt(self.head, tuple(self.passages[place] for place in places), self.tail)

    def joined(self) -> "Prompt":
        """Return the prompt with all passages joined to one, to be decoded in a single sequence."""
        return self.in_rows(1)

    def in_rows(self, rows: int) -> "Prompt":
        """Return the prompt with its passages divided into rows, each to be decoded in a sequence of its own."""
        together = tuple(
            tuple(segment for passage in row for segment in passage) for row in divided(self.passages, rows)
        )
        return Prompt(self.head, together, self.tail)

    def text(self) -> str:
        """Return the whole text of the prompt, as the model reads it."""
        segments = (*self.head, *(segment for passage in self.passages for segment in passage), *self.tail)
        return "".join(segment.text for segment in segments)


def divided(passages: Sequence[Item], rows: int) -> list[tuple[Item, ...]]:
    """Divide the passages, in order, into at most `rows` groups of equal size (rows, each a prompt of its own); the
    first groups may have one passage more. Returns fewer groups if there are fewer passages, but at least one.
    """
    rows = max(min(rows, len(passages)), 1)
    each, more = divmod(len(passages), rows)
    borders = [row * each + min(row, more) for row in range(rows + 1)]
    return [tuple(passages[start:stop]) for start, stop in pairwise(borders)]


SYSTEM = "Answer the question from the passages, in one short sentence."
"""The instructions in the prompt of every question.

With longer instructions a small model finds fewer answers, e.g. if it has to say when passages do not help.
"""


NOT_FOUND = "The passages do not say."
"""The text that a model is trained to write if the passages do not contain the answer."""

_ASK = "Write a question that the passage answers."


def is_not_found(answer: str) -> bool:
    """Return whether the model answered that the passages do not contain the answer, with or without the full stop."""
    return answer.strip().rstrip(".!") == NOT_FOUND.rstrip(".")


def build(
    question: str, passages: Sequence[StoredPassage], template: ChatTemplate = CHATML, earlier: Sequence[Exchange] = ()
) -> Prompt:
    """Return the prompt for a question, with the passages in the given order, in the model's `template`.

    `earlier` exchanges of the conversation come before the question.
    """
    talk = "".join(map(_exchange, earlier))
    return instructed(f"{talk}Question: {question}", passages, template)


def _exchange(earlier: Exchange) -> str:
    answered = f"Earlier answer: {earlier.answer}\n" if earlier.answer else ""
    return f"Earlier question: {earlier.question}\n{answered}"


def to_ask(passage: StoredPassage, template: ChatTemplate = CHATML) -> Prompt:
    """Return the prompt that asks the model for a question which the passage answers (PerCache, section 4.1.2).

    The part before the tail equals that of a prompt for such a question, so that both use the same cached KV states.
    """
    return instructed(_ASK, [passage], template)


def instructed(
    request: str, passages: Sequence[StoredPassage], template: ChatTemplate = CHATML, instructions: str = SYSTEM
) -> Prompt:
    """Return the prompt with the given instructions, the passages in the given order, and the request."""
    head = [Segment(template.before_user, True), Segment(instructions + "\n\n")]
    if not template.system_in_user:
        head = [
            Segment(template.before_system, True),
            Segment(instructions),
            Segment(template.after_system + template.before_user, True),
        ]
    tail = (Segment(request), Segment(template.after_user + template.before_assistant, True))
    read = tuple((Segment(passage_text(passage), passage=_own(passage)),) for passage in passages)
    return Prompt(tuple(head), read, tail)


def _own(passage: StoredPassage) -> int | None:
    """Return the passage's id in this device's store; None for a server's passage, whose id is the server's."""
    return None if passage.kind == PUBLIC else passage.id


def turn(text: str, template: ChatTemplate = CHATML, earlier: Sequence[Exchange] = ()) -> Prompt:
    """Return a prompt of one user turn with this text, without instructions and passages.

    `earlier` exchanges come before the text.
    """
    after, talk = template.after_user + template.before_assistant, "".join(map(_exchange, earlier))
    return Prompt((), (), (Segment(template.before_user, True), Segment(f"{talk}{text}"), Segment(after, True)))


def passage_text(passage: StoredPassage) -> str:
    """Return the passage as the model reads it: its title and day, then its text."""
    heading = passage.title if passage.date is None else f"{passage.title} ({passage.date[:10]})"
    return f"{heading}\n{passage.text}\n"
