"""An index as it is made and looked at: files in a folder, or Milvus. Knows no source."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from cloud_server.retrieval.shards import Shard, ShardLayout, Shards
from cloud_server.retrieval.versions import EmbedderSource, IndexMetadata

Stage = Literal["embedding", "importing", "clustering", "writing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is: bytes or rows of the sources, rounds of training, passages placed. `passages` are new."""

    stage: Stage
    done: int
    total: int
    passages: int


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """What an index holds: the version's name, and what it is."""

    name: str
    facts: IndexMetadata


@dataclass(frozen=True, slots=True)
class FinishedShards:
    """Finished shards, what they were made from and are added to, and how much was left out of them.

    `model` and `relevance` go into the facts of a new index; one that is added to keeps its own.
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
        """In the shards."""
        return sum(shard.passages for shard in self.finished)


class Index(Protocol):
    """Where shards become an index that is searched. Every call raises StoreError where it cannot be reached."""

    @property
    def folder(self) -> Path:
        """Where shards are kept while they are made, and the lock of the one process that makes them."""

    def held(self) -> IndexVersion:
        """What is searched now. Raises NothingFound, StoreCorrupt."""

    def describe(self) -> dict[str, object]:
        """Where it is, and what else a person may want to know. Raises NothingFound, StoreCorrupt."""

    def publish(self, made: FinishedShards, on_progress: Callable[[Progress], None]) -> IndexMetadata:
        """Switch to what is there together with what was made; the same call again, where it was killed.

        Raises NotWritable.
        """
