"""Gathers drafts and final tokens that are ready within a short time into one message.

The reason is that a frame costs more bytes than a token. Uses no clock: the caller decides when to send.
"""

from typing import Final

from shared.aggregation.messages import Drafts, Targets
from shared.protocol.messages import MOST_SAID

GATHER_S: Final = 0.025
"""Seconds after a send in which further drafts are gathered. Drafts of slower decoders are sent at once."""


class Gathering:
    """The drafts and final tokens that one side still has to send to the other, in sending order."""

    def __init__(self, ahead: int) -> None:
        """Create an empty queue whose messages hold at most `ahead` drafts each."""
        self._ahead = ahead
        self._waiting: list[Drafts | Targets] = []

    def __bool__(self) -> bool:
        """Return whether a message waits to be sent."""
        return bool(self._waiting)

    def add(self, message: Drafts | Targets) -> None:
        """Queue a message, or append it to the last one if it continues that message's chain of drafts or its final
        tokens.
        """
        joined = self._joined(self._waiting[-1], message) if self._waiting else None
        if joined:
            self._waiting[-1] = joined
        else:
            self._waiting.append(message)

    def take(self) -> list[Drafts | Targets]:
        """Return and clear the queue, without drafts that a newer chain replaces.

        A chain is wrong from some position before the newer chain's start, so its drafts from that start on are never
        used.
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
