"""Exact nearest passages by cosine: every vector in memory, one matrix product. A personal store is small enough.

100,000 passages of 384 dimensions are 154 MB and about 10 ms a search. Knows no model and no text.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from storage.database import Database
from storage.knowledge import Ids

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Block:
    """Vectors as they were read: sorted passage ids, shape (n,), and unit vectors, shape (n, dimensions)."""

    ids: Ids
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class Cosines:
    """How near every passage is to a question: sorted passage ids, shape (n,), and their cosines, shape (n,)."""

    ids: Ids
    values: Vectors

    def best(self, count: int, *, among: Ids | None = None) -> Ids:
        """The `count` nearest passages, best first. `among` restricts them."""
        ids, values = self.ids, self.values
        if among is not None:
            allowed = np.isin(ids, among, kind="table")
            ids, values = ids[allowed], values[allowed]
        if len(ids) > count:
            best = np.argpartition(-values, count)[:count]
            ids, values = ids[best], values[best]
        return ids[np.lexsort((ids, -values))]

    def of(self, ids: Ids) -> Vectors:
        """The cosine of each of these passages; -1 for an unknown id."""
        found = np.full(len(ids), -1.0, np.float32)
        if len(self.ids):
            places = np.clip(np.searchsorted(self.ids, ids), 0, len(self.ids) - 1)
            known = self.ids[places] == ids
            found[known] = self.values[places[known]]
        return found


@dataclass(slots=True)
class VectorIndex:
    """The vectors of one database. Follows what this and other processes store; new vectors alone are read again."""

    database: Database
    dimensions: int
    _blocks: list[_Block] = field(default_factory=list)
    _version: tuple[int, int] | None = None

    def cosines(self, query: Vectors) -> "Cosines":
        """The cosine of every passage with the unit vector `query`."""
        self._refresh()
        if not self._blocks:
            return Cosines(np.empty(0, np.int64), np.empty(0, np.float32))
        ids = np.concatenate([block.ids for block in self._blocks])
        return Cosines(ids, np.concatenate([block.vectors @ query for block in self._blocks]))

    def _refresh(self) -> None:
        version = self.database.version()
        if version == self._version:
            return
        if self._blocks:
            self._drop_removed()
        # Ids are never used twice, so what is newer than the last one known is all there is to read.
        last = max((int(block.ids[-1]) for block in self._blocks), default=0)
        rows = self.database.execute(
            "SELECT passage_id, vector FROM vectors WHERE passage_id > ? ORDER BY passage_id", (last,)
        )
        if rows:
            ids = np.array([row[0] for row in rows], np.int64)
            data = np.frombuffer(b"".join(row[1] for row in rows), "<f4").astype(np.float32, copy=False)
            self._blocks.append(_Block(ids, data.reshape(len(ids), self.dimensions)))
        self._version = version

    def _drop_removed(self) -> None:
        # The ids come from an index of the passages, not from the pages that hold the vectors.
        alive = np.array([row[0] for row in self.database.execute("SELECT id FROM passages")], np.int64)
        kept = [(block, np.isin(block.ids, alive, kind="table")) for block in self._blocks]
        self._blocks = [
            block if keep.all() else _Block(block.ids[keep], block.vectors[keep]) for block, keep in kept if keep.any()
        ]
