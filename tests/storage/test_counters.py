"""Counters: amounts are added up, and a value that was set stays."""

from pathlib import Path

from storage.counters import Counters
from storage.database import Database


def test_totals_add_up_across_connections(tmp_path: Path) -> None:
    first, second = (Counters(Database(tmp_path / "jackdaw.db")) for _ in range(2))
    first.add(hits=2, saved=0.5)
    second.add(hits=1, misses=0)
    assert first.all() == second.all() == {"hits": 3, "saved": 0.5}


def test_a_mark_is_set_not_added(tmp_path: Path) -> None:
    counters = Counters(Database(tmp_path / "jackdaw.db"))
    for value in (7, 3, 0):
        counters.set("mark", value)
        assert counters.all() == {"mark": value}
