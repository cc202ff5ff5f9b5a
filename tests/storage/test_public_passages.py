"""Passage texts by number: read back as written, from any of the files, even after a file was deleted."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import NotWritable, StoreCorrupt, StoreError
from storage.public_passages import PassageFiles, PassageText, write_passages

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
PASSAGES = st.lists(st.builds(PassageText, TEXTS, TEXTS, TEXTS), max_size=8)


@given(st.lists(PASSAGES, min_size=1, max_size=4))
def test_numbers_go_on_from_file_to_file(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[PassageText]]
) -> None:
    folder = tmp_path_factory.mktemp("passages")
    paths = [folder / str(number) for number in range(len(files))]
    for path, passages in zip(paths, files, strict=True):
        write_passages(path, passages)
    held = PassageFiles(paths)
    expected = [passage for passages in files for passage in passages]
    assert len(held) == len(expected)
    assert [held.read(number) for number in range(len(expected))] == expected
    assert held.read(-1) is None
    assert held.read(len(expected)) is None


def test_what_is_open_is_read_after_it_was_deleted(tmp_path: Path) -> None:
    file = tmp_path / "passages"
    write_passages(file, [PassageText("Rivers", "rivers.txt", "The Danube ends in the Black Sea.")])
    held = PassageFiles([file])
    file.unlink()
    assert held.read(0) == PassageText("Rivers", "rivers.txt", "The Danube ends in the Black Sea.")


@pytest.mark.parametrize("kept", [0, 7, 15, 20, -1])
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "passages"
    write_passages(file, [PassageText("a", "b", "c")] * 3)
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(StoreCorrupt, match="passages"):
        PassageFiles([file])


def test_a_passage_of_damaged_bytes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "passages"
    write_passages(file, [PassageText("a", "b", "c")])
    file.write_bytes(file.read_bytes()[:-6] + b"\xff" * 6)
    with pytest.raises(StoreCorrupt, match="damaged"):
        PassageFiles([file]).read(0)


def test_a_file_of_something_else_and_one_that_is_gone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x" * 100)
    for name in ("other", "gone"):
        with pytest.raises(StoreCorrupt, match=name):
            PassageFiles([tmp_path / name])


def test_a_folder_that_is_not_there_is_not_writable(tmp_path: Path) -> None:
    with pytest.raises(NotWritable, match="Cannot write"):
        write_passages(tmp_path / "nowhere" / "file", [])


def test_a_file_that_is_cut_while_it_is_read_fails_that_passage_alone(tmp_path: Path) -> None:
    file = tmp_path / "passages"
    write_passages(file, [PassageText("a", "b", "c" * 100)] * 3)
    held = PassageFiles([file])
    os.truncate(file, file.stat().st_size - 50)
    with pytest.raises(StoreCorrupt, match="cut short"):
        held.read(2)
    assert held.read(1) == PassageText("a", "b", "c" * 100)


@pytest.mark.parametrize("end", [0, 2**20, 2**45, 2**64 - 1])
def test_an_end_beyond_the_file_or_before_its_start_is_damage(tmp_path: Path, end: int) -> None:
    file = tmp_path / "passages"
    write_passages(file, [PassageText("a", "b", "c" * 100)] * 3)
    content = bytearray(file.read_bytes())
    content[24:32] = end.to_bytes(8, "little")  # of the second passage
    file.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="damaged"):
        PassageFiles([file]).read(1)


def test_a_disk_that_does_not_give_it_is_named_and_the_next_read_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "passages"
    write_passages(file, [PassageText("a", "b", "c" * 100)] * 3)
    held = PassageFiles([file])

    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", broken)
        with pytest.raises(StoreError, match="input/output error"):
            held.read(1)
    assert held.read(1) == PassageText("a", "b", "c" * 100)
