"""Searches the current version of the index in a folder. Implements `Corpus`.

After another process switches to a new version, the next question opens it; running searches end on the old one.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

from cloud_server.monitoring.load import VectorUse
from cloud_server.retrieval.corpus import Vector
from cloud_server.retrieval.gpu import GpuTier
from cloud_server.retrieval.lookahead import GenerationTimes, LookaheadMode
from cloud_server.retrieval.opened import OpenIndex
from cloud_server.retrieval.searcher import Searcher
from cloud_server.retrieval.tickets import IndexTicket
from cloud_server.retrieval.versions import IndexMetadata, Versions
from shared.errors import JackdawError, StoreCorrupt, UsageError
from shared.protocol.messages import PublicPassage
from storage.ivf import MEMORY, Ivf
from storage.ivf_files import Numbers

log = logging.getLogger(__name__)

_ATTEMPTS = 5
"""Attempts to open the current version, which another process may delete meanwhile."""


class IndexCorpus:
    """Passages in clusters, searched by the nearness of their vectors. Thread-safe.

    Without an index, the corpus is empty until one is built; the error that `refresh` raises says why.
    """

    def __init__(
        self,
        folder: Path,
        embedder: str,
        probes: int = 0,
        memory: int = MEMORY,
        mode: LookaheadMode = "progressive",
        gpu: Callable[[Ivf], GpuTier] | None = None,
    ) -> None:
        """Create the corpus.

        At most `memory` bytes of vectors are held in memory, and some on a `gpu`. `probes` is the number of clusters
        that a search reads; 0 chooses it by the index's size.
        """
        self._versions = Versions(folder)
        self._embedder = embedder
        self._probes = probes
        self._memory, self._mode, self._gpu = memory, mode, gpu
        self._times = GenerationTimes()
        self._reading, self._in_memory = Searcher(), Searcher()
        self._opened: OpenIndex | None = None
        self._mark: tuple[int, int] | None = None
        self._failure: JackdawError | None = None  # of opening the version with this mark
        self._opening = Lock()

    @property
    def embedder(self) -> str:
        """The fingerprint of the embedder that made the vectors, and that has to embed the questions."""
        return self._embedder

    @property
    def facts(self) -> IndexMetadata | None:
        """The metadata of the current version; None if there is no index."""
        opened = self._current()
        return opened.facts if opened else None

    def __len__(self) -> int:
        opened = self._current()
        return len(opened.passages) if opened else 0

    def vector_use(self) -> VectorUse:
        """Return the memory that the open version's vectors take, and the bytes that were read from disk for them."""
        opened = self._opened
        return opened.vector_use() if opened else VectorUse()

    def relieve(self) -> None:
        """Give memory of the open version's vectors back if the machine is short of it."""
        if opened := self._opened:
            opened.vectors.cache.relieve()

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the `most` nearest passages, best first. `vector` is a unit vector of the same embedder."""
        return self.search_many([vector], most)[0]

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[PublicPassage]]:
        """Search for several vectors at once, each as `search` does; a cluster that several need is read once."""
        opened = self._current()
        if opened is None or most < 1 or not vectors:
            return [[] for _ in vectors]
        return self._search(opened, vectors, most)

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """Return the passages with the given ids, in the order of the ids; unknown ids are left out."""
        opened = self._current()
        return opened.passages_by_id(ids) if opened else []

    def provisional(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the nearest passages of the clusters in memory, once the nearer half of the question's clusters is in
        memory; before that, none.
        """
        opened = self._current()
        return opened.provisional(vector, most) if opened and most > 0 else []

    def look_ahead(self, vector: Vector, pipeline: str) -> IndexTicket:
        """Prefetch clusters near the given vector while the pipeline writes the question's final text."""
        ticket = IndexTicket(self._current, self._search, self._times, pipeline, self._mode)
        ticket.begin(vector)
        return ticket

    def refresh(self) -> None:
        """Open the current version, if it is not open yet. On an error, the version that is open stays open, but
        without its RaBitQ codes, which are freed first so that two versions' codes are never in memory.

        Raises NothingFound if there is no index, StoreCorrupt if it cannot be read, UsageError if another embedder made
        it. A failed version is not retried: its error is raised again.
        """
        with self._opening:
            mark = self._versions.mark()
            if mark is None or mark != self._mark:
                self._failure = None
                if self._opened:
                    self._opened.codes = None  # freed as soon as no search scans them
                try:
                    self._opened = self._open()
                except JackdawError as error:
                    self._failure = error
                finally:  # set afterwards: others wait for the opening
                    self._mark = mark
            if self._failure:
                raise self._failure

    def _search(
        self, index: OpenIndex, vectors: Sequence[Vector], most: int, probed: Sequence[Numbers] | None = None
    ) -> list[list[PublicPassage]]:
        """Search in the `probed` clusters; if these are not given, in the nearest ones.

        Searches whose clusters are in memory have a searcher of their own, so that they do not wait while groups of
        others wait for the disk. A cluster that is evicted meanwhile is read all the same.
        """
        probed = probed or [index.probe(vector) for vector in vectors]
        searcher = self._in_memory if index.is_in_memory(probed) else self._reading
        return [index.passages_of(*hits) for hits in searcher.search(index, vectors, most, probed)]

    def _current(self) -> OpenIndex | None:
        if self._versions.mark() != self._mark:
            try:
                self.refresh()
            except JackdawError as error:
                log.error("the index cannot be opened", extra={"detail": str(error)})  # noqa: TRY400
        return self._opened

    def _open(self) -> OpenIndex:
        folder = self._versions.current()
        for _ in range(_ATTEMPTS):
            try:
                opened = OpenIndex.open(folder, self._memory, self._probes, self._gpu)
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
                "Restart the server to use the index's embedder, or build the index again."
            )
        return opened
