"""Gives memory of the index back while no question comes. Runs on the event loop."""

import asyncio
import logging
from concurrent.futures import Executor
from typing import Final

from cloud_server.monitoring.unforeseen import log_unforeseen
from cloud_server.retrieval.corpus import Corpus

EVERY_S: Final = 2.0
"""Seconds between two checks of the machine's memory. A search checks it as well."""

log = logging.getLogger(__name__)


async def relieve(corpus: Corpus | None, readers: Executor) -> None:
    """Forever, let the corpus give memory back if the machine is short of it, in a thread of `readers`, as the index's
    lock may be held for long.
    """
    while True:
        await asyncio.sleep(EVERY_S)
        try:
            if corpus:
                await asyncio.get_running_loop().run_in_executor(readers, corpus.relieve)
        except Exception as error:
            log_unforeseen(log, "the index gave no memory back", error)
