"""An answer from a server's passages alone, written by the side that a race chooses."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

from device_app.answering.sources.source import Pieces
from device_app.answering.state import Action, Attempt
from device_app.companion.dispatch.race import Race
from device_app.inference.sureness import Sureness
from device_app.question.answer import Answer, LookedUp
from shared.ending import Piece, ended
from shared.printable import visible
from shared.public import hit as public_hit
from shared.types import Hit

Event = TypeVar("Event")
Result = TypeVar("Result")


class Raced:
    """The token source of an answer that device and server race to write; it takes the pieces from the race.

    The race has already retrieved its passages. Implements `TokenSource`.
    """

    def __init__(self, race: Race) -> None:
        self._race = race

    def stream(self, attempt: Attempt, sureness: Sureness | None) -> Pieces:  # noqa: ARG002  (the race has its prompt)
        """Yield the pieces of the race's answer."""
        return ended(self._race.pieces())

    def rewritten(
        self,
        attempt: Attempt,  # noqa: ARG002
        pieces: Sequence[Piece],
        sureness: Sureness | None,  # noqa: ARG002
    ) -> tuple[int, Pieces] | None:
        """Return the device's pieces to replace the server's, and the index of the first piece to replace, if the
        server's text has no visible character; else None.
        """
        begin = self._race.by_server
        if begin is None or visible("".join(piece.text for piece in pieces[begin:])):
            return None
        return begin, ended(self._race.rewritten(pieces[:begin]))

    @property
    def further(self) -> Sequence[Hit]:
        """The passages that the server retrieved while it wrote the answer."""
        return list(map(public_hit, self._race.rounds.further))

    def used(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the attempt's passages and, if the server wrote the answer, those that it retrieved meanwhile."""
        return hits if self._race.report.origin == "device" else [*hits, *self.further]

    def with_rounds(self, events: Generator[Event, None, Result]) -> Generator[Event | LookedUp, None, Result]:
        """Yield the events, each preceded by the server's rounds of retrieval since the previous event."""
        looked_up, shown = self._race.rounds.looked_up, len(self._race.rounds.looked_up)
        with closing(events):
            while True:
                try:
                    event = next(events)
                except StopIteration as end:
                    result: Result = end.value
                    yield from looked_up[shown:]
                    return result
                yield from looked_up[shown:]
                shown = len(looked_up)
                yield event

    def credited(self, answer: Answer, action: Action) -> Answer:
        """Return the answer with the side that wrote it, its model, and the race's reasons for its decisions."""
        report = self._race.report
        decided = (*action.reasons, *report.reasons)
        return replace(
            answer, model=report.model, model_hash="", written=report.origin, decided=decided, dispatch=report.basis
        )
