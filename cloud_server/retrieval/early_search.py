"""The look-ahead for a corpus that cannot prefetch: it searches early and returns the hits as provisional passages.

Implements `Ticket`.
"""

from collections.abc import Callable

from cloud_server.retrieval.corpus import Vector
from shared.protocol.messages import PublicPassage


class EarlySearch:
    """A look-ahead that searches only when provisional passages are requested, and at most once for each vector."""

    def __init__(self, search: Callable[[Vector, int], list[PublicPassage]], vector: Vector) -> None:
        self._search, self._near = search, vector
        self._last: tuple[bytes, int, list[PublicPassage]] | None = None

    def starts(self) -> None:
        """Do nothing, as no times are learned."""

    def refine(self, vector: Vector) -> None:
        """Replace the vector by that of the text written so far."""
        self._near = vector

    def provisional(self, most: int) -> list[PublicPassage]:
        """Return the passages nearest to the latest vector. Raises StoreError."""
        return self.search(self._near, most)

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the `most` passages nearest to a vector; if the last search was for the same vector and `most`, its
        hits without another search. Raises StoreError.
        """
        asked = (vector.tobytes(), most)
        if self._last is None or self._last[:2] != asked:
            self._last = (*asked, self._search(vector, most))
        return self._last[2]

    def close(self) -> None:
        """Drop the hits of the last search."""
        self._last = None
