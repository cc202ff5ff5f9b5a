"""An open version of the index: its vectors and its texts. It stays usable after another version becomes current."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cloud_server.monitoring.load import VectorUse
from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.gpu import GpuFailed, GpuTier
from cloud_server.retrieval.versions import IndexMetadata, read_facts
from shared.errors import StoreCorrupt, StoreError
from shared.protocol.messages import PublicPassage
from storage.ivf import Ivf, probes_for
from storage.ivf_files import Numbers, Vectors
from storage.public_passages import PassageFiles
from storage.rabitq import RabitqSearch

log = logging.getLogger(__name__)

_SERIES_SHIFT = 32
"""The number of bits of a passage's id that hold its number.

The bits above hold the index's series: a number that changes when the index is rebuilt, so that its passages get new
ids.
"""


@dataclass(frozen=True, slots=True)
class StoredPassages:
    """The texts of a version of the index, without its vectors.

    `series` (see `IndexMetadata`) is the upper part of the passages' ids.
    """

    series: int
    files: PassageFiles

    @classmethod
    def open(cls, folder: Path) -> "StoredPassages":
        """Open the texts of the version in a folder. Raises StoreCorrupt."""
        facts = read_facts(folder)
        return cls(facts.series, PassageFiles([folder / name for name in facts.files]))

    def number(self, identity: int) -> int | None:
        """Return the number of the passage with the given id; None if the id belongs to another index."""
        number = identity - (self.series << _SERIES_SHIFT)
        return number if 0 <= number < len(self.files) else None

    def read(self, number: int) -> PublicPassage | None:
        """Return the passage with the given number, with a similarity of 1.0; None if there is no such passage. Raises
        StoreCorrupt, StoreError.
        """
        text = self.files.read(number)
        return text and PublicPassage((self.series << _SERIES_SHIFT) + number, *text, similarity=1.0, score=1.0)


@dataclass(slots=True, eq=False)
class OpenIndex:
    """An open version of the index. Thread-safe. If it has RaBitQ `codes` (short forms of the vectors, in memory),
    searches scan the codes instead of the vectors. `codes` may be set to None at any time, to free their memory;
    searches then scan the vectors, which is exact.
    """

    facts: IndexMetadata
    vectors: Ivf
    passages: PassageFiles
    probes: int
    gpu: GpuTier | None = None
    codes: RabitqSearch | None = None

    @classmethod
    def open(cls, folder: Path, memory: int, probes: int, gpu: Callable[[Ivf], GpuTier] | None = None) -> "OpenIndex":
        """Open the version in a folder, with at most `memory` bytes of vectors or codes in memory. If `probes` is 0,
        the default number of clusters is searched.

        `gpu` makes the GPU tier, which is not used if it lacks memory or the index has codes. Raises StoreCorrupt,
        StoreError, and UsageError if the codes need more memory.
        """
        facts = read_facts(folder)
        vectors = Ivf(folder, memory)
        codes = RabitqSearch(vectors, memory) if vectors.files.codec == "rabitq" else None
        passages = PassageFiles([folder / name for name in facts.files])
        if not len(vectors) == len(passages) == facts.passages:
            raise StoreCorrupt(f"The files in {folder} do not belong together. Build the index again.")
        probes = probes or probes_for(vectors.clusters, len(vectors))
        tier = None
        if gpu and codes:
            gpu = None
            log.warning("retrieval.gpu_mb is not used: the codec of the index is rabitq, whose codes are in memory")
        try:
            tier = gpu(vectors) if gpu else None
        except StoreError as error:
            log.error("the index is searched without a GPU", extra={"detail": str(error)})  # noqa: TRY400
        return cls(facts, vectors, passages, min(probes, vectors.clusters), tier, codes)

    def vector_use(self) -> VectorUse:
        """Return the memory that the vectors take, and the bytes that were read from disk for them."""
        cache, codes = self.vectors.cache, self.codes
        return VectorUse(cache.used + (codes.memory if codes else 0), cache.bytes_read)

    def probe(self, vector: Vector) -> Numbers:
        """Return the clusters to search for a vector, nearest first."""
        return self.vectors.probe(vector, self.probes)

    def needed(self, probed: Numbers) -> list[int]:
        """Return which clusters a search needs in memory; none if the search scans codes."""
        if self.codes:
            return []
        return [cluster for cluster in self.vectors.present(probed) if not self.is_on_gpu(cluster)]

    def is_in_memory(self, probed: Sequence[Numbers]) -> bool:
        """Return whether a search in the given clusters reads none of them from disk; never, if it scans codes, as the
        best candidates' vectors are read then.
        """
        needed = [cluster for clusters in probed for cluster in self.needed(clusters)]
        return self.codes is None and self.vectors.cache.are_ready(needed)

    def scan_ready(self, vector: Vector, k: int) -> tuple[Numbers, Vectors]:
        """Return numbers and inner products of the `k` nearest vectors, only in clusters that are in memory or on the
        GPU.

        Raises StoreCorrupt, StoreError.
        """
        probed = self.probe(vector)
        if self.gpu is None:
            return self.vectors.scan_ready(probed, vector, k)
        ready = np.array([cluster for cluster in probed.tolist() if self.is_near(cluster)], np.int64)
        return self.scan_many([ready], vector[None], k)[0]

    def provisional(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the `most` nearest passages in the clusters read so far, once the nearer half of the question's
        clusters is read; before that, none.

        For 90% of 600 questions, the nearer half contained the three best passages. An index with codes never returns
        any, as its searches read little. Raises StoreCorrupt, StoreError.
        """
        probed = self.vectors.present(self.probe(vector))
        nearer = probed[: -(-len(probed) // 2)]
        return self.passages_of(*self.scan_ready(vector, most)) if all(map(self.is_near, nearer)) else []

    def is_near(self, cluster: int) -> bool:
        """Return whether a cluster can be scanned without reading the disk."""
        return self.vectors.cache.is_ready(cluster) or self.is_on_gpu(cluster)

    def is_on_gpu(self, cluster: int) -> bool:
        """Return whether a cluster can be scanned on the GPU."""
        return self.gpu is not None and self.gpu.is_here(cluster)

    def scan_many(self, probed: Sequence[Numbers], vectors: Vectors, k: int) -> list[tuple[Numbers, Vectors]]:
        """Search for several vectors as `Ivf.scan_many` does, with the GPU if it works; by codes, if the index has
        codes.

        Raises the errors of `Ivf.scan_many` and `RabitqSearch.scan`.
        """
        if search := self.codes:
            return [search.scan(clusters, vector, k) for clusters, vector in zip(probed, vectors, strict=True)]
        try:
            return self.vectors.scan_many(probed, vectors, k, self.gpu)
        except GpuFailed:
            return self.vectors.scan_many(probed, vectors, k)

    def passages_of(self, numbers: Numbers, cosines: Vectors) -> list[PublicPassage]:
        """Return the passages with the given numbers, with their cosines. Raises StoreCorrupt, StoreError."""
        rows = zip(numbers.tolist(), cosines.tolist(), strict=True)
        return [passage for number, cosine in rows if (passage := self._passage(number, cosine))]

    def passages_by_id(self, ids: Sequence[int]) -> list[PublicPassage]:
        """Return the passages with these ids, with a similarity of 1.0; unknown ids are left out."""
        numbers = [identity - (self.facts.series << _SERIES_SHIFT) for identity in ids]
        return [passage for number in numbers if (passage := self._passage(number, 1.0))]

    def _passage(self, number: int, cosine: float) -> PublicPassage | None:
        text = self.passages.read(number)
        if text is None:
            return None
        identity = (self.facts.series << _SERIES_SHIFT) + number
        return PublicPassage(identity, *text, similarity=cosine, score=min(max(cosine, 0.0), 1.0))
