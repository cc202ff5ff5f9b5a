"""How many threads a model computes with: on a phone, as many as it has big cores."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import threads as module
from models.threads import big_cores, physical_cores, threads

PIXEL = [250] * 4 + [760] * 3 + [1024]
CAPACITIES = {"a phone's": (PIXEL, [4, 5, 6, 7]), "alike": ([1024] * 4, [0, 1, 2, 3]), "one core": ([1024], [0])}
CLOCKS = {
    "a phone's": ([1_800_000] * 4 + [2_420_000] * 3 + [2_840_000], [4, 5, 6, 7]),
    "a laptop's": ([5_000_000] * 4 + [3_800_000] * 4, list(range(8))),
}


def cores(folder: Path, name: str, sizes: list[int]) -> None:
    for core, size in enumerate(sizes):
        file = folder / f"cpu{core}" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{size}\n")


@pytest.mark.parametrize(("sizes", "big"), CAPACITIES.values(), ids=CAPACITIES)
def test_big_cores_are_known_by_their_capacity(sizes: list[int], big: list[int], tmp_path: Path) -> None:
    cores(tmp_path, "cpu_capacity", sizes)
    cores(tmp_path, "cpufreq/cpuinfo_max_freq", [1] * len(sizes))
    assert big_cores(range(len(sizes)), tmp_path) == big


@pytest.mark.parametrize(("sizes", "big"), CLOCKS.values(), ids=CLOCKS)
def test_or_by_their_clock(sizes: list[int], big: list[int], tmp_path: Path) -> None:
    cores(tmp_path, "cpufreq/cpuinfo_max_freq", sizes)
    assert big_cores(range(len(sizes)), tmp_path) == big


def test_of_those_that_the_process_may_use(tmp_path: Path) -> None:
    cores(tmp_path, "cpu_capacity", PIXEL)
    assert big_cores({0, 1, 6}, tmp_path) == [6]
    assert big_cores({0, 1, 2, 3}, tmp_path) == [0, 1, 2, 3]  # in the background Android allows the small ones alone


@pytest.mark.parametrize("said", [None, "", "much", "0", "-4"])
def test_where_the_system_says_nothing_all_count(said: str | None, tmp_path: Path) -> None:
    if said is not None:
        cores(tmp_path, "cpu_capacity", [1024, 1024])
        (tmp_path / "cpu1" / "cpu_capacity").write_text(said)
    assert set(big_cores({0, 1}, tmp_path)) == {0, 1}


@pytest.mark.parametrize("name", ["core_cpus_list", "thread_siblings_list"])
def test_a_physical_core_counts_once(name: str, tmp_path: Path) -> None:
    for core, alike in enumerate(["0,4", "1,5", "2", "3", "0,4", "1,5"]):
        file = tmp_path / f"cpu{core}" / "topology" / name
        file.parent.mkdir(parents=True)
        file.write_text(f"{alike}\n")
    assert physical_cores(tmp_path) == 4


def test_where_linux_states_no_cores_psutil_counts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int | None] = [6, None]
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: counts.pop(0))
    assert [physical_cores(tmp_path), physical_cores(tmp_path)] == [6, 0]


def test_on_this_machine_both_count_the_same() -> None:
    assert physical_cores() == (psutil.cpu_count(logical=False) or 0)


def test_threads_are_never_more_than_big_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cores(tmp_path, "cpu_capacity", PIXEL)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(module, "physical_cores", lambda: 8)
    monkeypatch.setattr(module, "big_cores", lambda usable: big_cores(usable, tmp_path))
    assert (threads(0), threads(3)) == (4, 3)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=12))
def test_the_largest_core_is_always_big(sizes: list[int]) -> None:
    with TemporaryDirectory() as folder:
        cores(Path(folder), "cpu_capacity", sizes)
        assert sizes.index(max(sizes)) in big_cores(range(len(sizes)), Path(folder))
