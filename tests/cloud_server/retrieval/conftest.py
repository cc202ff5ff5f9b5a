"""A small corpus in files, and an index of it made with the fake embedder."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.versions import Versions
from models.engine import Embedder
from models.fake import FakeEmbedder
from storage.ivf_files import Codec

FACTS = (
    ("Rivers", "The Danube flows through ten countries and ends in the Black Sea."),
    ("Mountains", "Mount Kenya is the second highest mountain of Africa."),
    ("Birds", "Jackdaws pair for life and share their food with their partner."),
)

Write = Callable[..., Path]
Make = Callable[..., Builder[FolderIndex]]


@pytest.fixture
def source(tmp_path: Path) -> Write:
    """Writes a JSON Lines file of titles and texts: `source("a.jsonl", facts)`."""

    def write(name: str = "facts.jsonl", facts: Sequence[tuple[str, str]] = FACTS) -> Path:
        path = tmp_path / name
        lines = (json.dumps({"id": number, "title": title, "text": text}) for number, (title, text) in enumerate(facts))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def builder(tmp_path: Path) -> Make:
    """Makes builders (`Builder`) of an index in `tmp_path / "index"`, with the fake embedder."""

    def make(embedder: Embedder | None = None, shard_passages: int = 4, codec: Codec = "f16") -> Builder[FolderIndex]:
        index = FolderIndex(Versions(tmp_path / "index"), 1, codec=codec)
        return Builder(index, embedder or FakeEmbedder(), shard_passages=shard_passages)

    return make


def numbered(count: int, word: str = "subject") -> list[tuple[str, str]]:
    """Return `count` titles and texts, each with a word of its own."""
    return [(f"Title {number}", f"All about {word}{number} and nothing else.") for number in range(count)]
