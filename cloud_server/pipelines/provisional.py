"""Prefills the passages that a search will probably find, while the search runs. For the event loop's thread only."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager

from cloud_server.engine.generation import Generation
from cloud_server.engine.jobs import Segments
from cloud_server.monitoring.unforeseen import log_unforeseen
from shared.errors import JackdawError

LOOK_S = 0.1
"""Seconds between two checks for passages that a running search has found so far. Most searches in memory end before
the first check.
"""

Prompts = Callable[[], Sequence[Segments]]
"""A function that makes the answer's prompts from the passages that are nearest so far; it returns none while too few
clusters are read. It is called in a searcher's thread, as it may wait for the disk.
"""

log = logging.getLogger(__name__)


class Provisional:
    """Prefills the provisional passages of one request, for at most one of its searches. Must always be closed."""

    def __init__(
        self,
        generation: Generation,
        owner: str,
        searchers: Executor,
        new_key: Callable[[], int],
        release_key: Callable[[int], None],
    ) -> None:
        self._generation, self._owner, self._searchers = generation, owner, searchers
        self._new_key, self._release_key = new_key, release_key
        self._key: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = False

    @contextmanager
    def during(self, prompts: Prompts | None) -> Iterator[None]:
        """While the block runs a search, prefill the `prompts` as soon as there are any. Prefilling stops at the
        block's end.
        """
        if prompts and self._key is None and not self._over:
            self._task = asyncio.get_running_loop().create_task(self._look(prompts))
        try:
            yield
        finally:
            self._stop()

    def close(self) -> None:
        """Stop prefilling, and drop the prefilled states that no answer has used."""
        self._over = True
        self._stop()
        if self._key is not None:
            self._generation.release(self._key)
            self._release_key(self._key)
            self._key = None

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None
        if self._key is not None:
            self._generation.settle(self._key)

    async def _look(self, prompts: Prompts) -> None:
        rows: Sequence[Segments] = ()
        while not rows:
            await asyncio.sleep(LOOK_S)
            if self._generation.prefills_ahead:
                try:
                    rows = await asyncio.get_running_loop().run_in_executor(self._searchers, prompts)
                except JackdawError:
                    return  # the search itself says what is wrong
                except Exception as error:
                    log_unforeseen(log, "provisional passages were not looked up", error, client=self._owner)
                    return
        self._key = self._new_key()
        self._generation.prefill(self._owner, self._key, rows)
