"""The interface of a corpus of public passages, implemented with FAISS files and with Milvus."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from cloud_server.monitoring.load import VectorUse
from shared.protocol.messages import PublicPassage

Vector = npt.NDArray[np.float32]
"""A unit vector, shape (dimensions,)."""

MOST_PROVISIONAL: Final = 3
"""The most passages that are prefilled for a question before its search is over."""


class Ticket(Protocol):
    """The look-ahead for one question (TeleRAG, section 4): prefetches clusters while a pipeline rewrites the
    question.
    """

    def starts(self) -> None:
        """Record that the model begins to write, so that its time in the queue does not count as writing time.

        Returns at once.
        """

    def refine(self, vector: Vector) -> None:
        """Continue the look-ahead near another vector, that of the text written so far."""

    def provisional(self, most: int) -> list[PublicPassage]:
        """Return at most `most` passages that the search will probably return, best first; none while too few clusters
        are in memory.
        """

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the `most` passages nearest to the question's final vector, as `Corpus.search` does.

        It is faster than `Corpus.search`, as clusters near the vector have been prefetched. The prefetching ends.
        """

    def close(self) -> None:
        """Stop the prefetching, and release the clusters held in memory for the question."""


class Corpus(Protocol):
    """The interface of a corpus: public passages, searched by the nearness of their vectors. Thread-safe."""

    @property
    def embedder(self) -> str:
        """The fingerprint of the embedder that made the vectors."""

    def __len__(self) -> int:
        """Return the number of passages."""

    def vector_use(self) -> VectorUse:
        """Return the memory that the vectors take on this machine and the bytes that were read from disk for them;
        zeros if another service stores the vectors.
        """

    def relieve(self) -> None:
        """Give memory of the vectors back if the machine is short of it. May be called by any thread."""

    def refresh(self) -> None:
        """Open the current index, if it is not open yet. Raises NothingFound if there is none; StoreError or UsageError
        if it cannot be searched.
        """

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return the `most` nearest passages, best first. `vector` is a unit vector of the same embedder."""

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """Return the passages with the given ids, in the order of the ids; unknown ids are left out."""

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[PublicPassage]]:
        """Search for several vectors at once, each as `search` does; a cluster that several need is read once."""

    def provisional(self, vector: Vector, most: int) -> list[PublicPassage]:
        """Return at most `most` passages that a running search will probably return, best first, without waiting for
        it; none while too few of its clusters are in memory.
        """

    def look_ahead(self, vector: Vector, pipeline: str) -> Ticket:
        """Prefetch the clusters that a search near the given vector will read, while the question's final text is still
        being written.

        `pipeline` names the pipeline that writes the text; the time that it takes is learned per pipeline.
        """
