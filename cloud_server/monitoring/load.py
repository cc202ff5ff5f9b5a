"""What the engine is doing, for the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class Load:
    """Answers being written and requests that wait now; tokens computed, joined from kept states and written so far."""

    writing: int = 0
    waiting: int = 0
    prefilled: int = 0
    joined: int = 0
    written: int = 0
