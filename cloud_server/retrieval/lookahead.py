"""What is read ahead of a question whose final form is still being written (TeleRAG, section 4). Pure decisions.

The paper spends all on the clusters nearest to the question as it was asked, and keeps its generation times by hand.
Here they are learned, and *progressive* look-ahead spends half near what has been written so far.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

LookaheadMode = Literal["paper", "progressive"]
"""How the budget is spent: all near the question that was asked, or half of it near the half-written output."""

TIMES: Final = 2.0
"""The question's own bytes that look-ahead reads at most: near it lie .75 to .88 of the clusters that a rewriting of
it asks for, in once as many .55 to .68 (HyDE, questions of NQ and HotpotQA)."""

_NEW: Final = 0.2
"""Weight of the newest generation time."""


class GenerationTimes:
    """How long each pipeline writes before it looks something up, and whether it says meanwhile what it has written."""

    def __init__(self) -> None:
        self._means: dict[str, float] = {}
        self._refined: dict[str, bool] = {}

    def mean(self, pipeline: str) -> float | None:
        """Seconds; None where nothing is known yet."""
        return self._means.get(pipeline)

    def is_refined(self, pipeline: str) -> bool:
        """Whether half of a budget will be of use later."""
        return self._refined.get(pipeline, False)

    def learn(self, pipeline: str, seconds: float, *, is_refined: bool) -> None:
        """A pipeline has written for so long. Of two threads at once, one may be forgotten, which does no harm."""
        before = self._means.get(pipeline)
        self._means[pipeline] = seconds if before is None else exponential_mean(before, seconds)
        self._refined[pipeline] = is_refined


def exponential_mean(before: float, new: float) -> float:
    """The mean once a new value has come."""
    return before + _NEW * (new - before)


def budget(question: int, rate: float, seconds: float | None, memory: int) -> tuple[int, int]:
    """How many bytes of clusters are made ready for a question, and how many of them may have to be read for it.

    `question` bytes are those of its own clusters, `rate` bytes a second the capped bandwidth, `seconds` the generation
    time; where that is not known yet, reading ends when the question comes.
    """
    ready = min(round(TIMES * question), memory)
    return ready, ready if seconds is None else min(ready, round(rate * seconds))


def within_budget(
    clusters: Iterable[int],
    size_of: Callable[[int], int],
    is_ready: Callable[[int], bool],
    ready: int,
    read: int,
) -> list[int]:
    """Of the clusters, nearest first, as many as the budget allows; those in memory cost no reading."""
    chosen: list[int] = []
    for cluster in clusters:
        size = size_of(cluster)
        cost = 0 if is_ready(cluster) else size
        if size > ready or cost > read:
            break
        ready, read = ready - size, read - cost
        chosen.append(cluster)
    return chosen
