"""Flow control of one answer: tokens that are written wait here until the device's credit lets them be sent."""

from collections import deque
from collections.abc import Callable

from cloud_server.engine.jobs import Token
from shared.protocol import messages as m
from shared.protocol.server import ServerSession

MOST_IDS = 512
"""Tokens in one message."""


class TokenFlow:
    """`next` is the index of the next token to send. `max_tokens` bounds it, whatever is written."""

    def __init__(self, session: ServerSession, request: int, max_tokens: int) -> None:
        self.next = 0
        self._session, self._request, self._max_tokens = session, request, max_tokens
        self._before = 0  # tokens that the engine counts in front of the answer's first
        self._pending: deque[Token] = deque()

    @property
    def pending(self) -> bool:
        """Whether tokens wait."""
        return bool(self._pending)

    @property
    def upto(self) -> int:
        """The engine's index below which tokens may be written now."""
        return self._before + self.next + self._session.sendable(self._request)

    def begin(self, index: int, before: int) -> None:
        """The next token has this index here, and one that is larger by `before` in the engine."""
        self.next, self._before = index, before

    def add(self, token: Token) -> None:
        """Let a token wait; one beyond the answer's limit is dropped."""
        if self.next + len(self._pending) < self._max_tokens:
            self._pending.append(token)

    def drop(self) -> None:
        """Forget what waits."""
        self._pending.clear()

    def flush(self, send: Callable[[m.Tokens], None]) -> None:
        """Send what the credit allows."""
        while count := min(self._session.sendable(self._request), len(self._pending), MOST_IDS):
            tokens = [self._pending.popleft() for _ in range(count)]
            text = "".join(token.text for token in tokens) if self._session.handover == "text" else None
            send(m.Tokens(self._request, self.next, tuple(token.token for token in tokens), text))
            self.next += count
