"""The server's command line: every command has a help text."""

import importlib.metadata
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cloud_server.access.tokens import TokenFile
from cloud_server.cli import COMMANDS, run
from storage.paths import Paths


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_explains_itself_with_an_example(entry, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    assert run([entry.name, "--help"]) == 0
    assert f"jackdaw-server {entry.name}" in capsys.readouterr().out.partition("Examples:")[2]


def test_version_is_the_distributions(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"jackdaw": "9.8.7"}[name])
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "jackdaw-server 9.8.7\n"


def test_an_invented_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["invent"]) == 2


@pytest.mark.parametrize("moment", ["soon", "2026-03-01T12:00:00", ""])
def test_a_token_whose_date_was_edited_is_listed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], moment: str
) -> None:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path))
    file = Paths.locate({"JACKDAW_HOME": str(tmp_path)}).server_tokens
    TokenFile(file).create("anna-phone", datetime(2026, 3, 1, tzinfo=UTC))
    file.write_text(file.read_text().replace("2026-03-01T00:00:00+00:00", moment))
    assert run(["token", "list"]) == 0
    assert "anna-phone" in capsys.readouterr().out
