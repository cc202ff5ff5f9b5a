"""The index as files in a folder. A new version is written beside the current one and then replaces it."""

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from cloud_server.retrieval.index import FinishedShards, IndexVersion, Progress
from cloud_server.retrieval.shards import Vectors
from cloud_server.retrieval.versions import IndexMetadata, Versions, read_facts, size, write_facts
from storage import ivf
from storage.ivf_files import Codec, read_clusters
from storage.ivf_writing import write
from storage.private import hand_over, private_folder, to_be_written
from storage.rabitq_files import codes_bytes

_SAMPLE = 64
"""Training vectors per cluster. With half as many, a search found 0.975 of the ten nearest vectors instead of 0.982."""

_MOST_SAMPLE = 400_000
"""The most training vectors: 614 MB for 384 dimensions."""

_SERIES_BITS = 20


class FolderIndex:
    """The index in a folder. `probes` is how many clusters a search scans, 0 for the default; `codec` is the number
    format of a new index's vectors. Implements `Index`.
    """

    def __init__(self, versions: Versions, threads: int, probes: int = 0, codec: Codec = "f16") -> None:
        self.versions = versions
        self._threads = threads
        self._probes = probes
        self._codec = codec

    @property
    def folder(self) -> Path:
        """The folder of the index's versions."""
        return self.versions.folder

    def held(self) -> IndexVersion:
        """Return the current version. Raises NothingFound, StoreCorrupt."""
        version = self.versions.current()
        return IndexVersion(version.name, read_facts(version))

    def describe(self) -> dict[str, object]:
        """Return the current version's folder, cluster counts, codec and bytes. Raises NothingFound, StoreCorrupt."""
        version = self.versions.current()
        facts, held = read_facts(version), read_clusters(version)
        return {
            "folder": str(self.folder),
            "clusters": facts.clusters,
            "probes": self._probes or ivf.probes_for(facts.clusters, facts.passages),
            "trained_on": facts.trained_on,
            "codec": held.codec,
            "memory_bytes": codes_bytes(held) if held.codec == "rabitq" else None,
            "bytes": size(version),
        }

    def publish(self, made: FinishedShards, on_progress: Callable[[Progress], None]) -> IndexMetadata:
        """Write the finished shards as a version and make it the current one. Raises NotWritable."""
        shards, plan, passages = made.shards, made.plan, made.passages
        old = made.base.facts if made.base else None
        base = self.versions.version(made.base.name) if made.base else None
        version = shards.folder / "version"
        with to_be_written(f"write {version}"):
            shutil.rmtree(version, ignore_errors=True)
        private_folder(version)
        held = read_clusters(base) if base else None
        centroids = held.centroids if held else self._train(made, on_progress)
        codec = held.codec if held else self._codec
        steps = 2 * passages + (codec == "rabitq") * (passages + (len(held) if held else 0))
        write(
            version,
            centroids,
            [partial(shards.vectors, at, plan.dimensions) for at, shard in enumerate(made.finished) if shard.passages],
            base=held,
            codec=codec,
            threads=self._threads,
            on_progress=lambda done: on_progress(Progress("writing", done, steps, passages)),
        )
        texts = [base / name for name in old.files] if base and old else []
        texts += [shards.passage_file(number) for number in range(len(made.finished))]
        names = tuple(f"{number:06}.passages" for number in range(len(texts)))
        for text, name in zip(texts, names, strict=True):
            _link(text, version / name)
        facts = IndexMetadata(
            passages=passages + (old.passages if old else 0),
            clusters=len(centroids),
            dimensions=plan.dimensions,
            embedder=plan.embedder,
            built_at=datetime.now(UTC).isoformat(timespec="seconds"),
            trained_on=old.trained_on if old else passages,
            series=old.series if old else secrets.randbits(_SERIES_BITS),
            files=names,
            sources=(*(old.sources if old else ()), *plan.sources),
            skipped=made.skipped + (old.skipped if old else 0),
            model=old.model if old else made.model,
            relevance=old.relevance if old else made.relevance,
        )
        write_facts(version, facts)
        self.versions.publish(version)
        return facts

    def _train(self, made: FinishedShards, on_progress: Callable[[Progress], None]) -> Vectors:
        passages, dimensions = made.passages, made.plan.dimensions
        clusters = ivf.clusters_for(passages)
        most = min(passages, clusters * _SAMPLE, _MOST_SAMPLE)
        sample = np.empty((most, dimensions), np.float32)
        filled = 0
        for vectors in made.shards.sample(made.finished, dimensions, most):
            taken = vectors[: most - filled]
            sample[filled : filled + len(taken)] = taken
            filled += len(taken)
        return ivf.train(
            sample[:filled],
            min(clusters, filled),
            threads=self._threads,
            on_iteration=lambda done, total: on_progress(Progress("clustering", done, total, passages)),
        )


def _link(source: Path, target: Path) -> None:
    with to_be_written(f"write {target}"):
        with suppress(OSError):  # a file system without hard links: copy instead
            os.link(source, target)
            return
        shutil.copyfile(source, target)
        hand_over(target, target.parent)
