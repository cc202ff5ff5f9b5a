"""The token source of a joint answer by this device and a server; if it has no text, this device writes alone."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace

from device_app.answering.planner import clause
from device_app.answering.sources.own import Own
from device_app.answering.sources.source import Pieces
from device_app.answering.state import Action, Attempt
from device_app.companion.dispatch.aggregation_choice import AggregationChoice
from device_app.companion.joint.aggregated import Aggregated
from device_app.inference.sureness import Sureness
from device_app.question.answer import WENT_ON, Answer
from shared.ending import Piece, ended
from shared.printable import counted, visible
from shared.prompt import Prompt
from shared.public import hit as public_hit
from shared.types import Hit


class Joint:
    """The token source of a joint answer. If the answer has no visible text, `own` writes it again on this device.

    Implements `TokenSource`.
    """

    def __init__(self, aggregated: Aggregated, own: Own, aggregation: AggregationChoice | None = None) -> None:
        self._aggregated, self._own, self._aggregation = aggregated, own, aggregation
        self._is_given_up = False

    def stream(self, attempt: Attempt, sureness: Sureness | None) -> Pieces:  # noqa: ARG002  (unknown of both)
        """Yield the pieces of the joint answer."""
        assert attempt.prompt
        own = self._own
        if own.weighing and (weights := own.weighing.weights(attempt, own.source)):
            self._aggregated.follow(weights)
        most = own.source.most(attempt.prompt, own.max_tokens)
        return joint_pieces(self._aggregated, attempt.prompt, attempt.similarities, most)

    def rewritten(
        self, attempt: Attempt, pieces: Sequence[Piece], sureness: Sureness | None
    ) -> tuple[int, Pieces] | None:
        """If the joint answer has no visible text, return 0, the index of the first piece to replace, and the pieces of
        this device's own answer; else None.
        """
        if visible("".join(piece.text for piece in pieces)):
            return None
        self._is_given_up = True
        self._aggregated.give_up("the joint answer had no readable text")
        self._own.trace.begin_again()
        return 0, self._own.stream(attempt, sureness)

    @property
    def further(self) -> Sequence[Hit]:
        """The passages that the server retrieved; none if this device writes the answer again."""
        return list(map(public_hit, () if self._is_given_up else self._aggregated.report.passages))

    def used(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the attempt's passages, and those of the server that a token was drawn from."""
        return [*hits, *map(public_hit, self._aggregated.report.sources)]

    def credited(self, answer: Answer, action: Action) -> Answer:
        """Return the answer with the sides that wrote it, the side that decided its tokens if there was a choice, and
        the reason if this device finished it alone.
        """
        report, reasons = self._aggregated.report, action.reasons
        if report.together and self._aggregation and self._aggregation.rule == "algorithm1":
            often = (
                f"; the side changed {counted(report.changes, 'time')}" if self._aggregation.way == "scheduled" else ""
            )
            reasons = (*reasons[:-1], f"{self._aggregation.reason}{often}", *reasons[-1:])
        if report.alone:
            since = f" from token {report.together} on" if report.together else ""
            reasons = (*reasons[:-1], f"{WENT_ON}{since}: {clause(report.alone)}")
        return replace(answer, written="aggregated" if report.together else "device", decided=reasons)


def joint_pieces(
    joint: Aggregated, prompt: Prompt, similarities: Sequence[float], most: int | None = None
) -> Generator[Piece, None, None]:
    """Yield `joint.pieces` up to the point where the answer begins to repeat itself."""
    with closing(joint.pieces(prompt, similarities, most)) as pieces:
        yield from ended(pieces)
