"""A home folder with files, an embedder that a test can stop for a while, and helpers that wait for the app."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from device_app.tui.knowledge.reading import Phase
from models.fake import FakeEmbedder
from tests.devices import fake_device


@pytest.fixture
def me(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder; it has documents, one of them broken."""
    home = tmp_path / "me"
    documents = home / "Documents"
    documents.mkdir(parents=True)
    (documents / "drill.md").write_text("# Tools\n\nPetra has borrowed the blue drill. She brings it back on Friday.")
    (documents / "dentist.md").write_text("# Teeth\n\nThe dentist appointment is on Tuesday 14 March at nine.")
    (documents / "wifi.md").write_text('# House\n\nThe guest password is "jackdaw42".')
    (documents / "scan.pdf").write_text("this is no PDF")
    (home / "Downloads").mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


class Held:
    """A fake embedder that waits before it embeds a text with `word`, until `go` is set."""

    fingerprint, dimensions = FakeEmbedder.fingerprint, FakeEmbedder.dimensions

    def __init__(self, word: str = "Petra") -> None:
        self.word = word
        self.reached, self.go = Event(), Event()

    def embed(self, texts: Sequence[str]) -> Any:
        if any(self.word in text for text in texts):
            self.reached.set()
            assert self.go.wait(60)
        return FakeEmbedder().embed(texts)


@pytest.fixture
def held(person: Any) -> Iterator[Held]:
    """Let the reading of files wait at the note about the drill until `go` is set."""
    embedder = Held("borrowed the blue drill. She")
    person.make = partial(fake_device, embedder=lambda: embedder)
    yield embedder
    embedder.go.set()


async def opened(person: Any, rows: int = 1) -> Any:
    """Open the knowledge screen, wait until it lists at least `rows` rows, and return it."""
    await person.presses("ctrl+k")
    await person.until(lambda: len(getattr(getattr(person.app.screen, "_listing", None), "rows", ())) >= rows)
    return person.app.screen


async def phase(person: Any, expected: Phase) -> None:
    """Wait until the app's reading of files is in the phase `expected`."""
    await person.until(lambda: person.app.reading.phase is expected)
