"""The corpus that the server searches: the index in a folder, in whichever version is current. Implements `Corpus`.

A version that another process switches to is opened by the next question; searches under way end on the old one.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.versions import IndexMetadata, Versions, read_facts
from shared.errors import JackdawError, StoreCorrupt, UsageError
from shared.protocol.messages import PublicPassage
from storage.ivf import MEMORY, Ivf, probes_for
from storage.public_passages import PassageFiles

log = logging.getLogger(__name__)

_SERIES_SHIFT = 32
"""A passage's id is its number in the index, and above that the series: ids of an index that was rebuilt differ."""

_ATTEMPTS = 5
"""Times that a version is opened which another process deletes meanwhile."""


@dataclass(frozen=True, slots=True)
class _Opened:
    facts: IndexMetadata
    vectors: Ivf
    passages: PassageFiles

    @classmethod
    def open(cls, folder: Path, memory: int) -> "_Opened":
        facts = read_facts(folder)
        opened = cls(facts, Ivf(folder, memory), PassageFiles([folder / name for name in facts.files]))
        if not len(opened.vectors) == len(opened.passages) == facts.passages:
            raise StoreCorrupt(f"The files in {folder} do not belong together. Build the index again.")
        return opened


class IndexCorpus:
    """Passages by the nearness of their vectors, in clusters. Safe for several threads.

    Where there is no index it is empty until there is one; `refresh` tells why.
    """

    def __init__(self, folder: Path, embedder: str, probes: int = 0, memory: int = MEMORY) -> None:
        """At most `memory` bytes of vectors are held; 0 `probes` are as many as suit the index."""
        self._versions = Versions(folder)
        self._embedder = embedder
        self._probes = probes
        self._memory = memory
        self._opened: _Opened | None = None
        self._mark: tuple[int, int] | None = None
        self._opening = Lock()

    @property
    def embedder(self) -> str:
        """Fingerprint of the embedder that made the vectors, and has to make those of questions."""
        return self._embedder

    @property
    def facts(self) -> IndexMetadata | None:
        """What the version is that is searched."""
        opened = self._current()
        return opened.facts if opened else None

    def __len__(self) -> int:
        opened = self._current()
        return len(opened.passages) if opened else 0

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """The nearest passages, best first; `vector` is a unit vector of the same embedder."""
        opened = self._current()
        if opened is None or most < 1:
            return []
        vectors = opened.vectors
        probes = min(self._probes or probes_for(vectors.clusters, len(vectors)), vectors.clusters)
        numbers, cosines = vectors.scan(vectors.probe(vector, probes), vector, most)
        return [
            passage
            for number, cosine in zip(numbers.tolist(), cosines.tolist(), strict=True)
            if (passage := _passage(opened, number, cosine))
        ]

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """The passages of these ids, in their order, as near as can be; ids that are not there are left out."""
        opened = self._current()
        if opened is None:
            return []
        numbers = [row - (opened.facts.series << _SERIES_SHIFT) for row in ids]
        return [passage for number in numbers if (passage := _passage(opened, number, 1.0))]

    def prefetch(self, vector: Vector) -> None:
        """Nothing: a cluster is read when a question asks for it."""

    def refresh(self) -> None:
        """Open the current version, if it is not open yet.

        Raises NothingFound where there is no index, StoreCorrupt for one that cannot be read, UsageError for one of
        another embedder. What was open stays so.
        """
        with self._opening:
            mark = self._versions.mark()
            if mark is not None and mark == self._mark:
                return
            try:
                self._opened = self._open()
            finally:  # not before: whoever searches meanwhile waits for it; nor is what cannot be opened tried again
                self._mark = mark

    def _current(self) -> _Opened | None:
        if self._versions.mark() != self._mark:
            try:
                self.refresh()
            except JackdawError as error:
                log.error("the index cannot be opened", extra={"detail": str(error)})  # noqa: TRY400
        return self._opened

    def _open(self) -> _Opened:
        folder = self._versions.current()
        for _ in range(_ATTEMPTS):
            try:
                opened = _Opened.open(folder, self._memory)
                break
            except StoreCorrupt:
                before, folder = folder, self._versions.current()
                if folder == before:
                    raise
        else:
            raise StoreCorrupt(f"The index in {self._versions.folder} changes all the time. Try again.")
        if opened.facts.embedder != self._embedder:
            raise UsageError(
                f"The index was made with the embedder {opened.facts.embedder}, and the server uses {self._embedder}. "
                "Build it again, or choose that embedder."
            )
        return opened


def _passage(opened: _Opened, number: int, cosine: float) -> PublicPassage | None:
    text = opened.passages.read(number)
    if text is None:
        return None
    identity = (opened.facts.series << _SERIES_SHIFT) + number
    return PublicPassage(identity, *text, similarity=cosine, score=min(max(cosine, 0.0), 1.0))
