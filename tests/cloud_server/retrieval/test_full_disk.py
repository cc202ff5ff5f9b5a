"""Building an index on a file system that is full: each step reports it, nothing is lost, and the work
continues later.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cloud_server.retrieval.builder import Builder
from cloud_server.retrieval.folder import FolderIndex
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import Versions
from models.fake import FakeEmbedder
from shared.errors import NotWritable
from storage.ivf_files import Codec
from tests.cloud_server.retrieval.conftest import Write, numbered

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


class Disk:
    """A file system in memory, with a size of `kilobytes`."""

    def __init__(self, folder: Path, kilobytes: int) -> None:
        self.folder = folder
        self._mount(f"size={kilobytes}k")

    def grows(self) -> None:
        self._mount("remount,size=64m")

    def _mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(self.folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("only root may make a small disk")


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Disk]:
    folder.mkdir()
    made = Disk(folder, kilobytes)
    try:
        yield made
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("codec", ["f16", "rabitq"])
@pytest.mark.parametrize("kilobytes", [8, 40, 80, 120, 160, 240, 320, 480])
def test_an_index_on_a_full_disk_goes_on_when_there_is_room(
    tmp_path: Path, source: Write, kilobytes: int, codec: Codec
) -> None:
    path = source(facts=numbered(60))
    with disk(tmp_path / "disk", kilobytes) as small:
        index = FolderIndex(Versions(small.folder / "index"), 1, codec=codec)
        builder = Builder(index, FakeEmbedder(), shard_passages=8)
        try:
            builder.build([path])
        except NotWritable as error:
            assert "Make room on its disk" in str(error)
            assert str(small.folder) in str(error)
        else:
            assert kilobytes > 200
        small.grows()
        builder.build([path])
        corpus = IndexCorpus(builder.index.folder, builder.embedder.fingerprint)
        corpus.refresh()
        assert len(corpus) == 60


@pytest.mark.parametrize("kilobytes", [160, 240, 320])
def test_an_index_that_serves_outlives_a_full_disk(tmp_path: Path, source: Write, kilobytes: int) -> None:
    first, second = source("first.jsonl", numbered(4)), source("second.jsonl", numbered(400, "more"))
    with disk(tmp_path / "disk", kilobytes) as small:
        builder = Builder(FolderIndex(Versions(small.folder / "index"), 1), FakeEmbedder(), shard_passages=8)
        builder.build([first])
        with pytest.raises(NotWritable, match="Make room on its disk"):
            builder.add([second])
        corpus = IndexCorpus(builder.index.folder, builder.embedder.fingerprint)
        corpus.refresh()
        assert len(corpus) == 4
        small.grows()
        builder.add([second])
        corpus.refresh()
        assert len(corpus) == 404
