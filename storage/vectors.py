"""Exact nearest-neighbour search by cosine: all vectors are in memory, and a search is one matrix product. Suits the
size of a personal store.

100,000 passages of 384 dimensions take 154 MB and about 10 ms per search. Independent of models and texts.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from storage.database import Database
from storage.passages import Ids

Vectors = npt.NDArray[np.float32]

_SMALL = 4096
"""The rows below which a block is merged with the next one, so that rows added one by one stay in few blocks."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of vectors: sorted passage ids, shape (n,), and unit vectors, shape (n, dimensions)."""

    ids: Ids
    vectors: Vectors

    def followed_by(self, newer: "_Block") -> "_Block":
        """Return this block and the next one, merged into one."""
        return _Block(np.concatenate([self.ids, newer.ids]), np.concatenate([self.vectors, newer.vectors]))


@dataclass(frozen=True, slots=True)
class Cosines:
    """The similarity of every row to a query: sorted ids, shape (n,), and cosines, shape (n,)."""

    ids: Ids
    values: Vectors

    def best(self, count: int, *, among: Ids | None = None) -> Ids:
        """Return the ids of the `count` nearest rows, best first. `among` restricts the rows."""
        ids, values = self.ids, self.values
        if among is not None:
            allowed = np.isin(ids, among, kind="table")
            ids, values = ids[allowed], values[allowed]
        if len(ids) > count:
            best = np.argpartition(-values, count)[:count]
            ids, values = ids[best], values[best]
        return ids[np.lexsort((ids, -values))]

    def of(self, ids: Ids) -> Vectors:
        """Return the cosines of the rows with the given ids, in the order of the ids; -1 for an unknown id."""
        similarities = np.full(len(ids), -1.0, np.float32)
        if len(self.ids):
            places = np.clip(np.searchsorted(self.ids, ids), 0, len(self.ids) - 1)
            known = self.ids[places] == ids
            similarities[known] = self.values[places[known]]
        return similarities


@dataclass(frozen=True, slots=True)
class Table:
    """A table of vectors: its name, its id column, and the name of the table whose rows have these vectors."""

    name: str
    key: str
    owner: str


PASSAGES = Table("vectors", "passage_id", "passages")
QA_BANK = Table("qa_vectors", "entry_id", "qa_entries")


@dataclass(slots=True)
class VectorIndex:
    """The vectors of one table, held in memory. Changes by this and other processes are noticed; only new vectors are
    read again.
    """

    database: Database
    table: Table = PASSAGES
    _blocks: list[_Block] = field(default_factory=list)
    _version: tuple[int, int] | None = None
    _removed: int = -1

    def cosines(self, query: Vectors) -> "Cosines":
        """Return the cosine of every row with the unit vector `query`."""
        self._refresh()
        if not self._blocks:
            return Cosines(np.empty(0, np.int64), np.empty(0, np.float32))
        ids = np.concatenate([block.ids for block in self._blocks])
        return Cosines(ids, np.concatenate([block.vectors @ query for block in self._blocks]))

    def _refresh(self) -> None:
        version = self.database.version()
        if version == self._version:
            return
        self._drop_removed()
        # Ids are never reused, so that only ids above the last known one are new.
        last = max((int(block.ids[-1]) for block in self._blocks), default=0)
        rows = self.database.execute(
            f"SELECT {self.table.key}, vector FROM {self.table.name} WHERE {self.table.key} > ? "
            f"ORDER BY {self.table.key}",
            (last,),
        )
        if rows:
            ids = np.array([row[0] for row in rows], np.int64)
            data = np.frombuffer(b"".join(row[1] for row in rows), "<f4").astype(np.float32, copy=False)
            fresh = _Block(ids, data.reshape(len(ids), -1))
            if self._blocks and len(self._blocks[-1].ids) < _SMALL:
                fresh = self._blocks.pop().followed_by(fresh)
            self._blocks.append(fresh)
        self._version = version

    def _drop_removed(self) -> None:
        ((removed,),) = self.database.execute("SELECT count FROM removals WHERE name = ?", (self.table.owner,))
        before, self._removed = self._removed, removed
        if before == removed or not self._blocks:
            return
        # The ids come from an index of the owner's table, not from the pages of vectors.
        alive = np.array([row[0] for row in self.database.execute(f"SELECT id FROM {self.table.owner}")], np.int64)
        kept = [(block, np.isin(block.ids, alive, kind="table")) for block in self._blocks]
        self._blocks = [
            block if keep.all() else _Block(block.ids[keep], block.vectors[keep]) for block, keep in kept if keep.any()
        ]
