"""A buffer of tokens for the reader (DiSCo §4.3, figure 4), shown at reading pace only while a buffer is needed.

It is independent of the sides and of a clock: times are arguments, in seconds of any one clock.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


def needed(reading_rate: float, handover_s: float) -> int:
    """Return B = r_c·t_m, the tokens to read at `reading_rate` (r_c) while an answer changes sides (t_m seconds)."""
    return max(int(-(-reading_rate * handover_s // 1)), 1)


class TokenBuffer(Generic[T]):
    """The answer's tokens by absolute index, from 0, and the time at which each is due.

    While `paced`, a token is due 1/rate seconds after the one before, or at once if it comes later. Otherwise, all
    tokens are due at once.
    """

    def __init__(self, rate: float) -> None:
        """Set the reading speed `rate`, tokens a second. Raises ValueError if it is not above 0."""
        if not rate > 0:
            raise ValueError(f"the reading rate must be above 0, not {rate} tokens a second")
        self._gap = 1 / rate
        self._held: list[T] = []
        self._given = 0
        self._next_at = float("-inf")
        self.paced = False

    @property
    def count(self) -> int:
        """The number of tokens received so far, which is also the absolute index of the next token."""
        return len(self._held)

    @property
    def given(self) -> int:
        """The number of tokens that the reader has received."""
        return self._given

    @property
    def waiting(self) -> int:
        """The number of buffered tokens: received, but not yet shown to the reader."""
        return len(self._held) - self._given

    def put(self, index: int, token: T) -> None:
        """Append the token. Raises ValueError if `index` is not the index of the next token."""
        if index != len(self._held):
            raise ValueError(f"the next token has index {len(self._held)}, not {index}")
        self._held.append(token)

    def due(self, now: float) -> list[T]:
        """Return the tokens that are due, in order, and count them as shown to the reader."""
        start = self._given
        if not self.paced:
            self._given = len(self._held)
            if self._given > start:
                self._next_at = now + self._gap
        while self._given < len(self._held) and self._next_at <= now:
            # After a pause the pace starts again: late tokens are not caught up in a burst.
            late = now - self._next_at >= self._gap
            self._next_at = (now if late else self._next_at) + self._gap
            self._given += 1
        return self._held[start : self._given]

    def next_due(self) -> float | None:
        """Return the time at which `due` next returns a token; None while the buffer is empty."""
        if not self.waiting:
            return None
        return self._next_at if self.paced else float("-inf")

    def tokens(self) -> list[T]:
        """Return all tokens received so far."""
        return list(self._held)
