"""A device with a few notes read, an engine and an embedder without weights, and everything else real."""

from concurrent.futures import Future
from pathlib import Path

import pytest

from device_app.build import Device
from device_app.settings import Settings
from device_app.sources.local import LocalSource
from models.fake import FakeEmbedder, FakeEngine
from shared.prompt import CHATML
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
