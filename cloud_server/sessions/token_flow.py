"""Flow control of one answer: generated tokens are queued until the device's credit, the number of tokens that it
allows, permits sending them.
"""

from collections import deque
from collections.abc import Callable

from cloud_server.engine.jobs import Token
from shared.protocol import messages as m
from shared.protocol.server import ServerSession

MOST_IDS = 512
"""The most tokens in one message."""


class TokenFlow:
    """The queue of generated tokens of one answer. `next` is the index of the next token to send; at most `max_tokens`
    are sent.
    """

    def __init__(self, session: ServerSession, request: int, max_tokens: int) -> None:
        self.next = 0
        self._session, self._request, self._max_tokens = session, request, max_tokens
        self._before = 0  # engine's index minus the answer's index of a token
        self._pending: deque[Token] = deque()

    @property
    def pending(self) -> bool:
        """Whether tokens are queued."""
        return bool(self._pending)

    @property
    def upto(self) -> int:
        """The engine's token index below which tokens may be generated now."""
        return self._before + self.next + self._session.sendable(self._request)

    def begin(self, index: int, before: int) -> None:
        """Start at the answer's token `index`.

        The index of a token in the engine's job is that in the answer plus `before`.
        """
        self.next, self._before = index, before

    def add(self, token: Token) -> None:
        """Queue a token, or drop it if it exceeds the answer's limit."""
        if self.next + len(self._pending) < self._max_tokens:
            self._pending.append(token)

    def drop(self) -> None:
        """Drop the queued tokens."""
        self._pending.clear()

    def flush(self, send: Callable[[m.Tokens], None]) -> None:
        """Send the queued tokens that the credit allows."""
        while count := min(self._session.sendable(self._request), len(self._pending), MOST_IDS):
            tokens = [self._pending.popleft() for _ in range(count)]
            text = "".join(token.text for token in tokens) if self._session.handover == "text" else None
            send(m.Tokens(self._request, self.next, tuple(token.token for token in tokens), text))
            self.next += count
