"""Short, rate-limited log entries for unhandled errors of the event loop. `asyncio` itself would log a traceback each
time, so that a stranger could fill the log.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from cloud_server.monitoring.log_rate import LogRateLimit
from cloud_server.monitoring.unforeseen import log_unforeseen

log = logging.getLogger(__name__)


class LoopErrorHandler:
    """An exception handler for an event loop. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._sparing = clock, LogRateLimit(2)

    def __call__(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop, unless it repeats too often."""
        error = context.get("exception")
        number = error.errno if isinstance(error, OSError) else None
        if self._sparing.left_out((context["message"], type(error), number), self._clock()) is not None:
            log_unforeseen(log, context["message"], error, errno=number)
