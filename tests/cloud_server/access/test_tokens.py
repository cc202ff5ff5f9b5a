"""Bearer tokens: shown once, stored as hashes, and invalid from the moment they are revoked."""

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cloud_server.access.tokens import TokenFile
from shared.errors import NothingFound, StoreCorrupt, UsageError

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server" / "tokens.json"


def test_a_token_is_whose_it_is(path: Path) -> None:
    tokens = TokenFile(path)
    entry, token = tokens.create("anna-phone", NOW)
    assert tokens.check(token) == entry
    assert entry.created_at == "2026-03-01T12:00:00+00:00"


def test_its_only_copy_is_what_was_shown(path: Path) -> None:
    _, token = TokenFile(path).create("phone", NOW)
    written = path.read_text()
    assert token not in written
    assert token.rpartition("_")[2] not in written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "change", [lambda t: t[:-1], lambda t: t[:-1] + "g", lambda t: t.upper(), lambda t: "", lambda t: t + " "]
)
def test_any_other_text_is_nobodys(path: Path, change) -> None:  # type: ignore[no-untyped-def]
    tokens = TokenFile(path)
    _, token = tokens.create("phone", NOW)
    assert tokens.check(change(token)) is None
    _, other = tokens.create("laptop", NOW)
    assert tokens.check(token[:17] + other[17:]) is None


def test_another_process_sees_a_token_go_at_once(path: Path) -> None:
    serving, command = TokenFile(path), TokenFile(path)
    assert serving.entries() == []
    _, token = command.create("phone", NOW)
    _, kept = command.create("laptop", NOW)
    assert serving.check(token)
    command.revoke("phone")
    assert serving.check(token) is None
    assert serving.check(kept)
    assert [entry.name for entry in serving.entries()] == ["laptop"]


def test_names_are_taken_once_and_what_is_not_there_cannot_be_revoked(path: Path) -> None:
    tokens = TokenFile(path)
    entry, _ = tokens.create("phone", NOW)
    with pytest.raises(UsageError, match="already"):
        tokens.create("phone", NOW)
    with pytest.raises(UsageError, match="name"):
        tokens.create("a\nb", NOW)
    assert tokens.revoke(entry.id) == entry
    with pytest.raises(NothingFound, match="token list"):
        tokens.revoke("phone")


def test_a_damaged_file_admits_nobody(path: Path) -> None:
    tokens = TokenFile(path)
    _, token = tokens.create("phone", NOW)
    path.write_text('[{"id": 3}]')
    with pytest.raises(StoreCorrupt, match="Correct the file"):
        tokens.check(token)
