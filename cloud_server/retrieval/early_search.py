"""The look-ahead for a corpus that cannot prefetch: it searches near the text written so far, while the rest is being
written, and returns the hits as provisional passages.

Implements `Ticket`.
"""

from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress

from cloud_server.retrieval.corpus import MOST_PROVISIONAL, Vector
from shared.protocol.messages import PublicPassage


class EarlySearch:
    """A look-ahead that makes one early search, in one of the `threads`, as the service may take long to answer.

    It is near the text written so far (`refine`). Without such a text it is near the question, and made only when
    provisional passages are requested, because the search of the round before was near the same vector.
    """

    def __init__(self, search: Callable[[Vector, int], list[PublicPassage]], vector: Vector, threads: Executor) -> None:
        self._search, self._near, self._threads = search, vector, threads
        self._early: Future[list[PublicPassage]] | None = None
        self._closed = False

    def starts(self) -> None:
        """Do nothing, as no times are learned."""

    def refine(self, vector: Vector) -> None:
        """Search near the text written so far, instead of near the question. Returns at once."""
        self._drop()
        with suppress(RuntimeError):  # no new thread, or the process ends: nothing is searched early
            self._early = self._threads.submit(self._search, vector, MOST_PROVISIONAL)

    def provisional(self, most: int) -> list[PublicPassage]:
        """Return the early search's passages, but at most MOST_PROVISIONAL, once it is over; none after `close`. Raises
        StoreError.
        """
        if self._closed:
            return []
        try:
            early = self._early = self._early or self._threads.submit(self._search, self._near, MOST_PROVISIONAL)
        except RuntimeError:  # as above
            return []
        try:
            return early.result()[:most]
        except CancelledError:  # closed meanwhile
            return []

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the `most` passages nearest to the question's final vector. Raises StoreError."""
        return self._search(vector, most)

    def close(self) -> None:
        """Drop the early search, also if it still waits for a thread."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._early:
            self._early.cancel()
