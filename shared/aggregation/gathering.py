"""Drafts, and settled tokens, that are ready within a moment travel together: a frame costs more bytes than a token.

Knows no clock: whoever owns one says when the moment is over.
"""

from typing import Final

from shared.aggregation.messages import Drafts, Targets
from shared.protocol.messages import MOST_SAID

GATHER_S: Final = 0.025
"""After something was sent, the next waits so long for more. Slower decoders never wait."""


class Gathering:
    """What one side is to send, in the order in which it came to be."""

    def __init__(self, ahead: int) -> None:
        """At most `ahead` drafts go into one message."""
        self._ahead = ahead
        self._waiting: list[Drafts | Targets] = []

    def __bool__(self) -> bool:
        """Whether something waits."""
        return bool(self._waiting)

    def add(self, message: Drafts | Targets) -> None:
        """One more; behind what waits of the same chain, or was settled before, it becomes a part of that."""
        joined = self._joined(self._waiting[-1], message) if self._waiting else None
        if joined:
            self._waiting[-1] = joined
        else:
            self._waiting.append(message)

    def take(self) -> list[Drafts | Targets]:
        """All that waits; of a chain that was given up, only what a later one does not stand in for.

        A chain is wrong from some position before the next one's beginning; drafts from there on are never used.
        """
        taken, self._waiting = self._waiting, []
        newest = max((message.epoch for message in taken if isinstance(message, Drafts)), default=0)
        kept: list[Drafts | Targets] = []
        for message in taken:
            if isinstance(message, Targets):
                kept.append(message)
                continue
            tokens = message.tokens if message.epoch == newest else message.tokens[: max(newest - message.position, 0)]
            if tokens:
                kept.append(Drafts(message.epoch, message.position, tokens, message.distributions[: len(tokens)]))
        return kept

    def _joined(self, last: Drafts | Targets, message: Drafts | Targets) -> Drafts | Targets | None:
        if last.position + len(last.tokens) != message.position:
            return None
        tokens = last.tokens + message.tokens
        match last, message:
            case Targets(), Targets():
                return Targets(last.position, tokens)
            case Drafts(), Drafts() if last.epoch == message.epoch:
                given = last.distributions + message.distributions
                fits = len(tokens) <= (min(self._ahead, MOST_SAID) if given else self._ahead)
                return Drafts(last.epoch, last.position, tokens, given) if fits else None
        return None
