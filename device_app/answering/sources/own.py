"""Answers that this device writes alone: from the person's files, or also from passages fetched from a server."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from device_app.answering.planner import OWN
from device_app.answering.sources.source import Pieces
from device_app.answering.state import Action, Attempt
from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from device_app.inference.sureness import Sureness
from device_app.question.abstention import relevance
from device_app.question.answer import Answer
from models.engine import Embedder
from models.following_weights import FollowingWeights
from models.sampling import SamplingSettings
from shared.ending import Piece, ended
from shared.printable import counted
from shared.text import embedded_text
from shared.trace import Trace
from shared.types import Hit

UNTOLD: Final = "the nearest passages of your files do not answer the question"
FULL: Final = "the server's passages did not fit into the model's context"


@dataclass(frozen=True, slots=True)
class Weighing:
    """Computes the weights of a question's rows (one per passage) again after every `every` tokens of the answer."""

    embedder: Embedder
    question: str
    every: int

    def following(self, attempt: Attempt, source: LocalSource) -> FollowingWeights | None:
        """Return the rows' weights, updated while the text is written; the caller closes them. None for one row."""
        return self.weights(attempt, source) if attempt.prompt and len(attempt.prompt.passages) > 1 else None

    def weights(self, attempt: Attempt, source: LocalSource) -> FollowingWeights | None:
        """Return the rows' weights even for one row; None if the prompt has no passages."""
        assert attempt.prompt
        hits = attempt.hits[: len(attempt.prompt.passages)]
        if not hits or len(hits) < len(attempt.prompt.passages):
            return None
        passages = [embedded_text(hit.passage.title, hit.passage.text) for hit in hits]
        near, detokenize = attempt.similarities, source.engine.detokenize
        return FollowingWeights(self.embedder, detokenize, self.question, passages, near, self.every)


@dataclass(frozen=True, slots=True)
class Own:
    """The token source of an answer from passages of the files, written by this device. Implements `TokenSource`.

    `tree` holds the cached attention states of prompts. With `weighing`, the rows' weights change with the text
    written.
    """

    source: LocalSource
    tree: QKVTree
    sampling: SamplingSettings
    max_tokens: int
    trace: Trace
    weighing: Weighing | None = None
    further: ClassVar[Sequence[Hit]] = ()  # none are read while writing

    def stream(self, attempt: Attempt, sureness: Sureness | None) -> Pieces:
        """Yield the pieces of the answer to the prompt."""
        assert attempt.prompt
        with ExitStack() as cleanup:
            following = self.weighing.following(attempt, self.source) if self.weighing else None
            if following:
                cleanup.enter_context(closing(following))
            stream = self.source.stream(
                attempt.prompt,
                self.sampling,
                max_tokens=self.max_tokens,
                similarities=attempt.similarities,
                relevance=relevance(attempt.hits),
                trace=self.trace,
                tree=self.tree,
                sureness=sureness,
                following=following,
            )
            yield from ended(cleanup.enter_context(closing(stream)))

    def rewritten(
        self,
        attempt: Attempt,  # noqa: ARG002
        pieces: Sequence[Piece],  # noqa: ARG002
        sureness: Sureness | None,  # noqa: ARG002
    ) -> tuple[int, Pieces] | None:
        """Return None: no other side can rewrite the answer."""
        return None

    def used(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the attempt's passages."""
        return hits

    def credited(self, answer: Answer, action: Action) -> Answer:
        """Return the answer with the reasons why it was written in this way."""
        reasons = tuple(UNTOLD if answer.abstained and reason == OWN else reason for reason in action.reasons)
        return replace(answer, decided=reasons, lacks=action.lacks)


class Fetched(Own):
    """The token source of an answer from passages of the files and of a server, written by this device. Implements
    `TokenSource`.
    """

    def credited(self, answer: Answer, action: Action) -> Answer:
        """Return the answer with the reasons, and the number of the server's passages that it is based on."""
        theirs = sum(hit.side == "server" for hit in answer.hits)
        read = (
            f"this device wrote the answer from your files and {counted(theirs, 'passage')} of the server"
            if theirs
            else FULL
        )
        return replace(answer, decided=(*action.reasons, read))
