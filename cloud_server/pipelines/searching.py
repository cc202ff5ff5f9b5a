"""The searches of one pipeline. While the model writes the next query, the clusters that the query will probably need
are read ahead (TeleRAG, section 4). Any thread may call, but only one at a time except for `provisional`.
"""

from collections.abc import Sequence

from cloud_server.engine.jobs import Segments
from cloud_server.pipelines.answering import Answering
from cloud_server.pipelines.steps import Inquiry, LookUp, Passages
from cloud_server.retrieval.corpus import MOST_PROVISIONAL, Ticket, Vector
from shared.protocol.messages import Ask, Pipeline


class Searching:
    """The searches that the named pipeline makes for one request. Must always be closed."""

    def __init__(self, answering: Answering, inquiry: Inquiry, name: Pipeline) -> None:
        self._answering, self._inquiry, self._name = answering, inquiry, name
        self._near: Vector | None = None  # the vector of the last query
        self._ticket: Ticket | None = None
        self._searched: Vector | None = None  # while one query alone is searched for

    def begin(self) -> None:
        """Start reading clusters ahead, near the last query or, before the first query, near the question."""
        self.close()
        if (corpus := self._answering.corpus) is None:
            return
        if self._near is None:
            self._near = self._answering.vectors(self._inquiry, LookUp((self._inquiry.question,)))[0]
        self._ticket = corpus.look_ahead(self._near, self._name)

    def starts(self) -> None:
        """Record that the model begins to write the next query. Returns at once."""
        if self._ticket:
            self._ticket.starts()

    def refine(self, text: str) -> None:
        """Read clusters ahead near the text that the model has written so far."""
        if self._ticket and text.strip():
            self._ticket.refine(self._answering.vectors(self._inquiry, LookUp((text,), self._inquiry.anchored))[0])

    def embed(self, step: LookUp) -> Sequence[Vector]:
        """Return the vectors to look up, one for each query."""
        vectors = self._answering.vectors(self._inquiry, step)
        self._near = vectors[0]
        return vectors

    def look_up(self, vectors: Sequence[Vector]) -> tuple[Passages, ...]:
        """Return the relevant passages for each vector, the nearest first.

        The search for the first vector uses the clusters that were prefetched; the prefetching ends.
        """
        self._searched = vectors[0] if len(vectors) == 1 else None
        try:
            return self._answering.search(vectors, self._inquiry.most, self._ticket)
        finally:
            self._searched = None
            self.close()

    def provisional(self, ask: Ask) -> Sequence[Segments]:
        """Return the beginnings of the prompts that will probably be made from the result of `look_up`, while `look_up`
        runs in another thread. Returns none while too few clusters are read, or if several queries are looked up.
        """
        vector, ticket = self._searched, self._ticket
        if vector is None:
            return ()
        most = min(MOST_PROVISIONAL, self._inquiry.most)
        return self._answering.beginnings(ask, self._answering.provisional(vector, most, ticket))

    def close(self) -> None:
        """Stop reading ahead."""
        ticket, self._ticket = self._ticket, None
        if ticket:
            ticket.close()
