"""The engine's load, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """The numbers of running answers and of queued requests now; of tokens computed, joined from the cache, and
    generated so far.
    """

    writing: int = 0
    waiting: int = 0
    prefilled: int = 0
    joined: int = 0
    written: int = 0
