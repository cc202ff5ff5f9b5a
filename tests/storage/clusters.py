"""A file of clusters and a cache of it, and what has to hold when nobody uses that."""

from collections.abc import Sequence
from pathlib import Path

from storage.cluster_cache import ClusterCache
from storage.list_file import ListFile
from storage.read_ahead import RATE


class Lists:
    """A file of clusters, each of bytes of its own."""

    def __init__(self, folder: Path, sizes: Sequence[int]) -> None:
        self.contents = [bytes([cluster % 251 + 1]) * size for cluster, size in enumerate(sizes)]
        self.starts = [sum(sizes[:cluster]) for cluster in range(len(sizes))]
        self.path = folder / "lists"
        self.path.write_bytes(b"".join(self.contents))

    def cache(self, memory: int, file: ListFile | None = None, rate: float = RATE) -> ClusterCache:
        file = file or ListFile(self.path, sum(map(len, self.contents)))
        return ClusterCache(file, lambda cluster: (self.starts[cluster], len(self.contents[cluster])), memory, rate)

    def check(self, cache: ClusterCache, clusters: Sequence[int]) -> None:
        assert [(cluster, bytes(data)) for cluster, data in cache.read(clusters)] == [
            (cluster, self.contents[cluster]) for cluster in clusters
        ]

    def check_any(self, cache: ClusterCache, clusters: Sequence[int]) -> None:
        """The same, in any order and each once."""
        assert sorted((cluster, bytes(data)) for cluster, data in cache.read_any(clusters)) == [
            (cluster, self.contents[cluster]) for cluster in sorted(set(clusters))
        ]


def check_nothing_is_held(cache: ClusterCache) -> None:
    """No question is under way: nothing is pinned, and all memory is free or holds a cluster."""
    residents = list(cache._residents)
    assert {resident.pins for resident in residents} <= {0}
    assert cache._residents.arena.runs.free + sum(resident.room for resident in residents) == cache.memory
