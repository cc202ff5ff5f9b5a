"""Reading whole pages of an immutable file, and errors if the file changes after all."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from shared.errors import StoreCorrupt, StoreError
from storage.arena import Arena
from storage.list_file import PAGE, ListFile, pages

CONTENT = bytes(range(256)) * 100


def file_of(folder: Path) -> Path:
    path = folder / "lists"
    path.write_bytes(CONTENT)
    return path


def read(file: ListFile, start: int, length: int) -> bytes:
    first, room = pages(start, length)
    memory = Arena(room).view(0, room)
    file.read([memory], first, start + length - first)
    return bytes(memory[start - first : start - first + length])


direct = pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="a system without direct reads")


@pytest.mark.parametrize(("start", "length"), [(0, 1), (0, PAGE), (4095, 2), (5000, 9000), (len(CONTENT) - 7, 7)])
def test_any_bytes_are_read(tmp_path: Path, start: int, length: int) -> None:
    file = ListFile(file_of(tmp_path), len(CONTENT))
    assert read(file, start, length) == CONTENT[start : start + length]


@direct
def test_a_file_system_without_direct_reads_is_read_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, real = list[int](), os.open

    def refusing(path: Path, flags: int) -> int:
        opened.append(flags)
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(path, flags)

    path, in_full = file_of(tmp_path), os.preadv
    monkeypatch.setattr(os, "open", refusing)
    assert read(ListFile(path, len(CONTENT)), 5000, 9000) == CONTENT[5000:14000]
    assert opened == [os.O_RDONLY | os.O_DIRECT, os.O_RDONLY]
    monkeypatch.setattr(os, "preadv", lambda file, parts, place: in_full(file, [parts[0][:1000]], place))
    assert read(ListFile(path, len(CONTENT)), 5000, 9000) == CONTENT[5000:14000]  # a piece may end within a page


@direct
def test_a_file_system_that_refuses_direct_reads_late_is_read_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, real = list[int](), os.preadv

    def refusing(descriptor: int, parts: list[memoryview], place: int) -> int:
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_DIRECT:
            refused.append(place)
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(descriptor, parts, place)

    file = ListFile(file_of(tmp_path), len(CONTENT))
    monkeypatch.setattr(os, "preadv", refusing)
    assert read(file, 5000, 9000) == read(file, 5000, 9000) == CONTENT[5000:14000]
    assert len(refused) == 1


@pytest.mark.parametrize("size", [0, len(CONTENT) - 1, len(CONTENT) + 1])
def test_a_file_of_another_length_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(StoreCorrupt, match="Build the index again"):
        ListFile(file_of(tmp_path), size)


@pytest.mark.parametrize("left", [0, 5000, 8192, len(CONTENT) - 1])
def test_what_was_cut_off_later_is_said(tmp_path: Path, left: int) -> None:
    path = file_of(tmp_path)
    file = ListFile(path, len(CONTENT))
    os.truncate(path, left)
    with pytest.raises(StoreCorrupt, match="cut short"):
        read(file, 0, len(CONTENT))


def test_a_disk_that_does_not_give_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ListFile(file_of(tmp_path), len(CONTENT))

    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", broken)
    with pytest.raises(StoreError, match="input/output error"):
        read(file, 0, 10)


def test_a_read_through_the_page_cache_may_come_in_any_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.preadv
    file = ListFile(file_of(tmp_path), len(CONTENT))
    file._read_buffered()
    monkeypatch.setattr(os, "preadv", lambda file, parts, place: real(file, [parts[0][:1000]], place))
    assert read(file, 100, 20_000) == CONTENT[100:20_100]


def test_reads_that_come_in_pieces_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, parts, place: real(file, [parts[0][:PAGE]], place))
    assert read(ListFile(file_of(tmp_path), len(CONTENT)), 100, 20_000) == CONTENT[100:20_100]
