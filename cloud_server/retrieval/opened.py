"""A version of the index that is open: its vectors and its texts. It stays whole when another one becomes current."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.versions import IndexMetadata, read_facts
from shared.errors import StoreCorrupt
from shared.protocol.messages import PublicPassage
from storage.ivf import Ivf, probes_for
from storage.ivf_files import Numbers, Vectors
from storage.public_passages import PassageFiles

_SERIES_SHIFT = 32
"""A passage's id is its number in the index, and above that the series: ids of an index that was rebuilt differ."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """Safe for several threads."""

    facts: IndexMetadata
    vectors: Ivf
    passages: PassageFiles
    probes: int

    @classmethod
    def open(cls, folder: Path, memory: int, probes: int) -> "OpenIndex":
        """At most `memory` bytes of vectors are held; 0 `probes` are as many as suit it. Raises StoreCorrupt."""
        facts = read_facts(folder)
        vectors = Ivf(folder, memory)
        passages = PassageFiles([folder / name for name in facts.files])
        if not len(vectors) == len(passages) == facts.passages:
            raise StoreCorrupt(f"The files in {folder} do not belong together. Build the index again.")
        probes = probes or probes_for(vectors.clusters, len(vectors))
        return cls(facts, vectors, passages, min(probes, vectors.clusters))

    def probe(self, vector: Vector) -> Numbers:
        """The clusters that are searched for this vector, the nearest first."""
        return self.vectors.probe(vector, self.probes)

    def passages_of(self, numbers: Numbers, cosines: Vectors) -> list[PublicPassage]:
        """The passages of these numbers. Raises StoreCorrupt, StoreError."""
        rows = zip(numbers.tolist(), cosines.tolist(), strict=True)
        return [passage for number, cosine in rows if (passage := self._passage(number, cosine))]

    def passages_by_id(self, ids: Sequence[int]) -> list[PublicPassage]:
        """The passages of these ids, as near as can be; ids that are not there are left out."""
        numbers = [identity - (self.facts.series << _SERIES_SHIFT) for identity in ids]
        return [passage for number in numbers if (passage := self._passage(number, 1.0))]

    def _passage(self, number: int, cosine: float) -> PublicPassage | None:
        text = self.passages.read(number)
        if text is None:
            return None
        identity = (self.facts.series << _SERIES_SHIFT) + number
        return PublicPassage(identity, *text, similarity=cosine, score=min(max(cosine, 0.0), 1.0))
