"""A text that a pipeline waits for while the generation writes it. On the event loop's thread."""

import asyncio
import math

from cloud_server.engine.jobs import Broken, Displaced, Done, EngineEvent, Token


class RequestOver(Exception):
    """The request has ended: nobody waits for what its pipeline would do next."""


class Writing:
    """One job's tokens, as they come. One waiter at a time.

    `done` is set once it has ended well; it stays None where the engine could not go on.
    """

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.done: Done | None = None
        self.over = False
        self._dropped = False
        self._awaited = 0.0  # tokens that the waiter waits for
        self._reached = asyncio.Event()

    def take(self, event: EngineEvent) -> None:
        """Take what the generation brought."""
        match event:
            case Token():
                self.tokens.append(event)
            case Done():
                self.done, self.over = event, True
            case Broken() | Displaced():
                self.over = True
        if self.over or len(self.tokens) >= self._awaited:
            self._reached.set()

    def drop(self) -> None:
        """Nobody waits for it any more."""
        self.over = self._dropped = True
        self._reached.set()

    async def reach(self, count: float) -> None:
        """Wait until there are so many tokens, or no more come. Raises RequestOver."""
        self._awaited = count
        self._reached.clear()
        if not (self.over or len(self.tokens) >= count):
            await self._reached.wait()
        if self._dropped:
            raise RequestOver

    async def end(self) -> Done | None:
        """Wait until no more come; how it ended. Raises RequestOver."""
        await self.reach(math.inf)
        return self.done
