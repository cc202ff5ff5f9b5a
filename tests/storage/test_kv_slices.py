"""The table of slices of KV states: rows are stored, uses are counted, and slices of deleted passages are listed."""

from pathlib import Path

import pytest

from storage.database import Database
from storage.kv_slices import KVSlices


@pytest.fixture
def slices(tmp_path: Path) -> KVSlices:
    return KVSlices(Database(tmp_path / "jackdaw.db"))


def test_a_slice_is_known_until_it_is_forgotten(slices: KVSlices) -> None:
    slices.put("root", None, "model", None, 5, 100)
    slices.put("leaf", "root", "model", 7, 3, 60)
    assert slices.known(["root", "leaf", "other"]) == {"root", "leaf"}
    assert slices.known([]) == set()
    assert slices.bytes() == 160
    slices.forget(["leaf", "other"])
    assert [row.name for row in slices.all()] == ["root"]
    assert slices.bytes() == 100


def test_a_slice_put_again_keeps_its_uses(slices: KVSlices) -> None:
    slices.put("root", None, "model", 7, 5, 100)
    slices.used(["root", "root", "other"])
    slices.put("root", None, "model", 8, 5, 120)
    (row,) = slices.all()
    assert (row.uses, row.bytes, row.passage_id) == (2, 120, 8)


def test_the_most_used_come_first_and_a_use_renews_the_time(slices: KVSlices) -> None:
    for name in ("a", "b", "c"):
        slices.put(name, None, "model", None, 1, 1)
    slices.used(["b"])
    first, *_ = slices.all()
    assert (first.name, first.uses) == ("b", 1)
    assert first.used_at > first.created_at


def test_slices_of_passages_that_are_not_known_are_found(slices: KVSlices) -> None:
    slices.put("root", None, "model", None, 1, 1)
    slices.put("leaf", "root", "model", 7, 1, 1)
    assert slices.of_missing_passages() == ["leaf"]
