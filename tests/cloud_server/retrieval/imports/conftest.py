"""Vectors of numbered texts, and files with them in the formats that can be imported."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.imports.importer import Importer
from cloud_server.retrieval.shards import Vectors
from cloud_server.retrieval.versions import Versions
from models.engine import Embedder
from models.fake import FakeEmbedder


@dataclass(frozen=True)
class Made:
    """Numbered texts with their vectors by `FakeEmbedder`, which can be written to files."""

    folder: Path
    texts: Sequence[str]
    vectors: Vectors

    def npy(self, name: str = "vectors.npy", vectors: Vectors | None = None) -> Path:
        """Write the vectors to an npy file and return its path."""
        np.save(self.folder / name, self.vectors if vectors is None else vectors)
        return self.folder / name

    def lines(self, name: str = "texts.jsonl", texts: Sequence[str] | None = None) -> Path:
        """Write the texts to a JSON Lines file and return its path."""
        documents = enumerate(self.texts if texts is None else texts)
        lines = (json.dumps({"id": f"d{number}", "text": text}) for number, text in documents)
        (self.folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        return self.folder / name


def made_of(folder: Path, count: int) -> Made:
    """Make `count` texts with different words, and their vectors."""
    embedder = FakeEmbedder()
    texts = [f"alpha{number} beta{number * 7 % count} gamma{number * 13 % count} of them" for number in range(count)]
    return Made(folder, texts, embedder.embed(texts))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Fifty texts with their vectors."""
    return made_of(tmp_path, 50)


def importer_into(folder: Path, embedder: Embedder | None = None, rows: int = 8) -> Importer[FolderIndex]:
    """Return an importer that makes an index in `folder`, stores float32 vectors and reads `rows` rows at a time."""
    index = FolderIndex(Versions(folder), 1, codec="f32")
    return Importer(Builder(index, embedder or FakeEmbedder()), rows)
