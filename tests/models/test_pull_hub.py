"""Downloading model files from a hub, tested with a fake hub on loopback that can misbehave."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.catalog import Entry, Weights
from models.pull import hub
from shared.errors import PullFailed, WeightsDamaged
from tests.hub import Hub, serving

CONTENT = b"GGUF" + bytes(range(256)) * 4096
FILE = "model.gguf"
ADDRESS = f"owner/repository/{FILE}"
ENTRY = Entry("tiny", "engine", f"hub:{ADDRESS}", (FILE,), len(CONTENT), "none", "For tests.")
ROOT = Path(__file__).parents[2]
PULL = """
import sys
from pathlib import Path
from models.catalog import Entry, Weights
folder, source, file, size = sys.argv[1:]
Weights(Path(folder)).pull(Entry("tiny", "engine", source, (file,), int(size), "none", "For tests."))
"""


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    for name in ("HF_TOKEN", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving(CONTENT) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        yield hub


def in_another_process(folder: Path) -> subprocess.Popen[bytes]:
    arguments = [str(folder), ENTRY.source, FILE, str(ENTRY.size)]
    return subprocess.Popen(
        [sys.executable, "-c", PULL, *arguments], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )


def test_a_pulled_file_is_whole_and_recorded(server: Hub, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    weights = Weights(tmp_path)
    weights.pull(ENTRY, lambda *report: seen.append(report))
    assert weights.path(ENTRY).read_bytes() == CONTENT
    assert weights.hashes(ENTRY) == {FILE: digest(CONTENT)}
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1] == (f"Fetching {FILE}.partial", len(CONTENT), len(CONTENT))
    assert not list(tmp_path.glob(".pull-*"))


def test_a_second_pull_asks_nothing_of_the_hub(server: Hub, tmp_path: Path) -> None:
    Weights(tmp_path).pull(ENTRY)
    Weights(tmp_path).pull(ENTRY)
    assert server.asked == [None]


def test_a_download_that_broke_off_goes_on_where_it_stopped(server: Hub, tmp_path: Path) -> None:
    server.cut_after = 5000
    with pytest.raises(PullFailed, match="Run the same command again to resume"):
        Weights(tmp_path).pull(ENTRY)
    assert Weights(tmp_path).state(ENTRY) == "missing"
    server.cut_after = None
    Weights(tmp_path).pull(ENTRY)
    assert server.asked == [None, "bytes=5000-"]
    assert (tmp_path / FILE).read_bytes() == CONTENT


def test_a_server_that_cannot_resume_is_asked_from_the_start(server: Hub, tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.partial").write_bytes(CONTENT[:5000])
    server.ignores_range = True
    Weights(tmp_path).pull(ENTRY)
    assert (tmp_path / FILE).read_bytes() == CONTENT


@pytest.mark.parametrize("partial", [b"altered" * 100, CONTENT + b"more than there is"])
def test_a_partial_download_that_was_altered_does_no_lasting_harm(server: Hub, tmp_path: Path, partial: bytes) -> None:
    (tmp_path / f"{FILE}.partial").write_bytes(partial)
    try:
        Weights(tmp_path).pull(ENTRY)
    except WeightsDamaged:
        Weights(tmp_path).pull(ENTRY)
    assert (tmp_path / FILE).read_bytes() == CONTENT


def test_bytes_that_are_not_what_the_hub_announced_are_refused_by_name(server: Hub, tmp_path: Path) -> None:
    server.content = b"EVIL" + CONTENT[4:]
    with pytest.raises(WeightsDamaged, match=FILE):
        Weights(tmp_path).pull(ENTRY)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [".lock"]


def test_a_pinned_sum_outranks_what_the_hub_announces(server: Hub, tmp_path: Path) -> None:
    pinned = Entry(
        "tiny", "engine", ENTRY.source, (FILE,), len(CONTENT), "none", "", pinned=((FILE, digest(b"another")),)
    )
    with pytest.raises(WeightsDamaged, match=FILE):
        Weights(tmp_path).pull(pinned)
    assert server.asked == []


def test_what_came_first_is_what_must_come_again(server: Hub, tmp_path: Path) -> None:
    Weights(tmp_path).pull(ENTRY)
    (tmp_path / FILE).unlink()
    server.content = server.content[::-1]
    server.sha256 = digest(server.content)
    with pytest.raises(WeightsDamaged, match=FILE):
        Weights(tmp_path).pull(ENTRY)
    assert server.asked == [None]
    server.content, server.sha256 = CONTENT, digest(CONTENT)
    Weights(tmp_path).pull(ENTRY)
    assert (tmp_path / FILE).read_bytes() == CONTENT


def test_a_file_shorter_than_announced_is_refused(server: Hub, tmp_path: Path) -> None:
    server.size = len(CONTENT) + 10
    with pytest.raises(PullFailed):
        Weights(tmp_path).pull(ENTRY)
    assert not (tmp_path / FILE).exists()


def test_a_file_far_larger_than_the_catalog_says_is_not_fetched(server: Hub, tmp_path: Path) -> None:
    server.size = 2 * ENTRY.size + 1
    with pytest.raises(PullFailed, match=r"offers 2 MB for tiny.*about 1 MB"):
        Weights(tmp_path).pull(ENTRY)
    assert server.asked == []


def test_a_file_larger_than_the_disk_is_not_fetched(
    server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(0, 0, ENTRY.size))
    server.size = ENTRY.size + 1
    with pytest.raises(PullFailed, match="Make room"):
        Weights(tmp_path).pull(ENTRY)
    assert server.asked == []


def test_a_file_longer_than_announced_is_refused(server: Hub, tmp_path: Path) -> None:
    server.size = 100
    with pytest.raises(PullFailed, match="the hub sent more bytes than announced"):
        Weights(tmp_path).pull(ENTRY)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize(("field_name", "said"), [("sha256", "gives no SHA-256"), ("size", "give the size")])
def test_a_hub_that_keeps_silent_is_not_trusted(server: Hub, tmp_path: Path, field_name: str, said: str) -> None:
    setattr(server, field_name, None)
    with pytest.raises(PullFailed, match=said):
        Weights(tmp_path).pull(ENTRY)
    assert server.asked == []


def test_a_repository_that_moved_is_followed(server: Hub, tmp_path: Path) -> None:
    server.moved = True
    Weights(tmp_path).pull(ENTRY)
    assert (tmp_path / FILE).read_bytes() == CONTENT


def test_the_token_stays_with_the_hub(server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    Weights(tmp_path).pull(ENTRY)
    assert server.tokens == {"hub": "Bearer secret", "storage": None}


def test_a_file_that_is_not_there_is_told(server: Hub) -> None:
    with pytest.raises(PullFailed, match=r"404.*Check the name"):
        hub.ask(hub.Address.parse("owner/missing/model.gguf"))


def test_a_hub_that_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(PullFailed, match="Check the network"):
        Weights(tmp_path).pull(ENTRY)


@pytest.mark.parametrize("text", ["", "owner/repository", "owner//model.gguf", "owner/repository/../../model.gguf"])
def test_an_address_that_is_none_is_told(text: str) -> None:
    with pytest.raises(PullFailed, match=r"not an address.*OWNER/REPOSITORY/FILE\.gguf"):
        hub.Address.parse(text)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the disk that is always full is Linux's")
def test_a_full_disk_is_told(server: Hub, tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.partial").symlink_to("/dev/full")
    with pytest.raises(PullFailed, match="No space left"):
        Weights(tmp_path).pull(ENTRY)
    assert not (tmp_path / FILE).exists()


def test_a_pull_that_is_killed_leaves_nothing_half_and_is_resumed(server: Hub, tmp_path: Path) -> None:
    server.stall_after = 300_000
    with in_another_process(tmp_path) as process:
        assert server.stalled.wait(60)
        partial = tmp_path / f"{FILE}.partial"
        while not partial.exists() or not partial.stat().st_size:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / FILE).exists()
    server.go_on.set()
    server.stall_after = None
    arrived = partial.stat().st_size
    Weights(tmp_path).pull(ENTRY)
    assert server.asked == [None, f"bytes={arrived}-"]
    assert (tmp_path / FILE).read_bytes() == CONTENT
    assert not list(tmp_path.glob(".pull-*"))


def test_two_pulls_at_once_fetch_it_once(server: Hub, tmp_path: Path) -> None:
    pulls = [in_another_process(tmp_path) for _ in range(2)]
    assert [pull.wait(120) for pull in pulls] == [0, 0]
    assert server.asked == [None]
    assert (tmp_path / FILE).read_bytes() == CONTENT
