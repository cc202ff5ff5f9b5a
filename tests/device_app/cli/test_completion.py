"""`jackdaw completion`: the script for the shell, and which words it completes."""

import json
import sys
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from device_app.cli import jackdaw as group
from device_app.settings import SETTINGS


def completed(*words: str) -> list[str]:
    *before, incomplete = words
    items = ShellComplete(group, {}, "jackdaw", "_JACKDAW_COMPLETE").get_completions(before, incomplete)
    return [item.value for item in items]


@pytest.mark.parametrize(("shell", "mark"), [("bash", "complete -o"), ("zsh", "compdef"), ("fish", "complete --")])
def test_the_script_is_that_shells(shell: str, mark: str, jackdaw: Any) -> None:
    outcome = jackdaw("completion", shell)
    assert outcome.code == 0
    assert mark in outcome.out
    assert "_JACKDAW_COMPLETE" in outcome.out
    assert json.loads(jackdaw("completion", shell, "--json").out)["script"] in outcome.out


def test_commands_complete_without_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "device_app.cli.paths", raising=False)
    assert completed("co") == ["connect", "config", "completion"]
    assert completed("config", "u") == ["unset"]
    assert "device_app.cli.paths" not in sys.modules


@pytest.mark.parametrize("command", ["get", "set", "unset"])
def test_setting_keys_complete(command: str) -> None:
    assert completed("config", command, "") == list(SETTINGS)
    assert completed("config", command, "answer.max") == ["answer.max_tokens"]


def test_values_complete_where_they_are_few() -> None:
    assert completed("config", "set", "model.kv", "") == ["f16", "q8_0"]
    assert completed("config", "set", "answer.evidence", "f") == ["false"]
    assert completed("config", "set", "model.context", "") == []
