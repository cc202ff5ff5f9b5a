"""The load of the engine and of the index, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """Counts of the engine's work: `writing` answers are being generated and `waiting` requests are queued now; all
    other fields count tokens.

    `prefilled` prompt tokens were computed and `joined` ones were taken from the cache; `written` tokens were
    generated. Of the prefilled tokens, `provisional` belong to passages that a search would probably find; `dropped` of
    those were used by no answer. `drafted` tokens were drafted for answers, and `accepted` of them became part of the
    answers.
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


@dataclass(frozen=True, slots=True)
class VectorUse:
    """The use of memory and disk by an index's vectors: `held` bytes of memory now, their codes included, and `read`
    bytes from the disk since the index was opened.
    """

    held: int = 0
    read: int = 0
