"""The telemetry of libraries is off in all processes of Jackdaw, and files that telemetry has left behind are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared.telemetry import OFF, is_off, left_behind, switch_off

ROOT = Path(__file__).parents[2]
ROOMS = ("device_app", "cloud_server", "models", "storage", "shared")
REPORTING = {"onnxruntime", "ray", "torch", "tokenizers", "pymilvus", "huggingface_hub"}
SCRIPTS = sorted(path.parent.name for path in (ROOT / "scripts").glob("*/__init__.py"))


@pytest.mark.parametrize("package", [*ROOMS, *(f"scripts.{name}" for name in SCRIPTS)])
def test_it_is_off_before_anything_of_a_package_runs(package: str) -> None:
    """Importing the package turns telemetry off, whatever the environment says and however the process is started."""
    code = (
        f"import os, sys, {package}\n"
        f"print(*sorted({REPORTING} & set(sys.modules)))\n"
        f"print(*(os.environ[name] for name in {tuple(OFF)}))"
    )
    against = {name: "0" if value == "1" else "1" for name, value in OFF.items()}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | against, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["", " ".join(OFF.values())]


def test_it_is_off_in_tests() -> None:
    assert {name: os.environ.get(name) for name in OFF} == dict(OFF)


def test_it_is_set_whatever_it_was_set_to() -> None:
    environment = {"ORT_DISABLE_TELEMETRY": "0", "PATH": "/bin"}
    switch_off(environment)
    assert environment == {"PATH": "/bin", **OFF}
    assert is_off(environment)
    assert not is_off(environment | {"DO_NOT_TRACK": "0"})
    assert not is_off({})


def test_what_was_left_behind_is_found_wherever_it_is_kept(tmp_path: Path) -> None:
    kept = Path("Microsoft", "DeveloperTools", ".onnxruntime")
    environment = {"HOME": str(tmp_path)}
    assert left_behind(environment) == []
    linux, mac, elsewhere = (tmp_path / ".cache" / kept, tmp_path / "Library" / "Caches" / kept, tmp_path / "x" / kept)
    for folder in (linux, mac, elsewhere):
        folder.mkdir(parents=True)
    assert left_behind(environment) == [str(linux), str(mac)]
    left_files = left_behind(environment | {"XDG_CACHE_HOME": str(tmp_path / "x")})
    assert left_files == [str(elsewhere), str(linux), str(mac)]


def test_a_home_that_is_not_known_holds_nothing() -> None:
    assert left_behind({}) == []
