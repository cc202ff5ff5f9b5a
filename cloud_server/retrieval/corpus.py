"""What the server asks of a corpus of public passages: FAISS files here, or Milvus."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shared.protocol.messages import PublicPassage

Vector = npt.NDArray[np.float32]
"""Shape (dimensions,), of length 1."""


class Ticket(Protocol):
    """One question's look-ahead (TeleRAG, section 4). Closed when the question is over, whether it was asked or not."""

    def starts(self) -> None:
        """The model writes its first token now: time before, in the queue, is not what writing takes. No wait."""

    def refine(self, vector: Vector) -> None:
        """The final form will be near this: the vector of what has been written so far."""

    def provisional(self, most: int) -> list[PublicPassage]:
        """The nearest passages among what is ready, best first: those that the search will probably give. No wait."""

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """The final form: what `Corpus.search` gives, sooner."""

    def close(self) -> None:
        """Nothing more is read or kept for the question."""


class Corpus(Protocol):
    """Passages by the nearness of their vectors. Safe to be asked by several threads."""

    @property
    def embedder(self) -> str:
        """Fingerprint of the embedder that made the vectors."""

    def __len__(self) -> int:
        """Passages in it."""

    def search(self, vector: Vector, most: int) -> list[PublicPassage]:
        """The nearest passages, best first; `vector` is a unit vector of the same embedder."""

    def passages(self, ids: Sequence[int]) -> list[PublicPassage]:
        """The passages of these ids, in their order; ids that are not there are left out."""

    def search_many(self, vectors: Sequence[Vector], most: int) -> list[list[PublicPassage]]:
        """The same as `search` for each of them, together: what several of them ask for is read once."""

    def look_ahead(self, vector: Vector, pipeline: str) -> Ticket:
        """Make ready what a search near this vector will read, while the question's final form is still being written.

        `pipeline` names who writes it: how long that takes is learned.
        """
