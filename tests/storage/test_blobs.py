"""Files written atomically, readable only by their owner, and the unfinished files of killed processes."""

import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.errors import NotWritable, StoreFull
from storage.blobs import Blobs


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path / "cache" / "kv")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(max_size=50), max_size=5))
def test_what_was_written_is_read(blobs: Blobs, parts: list[bytes]) -> None:
    assert blobs.write("one", map(memoryview, parts)) == len(b"".join(parts))
    assert blobs.read("one") == b"".join(parts)
    assert blobs.sizes() == {"one": len(b"".join(parts))}


def test_a_file_is_its_owners_alone_whatever_the_umask(blobs: Blobs) -> None:
    before = os.umask(0)
    try:
        blobs.write("one", [b"state"])
    finally:
        os.umask(before)
    assert mode(blobs.folder / "one") == 0o600
    assert mode(blobs.folder) == mode(blobs.folder.parent) == 0o700


def test_a_file_that_is_not_there_is_empty_and_may_be_deleted(blobs: Blobs) -> None:
    assert blobs.read("one") == b""
    assert blobs.sizes() == {}
    blobs.delete("one")
    assert not blobs.folder.exists()


def test_a_writer_that_fails_leaves_the_file_from_before(blobs: Blobs) -> None:
    blobs.write("one", [b"old"])

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        blobs.write("one", parts())
    assert blobs.read("one") == b"old"
    assert [path.name for path in blobs.folder.iterdir()] == ["one"]


@pytest.mark.parametrize(
    ("code", "error"),
    [(errno.ENOSPC, StoreFull), (errno.EDQUOT, StoreFull), (errno.EROFS, NotWritable), (errno.EFBIG, NotWritable)],
)
def test_a_disk_that_takes_no_more_is_told(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]
) -> None:
    blobs.write("one", [b"old"])

    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(error, match=str(blobs.folder)):
        blobs.write("one", [b"new"])
    assert blobs.read("one") == b"old"
    assert list(blobs.sizes()) == ["one"]


def test_a_file_that_cannot_be_deleted_is_told(blobs: Blobs) -> None:
    (blobs.folder / "one").mkdir(parents=True)  # a folder cannot be unlinked, whoever asks
    with pytest.raises(NotWritable, match="Cannot delete"):
        blobs.delete("one")


def test_unfinished_files_are_never_listed_and_swept_once_they_are_old(blobs: Blobs) -> None:
    blobs.write("one", [b"state"])
    unfinished = blobs.folder / ".unfinished-abc"
    unfinished.write_bytes(b"half")
    now = time.time()
    assert set(blobs.sizes()) == blobs.older_than(now + 60) == {"one"}
    assert blobs.sweep(now - 60) == 0
    assert unfinished.exists()
    assert blobs.sweep(now + 60) == 1
    assert [path.name for path in blobs.folder.iterdir()] == ["one"]


def test_a_file_that_another_process_deletes_meanwhile_is_not_listed(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs.write("one", [b"state"])
    blobs.write("two", [b"state"])
    listed = Path.iterdir

    def then_deleted(folder: Path) -> Iterator[Path]:
        names = list(listed(folder))
        (blobs.folder / "one").unlink()
        return iter(names)

    monkeypatch.setattr(Path, "iterdir", then_deleted)
    assert list(blobs.sizes()) == ["two"]
