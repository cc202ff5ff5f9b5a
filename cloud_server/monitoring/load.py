"""The engine's load, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """Counts of the engine's work. `writing` answers run and `waiting` requests are queued now; all else counts tokens.

    `prefilled` prompt tokens were computed and `joined` ones taken from the cache; `written` tokens were generated. Of
    the prefilled, `provisional` are of passages that a search would probably find, and `dropped` are those of these
    that no answer used. `drafted` tokens were drafted for answers, and `accepted` of these were drawn.
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
