"""Reading rows of a file in whole pages: the right bytes, no page read twice, and errors that name the file."""

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import StoreCorrupt, StoreError
from storage.list_file import PAGE, ListFile
from storage.row_reader import RowReader, runs

CONTENT = np.random.default_rng(1).integers(0, 256, 40 * PAGE + 123, np.uint8).tobytes()


@given(
    row_bytes=st.sampled_from([1, 32, 768, PAGE, 9000]),
    places=st.lists(st.integers(0, len(CONTENT) - 9000), max_size=60),
)
def test_rows_at_any_places_are_read_in_their_order(
    tmp_path_factory: pytest.TempPathFactory, row_bytes: int, places: list[int]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "lists"
    path.write_bytes(CONTENT)
    rows = RowReader(ListFile(path, len(CONTENT)), row_bytes).read(np.array(places, np.int64))
    assert rows.shape == (len(places), row_bytes)
    assert [row.tobytes() for row in rows] == [CONTENT[place : place + row_bytes] for place in places]


@given(row_bytes=st.integers(1, 20_000), places=st.lists(st.integers(0, 10**6), max_size=60))
def test_runs_hold_every_row_and_do_not_touch(row_bytes: int, places: list[int]) -> None:
    needed = runs(np.array(places, np.int64), row_bytes)
    for place in places:
        assert any(run.first <= place and place + row_bytes <= run.first + run.length for run in needed)
    for run, following in pairwise(needed):
        assert run.first + run.room < following.first
    assert all(run.first % PAGE == 0 and run.length <= run.room < run.length + PAGE for run in needed)
    assert sum(run.room for run in needed) <= len(places) * (row_bytes + 2 * PAGE)


def test_the_last_row_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    path.write_bytes(CONTENT)
    reader = RowReader(ListFile(path, len(CONTENT)), 100)
    assert reader.read(np.array([len(CONTENT) - 100]))[0].tobytes() == CONTENT[-100:]


def test_a_file_that_was_cut_fails_the_rows_that_lay_behind(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    path.write_bytes(CONTENT)
    reader = RowReader(ListFile(path, len(CONTENT)), 100)
    os.truncate(path, 2 * PAGE)
    assert reader.read(np.array([PAGE]))[0].tobytes() == CONTENT[PAGE : PAGE + 100]
    with pytest.raises(StoreCorrupt, match="cut short"):
        reader.read(np.array([PAGE, 9 * PAGE]))


def test_a_process_that_gets_no_thread_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lists"
    path.write_bytes(CONTENT)
    reader = RowReader(ListFile(path, len(CONTENT)), 100)

    def submit(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit)
    with pytest.raises(StoreError, match="can't start new thread"):
        reader.read(np.array([0]))


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lists"
    path.write_bytes(CONTENT)
    reader = RowReader(ListFile(path, len(CONTENT)), 500)

    def check(seed: int) -> None:
        places = np.random.default_rng(seed).integers(0, len(CONTENT) - 500, 40)
        for place, row in zip(places.tolist(), reader.read(places), strict=True):
            assert row.tobytes() == CONTENT[place : place + 500]

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(check, range(60)))
