"""Builds an index from source files: embeds their passages, writes shards of them, and publishes these as a version.

A killed build resumes after the last finished shard. Memory does not grow with the corpus, except for four bytes per
passage and the sample on which a folder's clusters are trained.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from filelock import Timeout
from msgspec import structs

from cloud_server.retrieval import sources
from cloud_server.retrieval.index import FinishedShards, Index, IndexVersion, Progress
from cloud_server.retrieval.shards import PASSAGES, Shard, ShardLayout, Shards, Vectors
from cloud_server.retrieval.sources import Position, Skipped, SourceFile
from cloud_server.retrieval.versions import EmbedderSource
from models.engine import Embedder
from shared.errors import NothingFound, StoreLocked, UsageError
from shared.text import PASSAGE_WORDS, embedded_text
from storage.private import private_folder, private_lock
from storage.public_passages import PassageText

_BATCH = 512
"""Passages embedded between two progress reports. Many passages of similar length need little padding."""

Chosen = TypeVar("Chosen", bound=Index)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build, in counts. `passages` of `files` files were added; an interrupted earlier run had already
    embedded `kept` of them.

    `total` passages in `clusters` clusters are in the index now. `unchanged` files were in the index already; `skipped`
    says what was left out.
    """

    passages: int
    kept: int
    total: int
    clusters: int
    files: int
    unchanged: int
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class Builder(Generic[Chosen]):
    """Builds versions of an index. `on_notice` gets sentences to show to the user while the build runs.

    A shard has `shard_passages` passages. `model` and `relevance` are stored in the metadata of a new index: see
    `IndexMetadata`.
    """

    index: Chosen
    embedder: Embedder
    on_progress: Callable[[Progress], None] = lambda _: None
    on_notice: Callable[[str], None] = lambda _: None
    shard_passages: int = PASSAGES
    model: EmbedderSource | None = None
    relevance: float | None = None

    def build(self, named: Sequence[Path]) -> BuildReport:
        """Build the index from the given files and folders, replacing any earlier index.

        Raises UsageError, NothingFound if the sources hold no passage, StoreLocked while another process builds the
        index, NotWritable if the disk is full or not writable: finished shards are kept, and the same call resumes
        after them.
        """
        with self.alone():
            files, skipped = sources.find(named)
            return self.make(self._plan(files, None), partial(self._embed, files=files), skipped)

    def add(self, named: Sequence[Path]) -> BuildReport:
        """Add the files that the index does not hold yet, without new clusters. Raises as `build` does."""
        with self.alone():
            base = self.index.held()
            facts = base.facts
            if facts.embedder != self.embedder.fingerprint:
                raise UsageError(
                    f"The index was made with the embedder {facts.embedder}; passages added with "
                    f"{self.embedder.fingerprint} would not fit. Build it again."
                )
            files, skipped = sources.find(named, facts.sources)
            held = {file.path: file for file in facts.sources}
            skipped += [
                Skipped(file.path, "changed since it was added: only `index build` can replace its passages")
                for file in files
                if held.get(file.path, file) != file
            ]
            fresh = [file for file in files if file.path not in held]
            unchanged = sum(held.get(file.path) == file for file in files)
            if not fresh:
                return BuildReport(0, 0, facts.passages, facts.clusters, 0, unchanged, tuple(skipped))
            plan = self._plan(fresh, base)
            return self.make(plan, partial(self._embed, files=fresh), skipped, base, unchanged)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from building this index during the block. Raises StoreLocked if another process builds
        it.
        """
        folder = private_folder(self.index.folder)
        try:
            held = private_lock(folder / "build.lock").acquire(timeout=0)
        except Timeout:
            raise StoreLocked(f"Another process is making an index in {folder}. Wait until it is done.") from None
        with held:
            yield

    def _plan(self, files: Sequence[SourceFile], base: IndexVersion | None) -> ShardLayout:
        name = base.name if base else None
        return ShardLayout(self.embedder.fingerprint, self.embedder.dimensions, PASSAGE_WORDS, tuple(files), name)

    def make(
        self,
        plan: ShardLayout,
        fill: Callable[[Shards], None],
        skipped: Sequence[Skipped],
        base: IndexVersion | None = None,
        unchanged: int = 0,
    ) -> BuildReport:
        """Write the plan's missing shards with the function `fill`, and publish all shards as a version: a new index,
        or `base` with the shards added. `skipped` and the count `unchanged` of files go into the report.

        Call it within `alone`. Raises the errors of `build` and of `fill`.
        """
        shards = Shards(self.index.folder / "building")
        if changed := shards.begin(plan):
            self.on_notice(f"The result of an earlier run cannot be used: {changed}. Starting again.")
        kept = sum(shard.passages for shard in shards.finished())
        if kept:
            self.on_notice(f"Continuing an earlier run, which finished {kept:,} passages.")
        fill(shards)
        finished = shards.finished()
        passages = sum(shard.passages for shard in finished)
        skipped = [*skipped, *_merged(entry for shard in finished for entry in shard.skipped)]
        if not passages:
            reasons = "; ".join(f"{entry.path}: {entry.reason}" for entry in skipped[:3])
            raise NothingFound(f"The named sources contain no passage{f' ({reasons})' if reasons else ''}.")
        left_out = sum(entry.lines or 1 for entry in skipped)
        made = FinishedShards(shards, finished, plan, base, left_out, self.model, self.relevance)
        facts = self.index.publish(made, self.on_progress)
        shards.clear()
        return BuildReport(passages, kept, facts.passages, facts.clusters, len(plan.sources), unchanged, tuple(skipped))

    def _embed(self, shards: Shards, files: Sequence[SourceFile]) -> None:
        """Resume reading the files after the last finished shard, and write the remaining shards."""
        finished = shards.finished()
        number, passages = len(finished), sum(shard.passages for shard in finished)
        place = finished[-1].after if finished else Position()
        sizes = [file.size for file in files]
        waiting = _Waiting(self.embedder)
        for record in sources.records(files, place):
            place = record.after
            waiting.take(record.passages, record.skipped)
            if waiting.embed(_BATCH):
                done = sum(sizes[: place.file]) + place.offset
                self.on_progress(Progress("embedding", done, sum(sizes), passages + len(waiting.passages)))
            if len(waiting.passages) >= self.shard_passages:
                passages += waiting.finish(shards, number, place)
                number += 1
        if waiting:
            passages += waiting.finish(shards, number, place)
        self.on_progress(Progress("embedding", sum(sizes), sum(sizes), passages))


class _Waiting:
    """The passages that were read since the last finished shard; they are embedded in batches."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._clear()

    def _clear(self) -> None:
        self.passages: list[PassageText] = []
        self._skipped: dict[tuple[str, str], Skipped] = {}
        self._vectors: list[Vectors] = []
        self._embedded = 0

    def __bool__(self) -> bool:
        return bool(self.passages or self._skipped)

    def take(self, passages: Sequence[PassageText], skipped: Skipped | None) -> None:
        """Add the passages of a record, or note that the record was skipped."""
        self.passages += passages
        if skipped:
            _note(self._skipped, skipped)

    def embed(self, least: int) -> bool:
        """Embed the passages that have no vectors, if there are at least `least` of them. Return whether any were
        embedded.
        """
        if len(self.passages) - self._embedded < least:
            return False
        texts = [embedded_text(passage.title, passage.text) for passage in self.passages[self._embedded :]]
        self._vectors.append(self._embedder.embed(texts))
        self._embedded = len(self.passages)
        return True

    def finish(self, shards: Shards, number: int, after: Position) -> int:
        """Write the passages read since the last shard as the shard `number`; `after` is the position in the sources
        after them. Return the number of these passages.
        """
        self.embed(1)
        vectors = np.concatenate(self._vectors or [np.empty((0, self._embedder.dimensions), np.float32)])
        shard = Shard(len(self.passages), after, tuple(self._skipped.values()))
        shards.write(number, shard, self.passages, vectors)
        self._clear()
        return shard.passages


def _merged(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Merge the skipped lines into one entry for each file and reason."""
    merged: dict[tuple[str, str], Skipped] = {}
    for entry in skipped:
        _note(merged, entry)
    return list(merged.values())


def _note(merged: dict[tuple[str, str], Skipped], entry: Skipped) -> None:
    known = merged.setdefault((entry.path, entry.reason), Skipped(entry.path, entry.reason, 0, entry.first_line))
    merged[entry.path, entry.reason] = structs.replace(known, lines=known.lines + entry.lines)
