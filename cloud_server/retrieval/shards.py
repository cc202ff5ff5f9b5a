"""The shards of an index under construction, a few thousand passages each: finished shards survive a killed process.

A plan says what the shards are made from; shards of another plan cannot be used. Independent of the index.
"""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import MsgspecError, Struct, json

from cloud_server.retrieval.sources import Position, Skipped, SourceFile
from storage.durable import settle, write_durably
from storage.private import private_folder, to_be_written
from storage.public_passages import PassageText, write_passages

Vectors = npt.NDArray[np.float32]

PASSAGES = 4096
"""Passages in a shard: about a minute of embedding on two cores."""


class ShardLayout(Struct, frozen=True, omit_defaults=True):
    """The plan of shards, which says what they are made from. `words` is the length of a passage, 0 for imported ones;
    `base` is the name of the version that they extend, None for a new index.

    `imported` says how imported vectors and texts were read; "" if the texts were embedded here.
    """

    embedder: str
    dimensions: int
    words: int
    sources: tuple[SourceFile, ...]
    base: str | None
    imported: str = ""


class Shard(Struct, frozen=True, omit_defaults=True):
    """A finished shard: how many passages it has, the position in the sources after it, and the records that were
    skipped.

    For imported shards, `normalised` counts vectors that were not of unit length, and `cut` texts that were too long.
    """

    passages: int
    after: Position
    skipped: tuple[Skipped, ...]
    normalised: int = 0
    cut: int = 0


class Shards:
    """The shards in a folder, and their plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._plan = folder / "plan.json"

    def begin(self, plan: ShardLayout) -> str:
        """Keep the finished shards if they were made by the given plan; otherwise delete them and return how the plans
        differ.

        Return "" if nothing was deleted. Raises NotWritable.
        """
        earlier = self._read_plan()
        if earlier == plan:
            return ""
        lost = bool(self.finished())
        self.clear()
        private_folder(self.folder)
        write_durably(self._plan, [json.encode(plan)])
        return _difference(earlier, plan) if earlier and lost else ""

    def clear(self) -> None:
        """Delete all shards, and first of all their plan: after a kill in between, the remaining shards belong to no
        plan.

        Raises NotWritable.
        """
        with to_be_written(f"delete {self.folder}"):
            if self.folder.exists():
                self._plan.unlink(missing_ok=True)
                settle(self.folder)
                shutil.rmtree(self.folder)

    def finished(self) -> list[Shard]:
        """Return the finished shards, in order from number 0 up to the first that is missing or unreadable."""
        shards: list[Shard] = []
        while True:
            try:
                shards.append(json.decode(self._fact_file(len(shards)).read_bytes(), type=Shard))
            except (OSError, MsgspecError):
                return shards

    def write(self, number: int, shard: Shard, passages: Sequence[PassageText], vectors: Vectors) -> None:
        """Store a finished shard durably, as the one with this number. Raises NotWritable."""
        write_passages(self.passage_file(number), passages)
        write_durably(self._vector_file(number), [np.ascontiguousarray(vectors, "<f4").data])
        settle(self.folder)
        write_durably(self._fact_file(number), [json.encode(shard)])  # last, as it marks the shard as finished

    def passage_file(self, number: int) -> Path:
        """Return the file with the passages of a finished shard."""
        return self.folder / f"{number:06}.passages"

    def vectors(self, number: int, dimensions: int) -> Vectors:
        """Return the vectors of a finished shard, shape (passages, dimensions)."""
        return np.fromfile(self._vector_file(number), "<f4").astype(np.float32, copy=False).reshape(-1, dimensions)

    def sample(self, shards: Sequence[Shard], dimensions: int, most: int) -> Iterator[Vectors]:
        """Yield about `most` vectors of all shards, drawn uniformly with a fixed seed, in one array per shard."""
        chance = np.random.default_rng(1)
        left, missing = sum(shard.passages for shard in shards), most
        for number, shard in enumerate(shards):
            vectors = self.vectors(number, dimensions)
            taken = -(-missing * shard.passages // max(left, 1)) if left > missing else shard.passages
            yield vectors if taken >= len(vectors) else vectors[chance.choice(len(vectors), taken, replace=False)]
            left, missing = left - shard.passages, missing - taken

    def _read_plan(self) -> ShardLayout | None:
        try:
            return json.decode(self._plan.read_bytes(), type=ShardLayout)
        except (OSError, MsgspecError):
            return None

    def _vector_file(self, number: int) -> Path:
        return self.folder / f"{number:06}.vectors"

    def _fact_file(self, number: int) -> Path:
        return self.folder / f"{number:06}.json"


def _difference(earlier: ShardLayout, plan: ShardLayout) -> str:
    if earlier.embedder != plan.embedder:
        return f"the embedder is {plan.embedder} now; it was {earlier.embedder}"
    if earlier.imported != plan.imported:
        return "vectors and texts were read in another way"
    if earlier.base != plan.base:
        return "it was for another version of the index"
    before = {file.path: file for file in earlier.sources}
    for file in plan.sources:
        if before.pop(file.path, file) != file:
            return f"{file.path} has changed"
    return "other sources are named"
