"""Makes a file of clusters with a cache, and checks the cache while no search uses it."""

from collections.abc import Sequence
from pathlib import Path

from storage.cluster_cache import ClusterCache
from storage.list_file import ListFile
from storage.read_ahead import RATE


class Lists:
    """A file of clusters, each filled with a byte value of its own."""

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
        """Check that the clusters are read, in any order and each once."""
        assert sorted((cluster, bytes(data)) for cluster, data in cache.read_any(clusters)) == [
            (cluster, self.contents[cluster]) for cluster in sorted(set(clusters))
        ]


def check_nothing_is_held(cache: ClusterCache) -> None:
    """Check that no cluster is pinned, and that all memory is either free or holds a cluster, while no search runs."""
    residents = list(cache._residents)
    assert {resident.pins for resident in residents} <= {0}
    assert cache._residents.arena.runs.free + sum(resident.room for resident in residents) == cache.memory
