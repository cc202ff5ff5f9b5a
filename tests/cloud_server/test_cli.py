"""The server's command line: each command explains itself."""

import importlib.metadata

import pytest

from cloud_server.cli import COMMANDS, run


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
