"""Measured facts that are stored in a file: whatever the file contains, they are read or measured again."""

from pathlib import Path

import pytest

from models.facts import FactsFile


@pytest.mark.parametrize("text", ["", "{", "[]", '"text"', "\xff", "[" * 100_000, '{"key": ' * 100_000])
def test_what_is_no_file_of_facts_holds_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "facts.json").write_bytes(text.encode("latin-1"))
    file = FactsFile(tmp_path, "facts.json")
    assert file.load() == {}
    file.keep("key", 1)
    assert file.load() == {"key": 1}
