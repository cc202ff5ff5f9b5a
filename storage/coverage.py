"""How much of what a question needed had been read ahead."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from storage.residents import Residents


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the clusters that a question needed was in memory when it was searched.

    `ready` of the `clusters`, with `bytes_ready` of their `bytes`, were in memory. `bytes_ahead` were read ahead for
    the question; `bytes_wasted` of them were not needed.
    """

    clusters: int
    ready: int
    bytes: int
    bytes_ready: int
    bytes_ahead: int
    bytes_wasted: int


def covered(residents: Residents, needed: Collection[int], ahead: Mapping[int, int]) -> Coverage:
    """Return the coverage of the needed clusters. `ahead` holds the bytes of each cluster that was read ahead for the
    question.
    """
    ready = [cluster for cluster in needed if residents.is_ready(cluster)]
    return Coverage(
        len(needed),
        len(ready),
        sum(residents.extent(cluster)[1] for cluster in needed),
        sum(residents.extent(cluster)[1] for cluster in ready),
        sum(ahead.values()),
        sum(size for cluster, size in ahead.items() if cluster not in needed),
    )
