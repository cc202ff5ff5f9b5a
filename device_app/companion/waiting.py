"""Time limits for waiting on a companion server, and the one function that waits for an event."""

import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Limits in seconds for waiting on a server.

    An answer that needs no server waits less than one that does, a command longest.
    """

    connect_s: float = 3.0
    """Seconds to wait for a connection while an answer is waiting for it."""

    check_s: float = 4.0
    """Seconds to wait for a connection while a person looks at the connection's state."""

    pair_s: float = 15.0
    """Seconds to wait for a connection while a person connects a server that may still be starting."""

    passages_s: float = 4.0
    """Seconds to wait for passages that the answer can do without."""

    sources_s: float = 10.0
    """Seconds to wait for passages that the answer needs."""

    rounds_s: float = 30.0
    """Seconds for all rounds of a server's pipeline together, before its passages."""

    token_s: float = 5.0
    """Seconds to wait for the next token, beyond the start that the server promised; after that, the device writes."""

    alone_s: float = 30.0
    """Seconds to wait for the first token, where the device's model is too small to write the answer instead. From then
    on, `token_s` holds.
    """


LIMITS = WaitLimits()


def next_event(inbox: SimpleQueue[T], until: float) -> T | None:
    """Return the next event, waiting until the monotonic time `until`; None if none comes."""
    try:
        return inbox.get(timeout=max(until - time.monotonic(), 0.0))
    except Empty:
        return None
