"""The interface for making and describing an index; files in a folder and Milvus implement it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from cloud_server.retrieval.shards import Shard, ShardLayout, Shards
from cloud_server.retrieval.versions import EmbedderSource, IndexMetadata
from storage.rabitq_files import memory_missing

Stage = Literal["embedding", "importing", "clustering", "writing", "states"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a stage of work: `done` of `total` units of that stage. A unit is a byte or row of the sources, a
    training round, a passage assigned to its cluster, or a passage whose state is on disk.

    `passages` counts the passages so far that are new to the index, or have states.
    """

    stage: Stage
    done: int
    total: int
    passages: int


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """A version of an index: its name and its metadata."""

    name: str
    facts: IndexMetadata


@dataclass(frozen=True, slots=True)
class FinishedShards:
    """Finished shards, their plan, the version that they are added to (`base`; None for a new index), and the number of
    skipped files and lines.

    `model` and `relevance` go into the metadata of a new index; an extended index keeps its own.
    """

    shards: Shards
    finished: Sequence[Shard]
    plan: ShardLayout
    base: IndexVersion | None
    skipped: int
    model: EmbedderSource | None = None
    relevance: float | None = None

    @property
    def passages(self) -> int:
        """The number of passages in the shards."""
        return sum(shard.passages for shard in self.finished)


class Index(Protocol):
    """A folder or a Milvus database in which shards become a searchable index. Every method raises StoreError if the
    folder or database cannot be reached.
    """

    @property
    def folder(self) -> Path:
        """The folder of the shards under construction, and of the lock that allows only one process to make them."""

    def held(self) -> IndexVersion:
        """Return the current version of the index. Raises NothingFound, StoreCorrupt."""

    def describe(self) -> dict[str, object]:
        """Return the index's location and other facts to show to the user. Raises NothingFound, StoreCorrupt."""

    def publish(self, made: FinishedShards, on_progress: Callable[[Progress], None]) -> IndexMetadata:
        """Make the new passages searchable together with the current ones. After a kill, the same call repeats the
        publication.

        Raises NotWritable.
        """


def shortage(index: Index, memory_mb: float, sharing: int = 1) -> str:
    """Return a sentence for the user if the index needs more memory than all `sharing` processes together have, else an
    empty string.

    Raises NothingFound, StoreCorrupt.
    """
    needed = index.describe().get("memory_bytes")
    return memory_missing(needed, round(memory_mb * 1_000_000), sharing) if isinstance(needed, int) else ""
