"""The interface of an answer's sources: this device alone, with fetched passages, with a server, or a race."""

from collections.abc import Generator, Sequence
from typing import Final, Protocol

from device_app.answering.state import Action, Attempt
from device_app.inference.sureness import Sureness
from device_app.question.answer import Answer
from shared.ending import Piece
from shared.types import Hit

Pieces = Generator[Piece, None, None]


MOST_ATTEMPTS: Final = 2
"""The most passages that are read one after the other by a model that reads one at a time."""


class TokenSource(Protocol):
    """A writer of one answer, token by token."""

    def stream(self, attempt: Attempt, sureness: Sureness | None) -> Pieces:
        """Yield the pieces of the answer to its end; record the model's confidence in `sureness`.

        Close the generator if it is not read to the end. Raises EngineError, ContextFull, StoreError.
        """
        ...

    def rewritten(
        self, attempt: Attempt, pieces: Sequence[Piece], sureness: Sureness | None
    ) -> tuple[int, Pieces] | None:
        """If the pieces have no visible text, return the number of pieces to keep and a stream that replaces the rest.

        Return None otherwise, or if no other side can write. The stream records the model's confidence in `sureness`.
        """
        ...

    @property
    def further(self) -> Sequence[Hit]:
        """The passages read so far besides those of the attempt."""
        ...

    def used(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the passages that the finished answer is drawn from."""
        ...

    def credited(self, answer: Answer, action: Action) -> Answer:
        """Return the answer with its writer, and the reasons for how it was written."""
        ...
