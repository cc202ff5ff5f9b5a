"""The engine's load, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """The numbers of running answers and of queued requests now; of tokens computed, joined from the cache, and
    generated so far. Of those computed, `provisional` are of passages that a search would probably find, and `dropped`
    of these were of no use. `drafted` counts the tokens drafted for answers, `accepted` those of them that were drawn.
    """

    writing: int = 0
    waiting: int = 0
    prefilled: int = 0
    joined: int = 0
    written: int = 0
    provisional: int = 0
    dropped: int = 0
    drafted: int = 0
    accepted: int = 0
