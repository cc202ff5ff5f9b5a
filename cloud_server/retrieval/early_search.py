"""The look-ahead of a corpus that searches by itself: an early question, whose passages are provisional.

Implements `Ticket`.
"""

from collections.abc import Callable

from cloud_server.retrieval.corpus import Vector
from shared.protocol.messages import PublicPassage


class EarlySearch:
    """Nothing is asked before somebody wants the provisional passages, and no vector twice in a row."""

    def __init__(self, search: Callable[[Vector, int], list[PublicPassage]], vector: Vector) -> None:
        self._search, self._near = search, vector
        self._last: tuple[bytes, int, list[PublicPassage]] | None = None

    def starts(self) -> None:
        """No time is learned."""

    def refine(self, vector: Vector) -> None:
        """The final form will be near this."""
        self._near = vector

    def provisional(self, most: int) -> list[PublicPassage]:
        """What is nearest to the question so far. Raises StoreError."""
        return self.search(self._near, most)

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """What the corpus gives; at once, where that was provisional already. Raises StoreError."""
        asked = (vector.tobytes(), most)
        if self._last is None or self._last[:2] != asked:
            self._last = (*asked, self._search(vector, most))
        return self._last[2]

    def close(self) -> None:
        """Forget what was given."""
        self._last = None
