"""`jackdaw doctor`: what is wrong is told with where it stands."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from device_app.cli import doctor
from device_app.cli.doctor import Finding
from storage.paths import Paths, write_private


@pytest.fixture(autouse=True)
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    for check in ("_engine", "_embedder"):
        monkeypatch.setattr(doctor, check, lambda _: iter([Finding("model", "ok", "not looked at")]))


def remedy(jackdaw: Any, said: str) -> Any:
    findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
    return next(finding["mend"] for finding in findings if said in finding["said"])


def test_a_model_that_is_none_is_mended_where_it_is_named(
    jackdaw: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_private(paths.config_file, '[model]\nname = "bogus"\n')
    assert remedy(jackdaw, "no model bogus") == (
        f"{paths.config_file} names this model. Choose another: jackdaw config set model.name NAME"
    )
    monkeypatch.setenv("JACKDAW_EMBEDDER_NAME", "smollm2-135m")
    assert remedy(jackdaw, "no embedder smollm2-135m") == (
        "The environment variable JACKDAW_EMBEDDER_NAME names this model. Correct or unset the variable."
    )


def test_a_model_that_is_not_here_is_to_be_pulled(jackdaw: Any) -> None:
    assert remedy(jackdaw, "smollm2-135m") == "Run: jackdaw models pull smollm2-135m"


def test_what_telemetry_left_behind_is_named_with_the_command_that_removes_it(
    jackdaw: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    report = json.loads(jackdaw("doctor", "--json").out)["findings"]
    assert [message["level"] for message in report if message["check"] == "telemetry"] == ["ok"]
    left = tmp_path / ".cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    left.mkdir(parents=True)
    report = json.loads(jackdaw("doctor", "--json").out)["findings"]
    assert [message["level"] for message in report if message["check"] == "telemetry"] == ["warn"]
    command = remedy(jackdaw, str(left)).removeprefix("Run: ")
    assert command.startswith("rm -r ")
    subprocess.run(shlex.split(command), check=True)
    assert not left.exists()
