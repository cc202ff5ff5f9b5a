"""The server's command line says what it is and promises nothing that does not exist."""

import importlib.metadata

import pytest
from click.testing import CliRunner

from cloud_server.cli import main


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_says_that_there_are_no_commands_yet(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert "no commands" in result.stdout


def test_version_is_the_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: {"jackdaw": "9.8.7"}[name])
    assert CliRunner().invoke(main, ["--version"]).stdout == "jackdaw-server 9.8.7\n"


def test_an_invented_command_is_wrong_usage() -> None:
    assert CliRunner().invoke(main, ["serve"]).exit_code == 2
