"""How long a companion server is waited for, by what is waited for, and the one way to wait for an event of it."""

import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Seconds. An answer that can do without the server waits less than one that cannot, a command longest."""

    connect_s: float = 3.0
    """For a connection, while an answer waits for it."""

    check_s: float = 4.0
    """For a connection, while a person looks at how it stands."""

    pair_s: float = 15.0
    """For a connection, while a person connects a server that may still be starting."""

    passages_s: float = 4.0
    """For passages that the person's files can do without."""

    sources_s: float = 10.0
    """For passages that the answer cannot do without."""

    token_s: float = 5.0
    """For the next token, beyond what the server promised; then the device writes."""


LIMITS = WaitLimits()


def next_event(inbox: SimpleQueue[T], until: float) -> T | None:
    """The next event, waited for until that moment of the monotonic clock; None where none comes."""
    try:
        return inbox.get(timeout=max(until - time.monotonic(), 0.0))
    except Empty:
        return None
