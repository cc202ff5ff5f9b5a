"""The threads in which the requests of all devices compute and search, outside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from cloud_server.retrieval.grouping import CONSIDERED, TOGETHER
from cloud_server.retrieval.searcher import LANES

READERS: Final = 8
"""Threads that embed, tokenise and do other short work, none of which waits for a read of the index."""

SEARCHERS: Final = CONSIDERED + LANES * TOGETHER
"""Threads that search. Nearly all of them wait, which takes hardly any memory: as many as the searches that are
compared for a group, besides the groups that read. A thread is started only when no other is free.
"""


class RequestThreads:
    """The threads of all requests: `searchers` may wait long for a disk, `readers` never wait for `searchers`."""

    def __init__(self) -> None:
        self.readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self.searchers = ThreadPoolExecutor(SEARCHERS, thread_name_prefix="searcher")

    def later(self, work: Callable[[], None]) -> None:
        """Run the work in a reader thread. Called on the event loop's thread."""
        with suppress(RuntimeError):  # the server is shutting down
            asyncio.get_running_loop().run_in_executor(self.readers, work)

    def close(self) -> None:
        """Drop the work that has not started, and wait for the rest."""
        for wait in (False, True):  # dropped everywhere before anything is waited for
            for threads in (self.readers, self.searchers):
                threads.shutdown(wait=wait, cancel_futures=True)
