"""The searches of one pipeline: while the model writes what will be looked up, what lies near is read ahead (TeleRAG,
section 4). Called by one thread at a time, any thread.
"""

from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.steps import Inquiry, LookUp, Passages
from cloud_server.retrieval.corpus import Ticket, Vector
from shared.protocol.messages import Pipeline


class Searching:
    """Of the pipeline of this name. To be closed, whatever has become of it."""

    def __init__(self, answering: Answering, inquiry: Inquiry, name: Pipeline) -> None:
        self._answering, self._inquiry, self._name = answering, inquiry, name
        self._near: Vector | None = None  # what was looked up last
        self._ticket: Ticket | None = None

    def begin(self) -> None:
        """Read ahead near what was looked up last or, at first, near the question."""
        self.close()
        if (corpus := self._answering.corpus) is None:
            return
        if self._near is None:
            self._near = self._answering.vectors(self._inquiry, LookUp((self._inquiry.question,)))[0]
        self._ticket = corpus.look_ahead(self._near, self._name)

    def starts(self) -> None:
        """The model writes the first token of what will be looked up. No wait."""
        if self._ticket:
            self._ticket.starts()

    def refine(self, text: str) -> None:
        """Read ahead near what the model has written so far."""
        if self._ticket and text.strip():
            self._ticket.refine(self._answering.vectors(self._inquiry, LookUp((text,), self._inquiry.anchored))[0])

    def look_up(self, step: LookUp) -> tuple[Passages, ...]:
        """The passages of each query, the nearest first, that are near enough to it. The first settles what was read
        ahead for.
        """
        vectors = self._answering.vectors(self._inquiry, step)
        self._near = vectors[0]
        try:
            return self._answering.search(vectors, self._inquiry.most, self._ticket)
        finally:
            self.close()

    def close(self) -> None:
        """Nothing more is read ahead."""
        ticket, self._ticket = self._ticket, None
        if ticket:
            ticket.close()
