"""What the server asks of a corpus of public passages: FAISS files here, or Milvus."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from shared.protocol.messages import PublicPassage

Vector = npt.NDArray[np.float32]
"""Shape (dimensions,), of length 1."""


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

    def prefetch(self, vector: Vector) -> None:
        """Make ready what a search near this vector will read (TeleRAG, section 4); it may do nothing."""
