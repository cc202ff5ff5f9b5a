"""The commands that install an optional extra: in a source checkout, or with pip for an installed wheel."""

import subprocess
import sys
from pathlib import Path

import pytest

from shared.extras import remedy

ROOT = Path(__file__).parents[2]


def test_in_the_source_its_script_installs_extras() -> None:
    assert remedy("server", "parquet").endswith("run: scripts/install server parquet")


def test_elsewhere_pip_does_and_takes_no_other_program_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.extras.version", lambda _: "0.1.0")
    monkeypatch.setattr(sys, "executable", "/home/a b/bin/python")
    assert remedy("web", source=tmp_path) == "Run: '/home/a b/bin/python' -m pip install 'jackdaw[web]==0.1.0'"


def test_the_server_names_the_extra_that_it_needs() -> None:
    code = (
        "import sys; sys.modules['prometheus_client'] = None; "
        "from cloud_server.cli import run; sys.exit(run(['doctor']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "scripts/install server" in done.stderr
