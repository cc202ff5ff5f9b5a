"""A device with a few notes read, without weights but otherwise real; and a tree over a store of its own."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest

from device_app.build import Device
from device_app.cache.qkv_tree import QKVTree
from device_app.settings import Settings
from device_app.sources.local import LocalSource
from models.fake import FakeEmbedder, FakeEngine
from shared.prompt import CHATML
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices
from storage.paths import Paths

NOTES = {
    "dentist.md": "# Dentist\n\nThe dentist sees me on Tuesday at nine.\n",
    "drill.md": "# Things lent\n\nPetra has borrowed the blue drill.\n",
    "cat.md": "# The cat\n\nThe cat takes five milligrams of medicine.\n",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The folder of the notes."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return folder


def made(home: Path, settings: Settings | None = None) -> Device:
    """A device at that home."""
    paths = Paths.locate({"JACKDAW_HOME": str(home)})
    device = Device(paths, settings or Settings())
    device.embedder = FakeEmbedder()
    device._loading = Future()
    device._loading.set_result(LocalSource(FakeEngine(), CHATML))
    return device


@pytest.fixture
def device(tmp_path: Path, notes: Path) -> Device:
    """A device that has read the notes."""
    device = made(tmp_path / "home")
    device.ingestion().run([notes])
    return device


@pytest.fixture
def another(tmp_path: Path) -> Callable[[Settings], Device]:
    """The same device under other settings."""
    return lambda settings: made(tmp_path / "home", settings)


MakeTree = Callable[..., QKVTree]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "jackdaw.db")


@pytest.fixture
def make_tree(database: Database, tmp_path: Path) -> MakeTree:
    """Trees over the same store: another limit is another object."""

    def make(limit: int = 10**9, policy: str = "lfu") -> QKVTree:
        return QKVTree(KVSlices(database), Blobs(tmp_path / "cache" / "kv"), Counters(database), limit, policy)  # type: ignore[arg-type]

    return make


@pytest.fixture
def tree(make_tree: MakeTree) -> QKVTree:
    return make_tree()
