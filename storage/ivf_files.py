"""The two files of an index's vectors: the centroids with the clusters' sizes, and the inverted lists."""

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shared.errors import StoreCorrupt, UsageError
from storage.durable import write_durably

Vectors = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint8]
"""Vectors as stored in a file, shape (vectors, bytes per vector)."""

Numbers = npt.NDArray[np.integer[Any]]

CLUSTERS = "vectors.clusters"
LISTS = "vectors.lists"

Codec = Literal["f32", "f16", "rabitq"]
"""The format of stored vectors.

float16 takes half the disk, memory and reading time of float32, and finds the same ten nearest of 8,719 passages.
`rabitq` stores float16 on disk, and RaBitQ codes that are held in memory (`rabitq_files`).
"""

NUMBER = np.dtype("<i8")
_HEAD = struct.Struct("<8sQQ")
_MAGIC: dict[Codec, bytes] = {"f32": b"jdclus01", "f16": b"jdclus02", "rabitq": b"jdclus03"}
_BYTES: dict[Codec, int] = {"f32": 4, "f16": 2, "rabitq": 2}


@dataclass(frozen=True)
class Clusters:
    """The part of an index that is always in memory: the centroids, shape (clusters, dimensions), and each cluster's
    number of vectors (`sizes`).

    `lists` is the file with the inverted lists; its vectors are stored in the format `codec`.
    """

    lists: Path
    centroids: Vectors
    sizes: Numbers
    codec: Codec

    def __len__(self) -> int:
        return int(self.sizes.sum())

    @property
    def layout(self) -> "Layout":
        """The layout of the lists' file, which gives the place of each cluster."""
        return Layout(self.sizes, self.centroids.shape[1], self.codec)


@dataclass(frozen=True)
class Layout:
    """The layout of the lists' file: for each cluster, all its vectors, then all their numbers."""

    sizes: Numbers
    dimensions: int
    codec: Codec

    @property
    def vector_bytes(self) -> int:
        """The size of one vector in bytes."""
        return self.dimensions * _BYTES[self.codec]

    @cached_property
    def starts(self) -> Numbers:
        """The offset in the file of each cluster, shape (clusters,)."""
        ends = np.cumsum(self.sizes * (self.vector_bytes + NUMBER.itemsize))
        return np.concatenate([[0], ends[:-1]])

    @property
    def bytes(self) -> int:
        """The size of the lists' file in bytes."""
        return int(self.sizes.sum()) * (self.vector_bytes + NUMBER.itemsize)

    def extent(self, cluster: int) -> tuple[int, int]:
        """Return a cluster's offset in the file and its length, both in bytes."""
        return int(self.starts[cluster]), int(self.sizes[cluster]) * (self.vector_bytes + NUMBER.itemsize)

    def parts(self, cluster: int, data: memoryview) -> tuple[Codes, Numbers]:
        """Split a cluster's bytes into its vectors, one after the other, and their numbers."""
        size, end = int(self.sizes[cluster]), int(self.sizes[cluster]) * self.vector_bytes
        return np.frombuffer(data, np.uint8, end), np.frombuffer(data, NUMBER, size, end)

    def vector(self, cluster: int, row: int) -> int:
        """Return the offset in the file of a vector, by its cluster and its row in the cluster."""
        return int(self.starts[cluster]) + row * self.vector_bytes

    def number(self, cluster: int, row: int) -> int:
        """Return the offset in the file of a vector's number, by its cluster and its row in the cluster."""
        return self.vector(cluster, int(self.sizes[cluster])) + row * NUMBER.itemsize


def encoded(vectors: Vectors, codec: Codec) -> Codes:
    """Return the vectors in the format of the file; float16 is rounded as by FAISS."""
    if codec == "f32":
        return np.ascontiguousarray(vectors, "<f4").view(np.uint8).reshape(len(vectors), -1)
    faiss = faiss_with()
    codes: Codes = faiss.ScalarQuantizer(vectors.shape[1], faiss.ScalarQuantizer.QT_fp16).compute_codes(vectors)
    return codes


def inverted(held: Clusters) -> Any:
    """Return a FAISS index with the given clusters and empty lists."""
    faiss = faiss_with()
    clusters, dimensions = held.centroids.shape
    quantizer = faiss.IndexFlatIP(dimensions)
    quantizer.add(held.centroids)
    if held.codec == "f32":
        index = faiss.IndexIVFFlat(quantizer, dimensions, clusters, faiss.METRIC_INNER_PRODUCT)
    else:
        half = faiss.ScalarQuantizer.QT_fp16
        index = faiss.IndexIVFScalarQuantizer(quantizer, dimensions, clusters, half, faiss.METRIC_INNER_PRODUCT, False)
        index.is_trained = True  # nothing to train: the clusters exist, and float16 needs no training
    return index


def write_clusters(file: Path, centroids: Vectors, layout: Layout) -> None:
    """Write the file of the clusters and wait until it is on disk. Raises NotWritable."""
    head, sizes = _HEAD.pack(_MAGIC[layout.codec], *centroids.shape), layout.sizes
    write_durably(file, [head, sizes.astype(NUMBER).tobytes(), centroids.astype("<f4").tobytes()])


def read_clusters(folder: Path) -> Clusters:
    """Read the clusters of the index in a folder. Raises StoreCorrupt if their file cannot be read."""
    file = folder / CLUSTERS
    try:
        data = file.read_bytes()
        magic, clusters, dimensions = _HEAD.unpack_from(data)
        sizes = np.frombuffer(data, NUMBER, clusters, _HEAD.size).astype(np.int64)
        centroids = np.frombuffer(data, "<f4", offset=_HEAD.size + sizes.nbytes).reshape(clusters, dimensions)
    except (OSError, ValueError, struct.error) as error:
        raise StoreCorrupt(f"{file} cannot be read ({error}). Build the index again.") from error
    codec = next((codec for codec, known in _MAGIC.items() if known == magic), None)
    if codec is None or not clusters:
        raise StoreCorrupt(f"{file} is no file of clusters. Build the index again.")
    return Clusters(folder / LISTS, np.ascontiguousarray(centroids, np.float32), sizes, codec)


def faiss_with(threads: int = 0) -> Any:
    """Return the FAISS module, set to a number of threads for the calling thread; 0 changes nothing.

    Raises UsageError.
    """
    try:
        import faiss
    except ImportError:
        raise UsageError("The public corpus needs FAISS. Install it with: pip install 'jackdaw[server]'") from None
    if threads:
        faiss.omp_set_num_threads(threads)
    return faiss
