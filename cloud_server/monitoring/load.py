"""The engine's load, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """Counts of the engine's work. `writing` answers are generated and `waiting` requests are queued now; all other
    fields count tokens.

    `prefilled` prompt tokens were computed and `joined` ones were taken from the cache; `written` tokens were
    generated. Of the prefilled tokens, `provisional` belong to passages that a search would probably find; `dropped` of
    those were used by no answer. `drafted` tokens were drafted for answers, and `accepted` of them were drawn.
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
