"""Makes an index from given vectors and texts: checks them and scales them to unit length, in blocks of rows.

After a kill, the import continues after the last finished block.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Generic

import numpy as np

from cloud_server.retrieval import sources
from cloud_server.retrieval.builder import Builder, BuildReport, Chosen
from cloud_server.retrieval.imports import checks
from cloud_server.retrieval.imports.checks import Sample
from cloud_server.retrieval.imports.opening import open_sources
from cloud_server.retrieval.imports.tables import Columns
from cloud_server.retrieval.imports.texts import TextSource
from cloud_server.retrieval.imports.vectors import ROWS, VectorSource
from cloud_server.retrieval.index import Progress
from cloud_server.retrieval.shards import Shard, ShardLayout, Shards, Vectors
from cloud_server.retrieval.sources import MOST_TEXT, Position, Skipped, SourceFile, whole
from shared.errors import UsageError
from storage.public_passages import PassageText

FIRST_SAMPLE = 32
"""Rows whose texts are embedded as a check before anything is written."""

SAMPLE = 8
"""Rows of each later block whose texts are embedded as a check, which shows where texts and vectors stop matching."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import; the first five fields are as in `BuildReport`. `normalised` vectors were not of unit
    length; `cut` texts were too long for a passage.

    `cosine` is the median cosine between `sampled` imported vectors and the embedder's own vectors of their texts,
    joined by `template`.
    """

    passages: int
    kept: int
    total: int
    clusters: int
    skipped: tuple[Skipped, ...]
    normalised: int
    cut: int
    sampled: int
    cosine: float | None
    template: str


@dataclass(slots=True)
class Importer(Generic[Chosen]):
    """Makes an index from vectors and texts, with the parts of a builder. The builder's embedder has to be the one that
    made the vectors.
    """

    builder: Builder[Chosen]
    rows: int = ROWS

    def run(self, vectors: Path, texts: Path | None, columns: Columns) -> ImportReport:
        """Import the vectors with their texts; if `texts` is None, the texts are read from the vectors' own tables.

        Replaces any existing index. Raises UsageError for vectors or texts that do not fit, and the errors of
        `Builder.build`; finished blocks are kept, and the same call continues after them.
        """
        with self.builder.alone():
            read, documents = open_sources(vectors, texts, columns)
            self._check_sizes(read, documents)
            plan = self._plan(read, documents)
            block = _Blocks(self.builder, read, documents, self.rows, plan.sources)
            made = self.builder.make(plan, block.fill, ())
        return block.report(made)

    def _check_sizes(self, vectors: VectorSource, texts: TextSource) -> None:
        embedder = self.builder.embedder
        if vectors.count and vectors.dimensions != embedder.dimensions:
            raise UsageError(
                f"The vectors have {vectors.dimensions:,} dimensions, and those of the server's embedder "
                f"({embedder.fingerprint}) {embedder.dimensions:,}. A question has to be embedded by the model that "
                "made the vectors: name it with --embedder."
            )
        if vectors.count != texts.count:
            raise UsageError(
                f"There are {vectors.count:,} vectors in {vectors.files[0].name} and {texts.count:,} texts in "
                f"{texts.files[0].name}. Each vector needs its text, in the same order: name all the texts that the "
                "vectors were made from."
            )

    def _plan(self, vectors: VectorSource, texts: TextSource) -> ShardLayout:
        files, unread = sources.find([*vectors.files, *texts.files])
        if unread:
            raise UsageError(f"{unread[0].path} cannot be read: {unread[0].reason}.")
        embedder = self.builder.embedder
        form = f"{vectors.form}, {texts.form}"
        return ShardLayout(embedder.fingerprint, embedder.dimensions, 0, tuple(files), None, form)


class _Blocks:
    """The blocks of one import; each becomes a shard, whose `Position.line` is the number of the row after it."""

    def __init__(
        self,
        builder: Builder[Chosen],
        vectors: VectorSource,
        texts: TextSource,
        rows: int,
        files: tuple[SourceFile, ...],
    ) -> None:
        self._builder = builder
        self._vectors, self._texts, self._rows, self._files = vectors, texts, rows, files
        self._template: int | None = None
        self._cosines: list[Vectors] = []
        self._normalised = self._cut = 0

    def fill(self, shards: Shards) -> None:
        """Make a shard of each block that has none yet. Raises UsageError."""
        finished = shards.finished()
        row, total = finished[-1].after.line if finished else 0, self._vectors.count
        passages = sum(shard.passages for shard in finished)
        documents = self._texts.documents(row)
        for number, block in enumerate(_regular(self._vectors.blocks(row), self._rows), len(finished)):
            texts = list(islice(documents, len(block)))
            if len(texts) != len(block):
                raise UsageError(f"{self._texts.files[0]} has changed since the start. Run the command again.")
            shard, kept, vectors = self._checked(block, texts, row)
            shards.write(number, shard, kept, vectors)
            row, passages = row + len(block), passages + shard.passages
            self._builder.on_progress(Progress("importing", row, total, passages))
        if row != total:
            raise UsageError(f"{self._vectors.files[0]} has changed since the start. Run the command again.")
        self._look_again()
        finished = shards.finished()
        self._normalised = sum(shard.normalised for shard in finished)
        self._cut = sum(shard.cut for shard in finished)

    def report(self, made: BuildReport) -> ImportReport:
        """Return the counts and cosines of the finished import."""
        cosines = np.concatenate(self._cosines) if self._cosines else np.empty(0, np.float32)
        return ImportReport(
            made.passages,
            made.kept,
            made.total,
            made.clusters,
            made.skipped,
            self._normalised,
            self._cut,
            len(cosines),
            round(float(np.median(cosines)), 4) if len(cosines) else None,
            checks.TEMPLATES[self._template or 0][0],
        )

    def _checked(self, block: Vectors, texts: list[PassageText], row: int) -> tuple[Shard, list[PassageText], Vectors]:
        vectors, normalised = checks.unit(block, row)
        present = [place for place, text in enumerate(texts) if text.text.strip()]
        self._compare(vectors, texts, present, row)
        empty = len(texts) - len(present)
        first = next((place for place, text in enumerate(texts) if not text.text.strip()), 0)
        skipped = Skipped(str(self._texts.files[0]), "no text", empty, row + first + 1)
        shard = Shard(
            len(present),
            Position(line=row + len(texts)),
            (skipped,) if empty else (),
            normalised,
            sum(len(texts[place].text) > MOST_TEXT for place in present),
        )
        return shard, [whole(texts[place]) for place in present], vectors[present] if empty else vectors

    def _compare(self, vectors: Vectors, texts: list[PassageText], present: list[int], row: int) -> None:
        """Embed again a sample of the block that begins at `row`: some of the texts whose indices in the block are in
        `present`. Raises UsageError if the vectors differ from the imported ones.
        """
        most = FIRST_SAMPLE if self._template is None else SAMPLE
        chance = np.random.default_rng(row)
        places = sorted(chance.choice(present, min(most, len(present)), replace=False).tolist()) if present else []
        if not places:
            return
        sample = Sample([row + place for place in places], [texts[place] for place in places], vectors[places])
        embed = self._builder.embedder.embed
        if self._template is None:
            self._template, cosines = checks.choose_template(sample, embed)
        else:
            cosines = checks.check_template(sample, self._template, embed)
        self._cosines.append(cosines)

    def _look_again(self) -> None:
        """Raise UsageError if a source file has changed since the start."""
        for file in self._files:
            facts = Path(file.path).stat()
            if (facts.st_size, facts.st_mtime_ns) != (file.size, file.modified_ns):
                raise UsageError(f"{file.path} has changed since the start. Run the command again.")


def _regular(blocks: Iterator[Vectors], rows: int) -> Iterator[Vectors]:
    """Divide the rows of all blocks into new blocks of `rows` rows each, and yield these; the last may be shorter."""
    waiting: list[Vectors] = []
    count = 0
    for block in blocks:
        waiting.append(block)
        count += len(block)
        while count >= rows:
            joined = np.concatenate(waiting) if len(waiting) > 1 else waiting[0]
            yield joined[:rows]
            waiting, count = [joined[rows:]], count - rows
    if count:
        yield np.concatenate(waiting)
