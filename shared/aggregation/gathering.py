"""Drafts that are ready within a moment travel together: a frame costs more bytes than a token does.

Knows no clock: whoever owns one says when the moment is over.
"""

from typing import Final

from shared.aggregation.messages import Drafts

GATHER_S: Final = 0.025
"""After drafts were sent, the next wait so long for more. Slower decoders never wait."""


class Gathering:
    """Drafts of one side that are to be sent, in the order in which they were drawn."""

    def __init__(self, ahead: int) -> None:
        """At most `ahead` drafts go into one message."""
        self._ahead = ahead
        self._waiting: list[Drafts] = []

    def __bool__(self) -> bool:
        """Whether something waits."""
        return bool(self._waiting)

    def add(self, drafts: Drafts) -> None:
        """One more; behind what waits of the same chain, it becomes a part of that."""
        if self._waiting:
            last = self._waiting[-1]
            follows = last.epoch == drafts.epoch and last.position + len(last.tokens) == drafts.position
            if follows and len(last.tokens) + len(drafts.tokens) <= self._ahead and not drafts.distributions:
                self._waiting[-1] = Drafts(last.epoch, last.position, last.tokens + drafts.tokens)
                return
        self._waiting.append(drafts)

    def take(self) -> list[Drafts]:
        """All that waits; of a chain that was given up, only what a later one does not stand in for.

        A chain is wrong from some position before the next one's beginning; drafts from there on are never used.
        """
        taken, self._waiting = self._waiting, []
        newest = max((one.epoch for one in taken), default=0)
        kept = []
        for one in taken:
            tokens = one.tokens if one.epoch == newest else one.tokens[: max(newest - one.position, 0)]
            if tokens:
                kept.append(Drafts(one.epoch, one.position, tokens, one.distributions[: len(tokens)]))
        return kept
