"""Generates vectors around those of real passages, with their texts, for trying out large indexes.

Each source passage is used many times: first with its own vector, then with unit vectors turned from it by a fixed
angle in a random direction (cosine 0.97). Reproducible.
"""

import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cloud_server.retrieval import sources
from models.catalog import Weights, find
from models.embedder import OnnxEmbedder
from models.threads import threads
from shared.text import embedded_text
from storage.paths import Paths
from storage.public_passages import PassageText

COSINE = 0.97
MOST_REAL = 2_000
"""The number of passages that are embedded, which takes a minute or two on two cores."""

Vectors = npt.NDArray[np.float32]


def turned(vectors: Vectors, cosine: float, chance: np.random.Generator) -> Vectors:
    """Return unit vectors that have the given cosine to the given unit vectors, each turned in a random direction."""
    across = chance.standard_normal(vectors.shape, np.float32)
    across -= np.einsum("ij,ij->i", across, vectors)[:, None] * vectors
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return np.float32(cosine) * vectors + np.float32(np.sqrt(1 - cosine**2)) * across


def _passages(source: Path) -> Iterator[PassageText]:
    files, _ = sources.find([source])
    for record in sources.records(files, sources.Position()):
        yield from record.passages


def main() -> None:
    """Write vectors.npy and passages.jsonl."""
    source, count, folder = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    passages = list(islice(_passages(source), min(count, MOST_REAL)))
    weights = Weights(Paths.locate(os.environ).weights)
    weights.pull(find("all-minilm-l6-v2"))
    embedder = OnnxEmbedder(weights.path(find("all-minilm-l6-v2")), threads(0))
    real = embedder.embed([embedded_text(passage.title, passage.text) for passage in passages])
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(1)
    shape = (count, embedder.dimensions)
    out = np.lib.format.open_memmap(folder / "vectors.npy", mode="w+", dtype=np.float32, shape=shape)
    with (folder / "passages.jsonl").open("w", encoding="utf-8") as lines:
        for first in range(0, count, len(real)):
            rows = min(len(real), count - first)
            out[first : first + rows] = turned(real[:rows], COSINE, chance) if first else real[:rows]
            for row, passage in enumerate(passages[:rows], first):
                lines.write(json.dumps({"id": row, "title": passage.title, "text": passage.text}) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
