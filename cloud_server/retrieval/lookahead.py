"""Decides what to prefetch for a question whose final text is still being written (TeleRAG, section 4). No I/O.

The paper spends the whole budget on the clusters nearest to the original question, and takes generation times as given.
Here the times are learned, and *progressive* look-ahead spends half of the budget near the text written so far.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

LookaheadMode = Literal["paper", "progressive"]
"""The way to spend the prefetch budget: all near the original question, or half of it near the text written so far."""

MOST_OF_OWN: Final = 2.0
"""The most bytes to prefetch, in multiples of the size of the clusters that a search near the question itself would
read.

A budget of twice that size covers 75 to 88% of the clusters that a rewritten question needs, a budget of that size 55
to 68% (HyDE, questions of NQ and HotpotQA).
"""

_NEW: Final = 0.2
"""The weight of the newest generation time in the mean."""


class GenerationTimes:
    """For each pipeline, the mean seconds for which it generates before it searches, and whether it reports its text
    meanwhile.
    """

    def __init__(self) -> None:
        self._means: dict[str, float] = {}
        self._refined: dict[str, bool] = {}

    def mean(self, pipeline: str) -> float | None:
        """Return the pipeline's mean generation time in seconds; None if none is known yet."""
        return self._means.get(pipeline)

    def is_refined(self, pipeline: str) -> bool:
        """Return whether the pipeline reports its text before it searches, so that half of the budget is saved for
        clusters near that text.
        """
        return self._refined.get(pipeline, False)

    def learn(self, pipeline: str, seconds: float, *, is_refined: bool) -> None:
        """Record a pipeline's generation time. If two threads call it at once, one time may be lost, which does no
        harm.
        """
        before = self._means.get(pipeline)
        self._means[pipeline] = seconds if before is None else exponential_mean(before, seconds)
        self._refined[pipeline] = is_refined


def exponential_mean(before: float, new: float) -> float:
    """Return the exponential moving mean after adding a new value."""
    return before + _NEW * (new - before)


def budget(question: int, rate: float, seconds: float | None, memory: int) -> tuple[int, int]:
    """Return the bytes of clusters to prefetch for a question, and how many of them may be read from disk.

    `question` is the size of the question's own clusters in bytes, `rate` the capped bandwidth in bytes a second,
    `seconds` the expected generation time. If `seconds` is None, all of these bytes may be read from disk; the search
    ends the reading.
    """
    ready = min(round(MOST_OF_OWN * question), memory)
    return ready, ready if seconds is None else min(ready, round(rate * seconds))


def within_budget(
    clusters: Iterable[int],
    size_of: Callable[[int], int],
    is_ready: Callable[[int], bool],
    ready: int,
    read: int,
) -> list[int]:
    """Return the first clusters of `clusters`, which is sorted nearest first, up to the first that does not fit into a
    budget of `ready` bytes in memory and `read` bytes from disk. Clusters in memory (`is_ready`) cost no reading.
    """
    chosen: list[int] = []
    for cluster in clusters:
        size = size_of(cluster)
        cost = 0 if is_ready(cluster) else size
        if size > ready or cost > read:
            break
        ready, read = ready - size, read - cost
        chosen.append(cluster)
    return chosen
