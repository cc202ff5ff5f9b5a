"""Tokens on their way to the reader (DiSCo §4.3, figure 4): held back to reading pace only while a buffer is needed.

Knows no side and no clock: times are given, in seconds of any one clock.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


def needed(reading_rate: float, handover_s: float) -> int:
    """B = r_c·t_m: tokens that keep the reader busy while an answer changes sides."""
    return max(int(-(-reading_rate * handover_s // 1)), 1)


class TokenBuffer(Generic[T]):
    """The answer's tokens by absolute index, from 0, and when each is due.

    While `paced`, a token is due 1/rate seconds after the one before, or at once where it comes later than that. While
    not, all that is held is due at once.
    """

    def __init__(self, rate: float) -> None:
        """`rate` is reading speed, tokens a second. Raises ValueError where that is not above 0."""
        if not rate > 0:
            raise ValueError(f"a reader reads more than {rate} tokens a second")
        self._gap = 1 / rate
        self._held: list[T] = []
        self._given = 0
        self._next_at = float("-inf")
        self.paced = False

    @property
    def count(self) -> int:
        """Tokens taken in so far: the absolute index of the next one."""
        return len(self._held)

    @property
    def given(self) -> int:
        """Tokens the reader has."""
        return self._given

    @property
    def waiting(self) -> int:
        """Tokens taken in that the reader has not: the buffer's filling."""
        return len(self._held) - self._given

    def put(self, index: int, token: T) -> None:
        """Take the token in. Raises ValueError where it is not the next one: none is ever lost, repeated or moved."""
        if index != len(self._held):
            raise ValueError(f"token {index} is not the next one, {len(self._held)}")
        self._held.append(token)

    def due(self, now: float) -> list[T]:
        """What the reader gets now, in order."""
        start = self._given
        if not self.paced:
            self._given = len(self._held)
            if self._given > start:
                self._next_at = now + self._gap
        while self._given < len(self._held) and self._next_at <= now:
            # Behind a pause the pace starts again: what came late is not caught up in a burst.
            late = now - self._next_at >= self._gap
            self._next_at = (now if late else self._next_at) + self._gap
            self._given += 1
        return self._held[start : self._given]

    def next_due(self) -> float | None:
        """When `due` has something next; None while nothing waits."""
        if not self.waiting:
            return None
        return self._next_at if self.paced else float("-inf")

    def tokens(self) -> list[T]:
        """All taken in so far, given or not."""
        return list(self._held)
