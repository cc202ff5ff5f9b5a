"""Counts of passages' uses: stored in a file without times; after damage to the file, all counts begin at 0."""

import json
from pathlib import Path

import pytest

from storage.passage_uses import MOST, PassageUses


def test_counts_are_kept_hottest_first(tmp_path: Path) -> None:
    uses = PassageUses(tmp_path / "room" / "uses.json")
    for ids in ([1, 2], [2], [7, 2, 1]):
        uses.count(ids)
    again = PassageUses(tmp_path / "room" / "uses.json")
    assert uses.hottest() == again.hottest() == [2, 1, 7]
    kept = json.loads((tmp_path / "room" / "uses.json").read_text())
    assert kept.keys() == {"1", "2", "7"}
    assert kept["7"] == 1.0


@pytest.mark.parametrize("content", ["", "{", "[]", '{"1": -1}', '{"x": 1}', '{"1": NaN}', '{"1": 2'])
def test_a_damaged_file_begins_with_no_counts(tmp_path: Path, content: str) -> None:
    file = tmp_path / "uses.json"
    file.write_text(content)
    uses = PassageUses(file)
    assert uses.hottest() == []
    uses.count([5])
    assert PassageUses(file).hottest() == [5]


def test_the_number_of_counts_is_bounded(tmp_path: Path) -> None:
    uses = PassageUses(tmp_path / "uses.json")
    uses.count([-1])
    uses.count([-1, *range(MOST + 10)])
    assert len(uses.hottest()) == MOST
    assert uses.hottest()[0] == -1
