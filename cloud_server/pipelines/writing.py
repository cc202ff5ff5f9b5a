"""A text that the generation writes while a pipeline waits for it. Used on the event loop's thread only."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress

from cloud_server.engine.jobs import Broken, Displaced, Done, EngineEvent, Token


class RequestOver(Exception):
    """Raised in a pipeline whose request has ended, to stop the pipeline."""


async def until_over(work: Callable[[], Awaitable[None]]) -> None:
    """Await the work, and stop quietly if the request ends meanwhile (RequestOver)."""
    with suppress(RequestOver):
        await work()


class Writing:
    """The tokens of one job, in the order in which they arrive. Only one coroutine may wait at a time.

    `done` is set when the job ends normally; it stays None if the engine failed or displaced the job.
    """

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.done: Done | None = None
        self.over = False
        self._dropped = False
        self._awaited = 0.0  # the number of tokens to wait for
        self._reached = asyncio.Event()

    def take(self, event: EngineEvent) -> None:
        """Process an event of the job."""
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
        """Wake the waiting coroutine with RequestOver, because the request has ended."""
        self.over = self._dropped = True
        self._reached.set()

    async def reach(self, count: float) -> None:
        """Wait until `count` tokens have arrived or the job has ended. Raises RequestOver."""
        self._awaited = count
        self._reached.clear()
        if not (self.over or len(self.tokens) >= count):
            await self._reached.wait()
        if self._dropped:
            raise RequestOver

    async def end(self) -> Done | None:
        """Wait until the job has ended, and return its last event; None if it failed. Raises RequestOver."""
        await self.reach(math.inf)
        return self.done
