"""The corpus that the server searches: the index in a folder, in whichever version is current. Implements `Corpus`.

A version that another process switches to is opened by the next question; searches under way end on the old one.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock

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
"""Times that a version is opened which another process deletes meanwhile."""


class IndexCorpus:
    """Passages by the nearness of their vectors, in clusters. Safe for several threads.

    Where there is no index it is empty until there is one; `refresh` tells why.
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
        """At most `memory` bytes of vectors are held, and some on a `gpu`; 0 `probes` are as many as suit the index."""
        self._versions = Versions(folder)
        self._embedder = embedder
        self._probes = probes
        self._memory, self._mode, self._gpu = memory, mode, gpu
        self._times = GenerationTimes()
        self._searcher = Searcher()
        self._opened: OpenIndex | None = None
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
        return self.search_many([vector], most)[0]

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[PublicPassage]]:
        """The same for each of them, together: a cluster is read once for all that ask for it."""
        opened = self._current()
        if opened is None or most < 1 or not vectors:
            return [[] for _ in vectors]
        return self._search(opened, vectors, most)

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """The passages of these ids, in their order, as near as can be; ids that are not there are left out."""
        opened = self._current()
        return opened.passages_by_id(ids) if opened else []

    def look_ahead(self, vector: Vector, pipeline: str) -> IndexTicket:
        """Read near this vector while the pipeline writes what will be asked in the end."""
        ticket = IndexTicket(self._current, self._search, self._times, pipeline, self._mode)
        ticket.begin(vector)
        return ticket

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

    def _search(
        self, index: OpenIndex, vectors: Sequence[Vector], most: int, probed: Sequence[Numbers] | None = None
    ) -> list[list[PublicPassage]]:
        return [index.passages_of(*hits) for hits in self._searcher.search(index, vectors, most, probed)]

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
                "Start the server again to use that one, or build the index again."
            )
        return opened
