"""The shape of whatever writes an answer: this device alone, from fetched passages too, with a server, or in a race."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from device_app.answering.planner import Action
from device_app.inference.sureness import Sureness
from device_app.question.answer import Answer
from shared.ending import Piece
from shared.prompt import Prompt
from shared.types import Hit

Pieces = Generator[Piece, None, None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is read at a time: passages, and the prompt that holds them, None where a race builds its own."""

    prompt: Prompt | None
    hits: Sequence[Hit]


class TokenSource(Protocol):
    """Writes one answer, token by token."""

    def stream(self, attempt: Attempt, sureness: Sureness | None) -> Pieces:
        """The answer as it is written, to its end; `sureness` is told how likely it was. Close it where it is not read
        to its end. Raises EngineError, ContextFull, StoreError.
        """
        ...

    def rewritten(
        self, attempt: Attempt, pieces: Sequence[Piece], sureness: Sureness | None
    ) -> tuple[int, Pieces] | None:
        """What is written behind so many of these pieces instead of the rest, if that cannot be read; None otherwise,
        and where nobody else is there to write it.
        """
        ...

    def read(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """All passages that are read by now, where these are the attempt's."""
        ...

    def used(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Those that the answer is drawn from, once it is written."""
        ...

    def credited(self, answer: Answer, action: Action) -> Answer:
        """The answer with who wrote it, and why it came about as it did."""
        ...
