"""`scripts/install`: what it prints before llama.cpp is compiled, with a stand-in for Python."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STAND_IN = """\
#!/bin/sh
case "$*" in
  *--dry-run*) [ -n "${WHEEL:-}" ] ;;
  *'cache list'*) if [ -n "${CACHED:-}" ]; then echo "/pip/llama_cpp_python-$CACHED-py3-none-any.whl"; fi ;;
  *platform*) echo 'Python 3.14.1 on Linux riscv64' ;;
  *cpu_count*) echo 4 ;;
  *--editable*) echo "installed" ;;
esac
"""
VERSION = "0.3.36"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A source folder in which the Python environment exists already."""
    for folder in ("scripts", ".venv/bin", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "install", tmp_path / "scripts")
    (tmp_path / "pyproject.toml").write_text(f'    "llama-cpp-python=={VERSION}; ",\n')
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(STAND_IN)
    python.chmod(0o755)
    for tool in ("bash", "cat", "cksum", "dirname", "grep", "sed"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or "")
    (tmp_path / "bin" / "python3").symlink_to(python)
    return tmp_path


def install(source: Path, **facts: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(source / "bin"), **facts}
    return subprocess.run(
        ["bash", "scripts/install", "server"], cwd=source, env=environment, capture_output=True, text=True, check=False
    )


def test_a_wheel_needs_no_compiler_and_nothing_is_said_of_one(source: Path) -> None:
    done = install(source, WHEEL="yes")
    assert (done.returncode, done.stderr) == (0, "Installing into .venv.\ninstalled\n")
    assert install(source).stderr == ""  # nothing has changed since


@pytest.mark.parametrize("kept", [False, True])
def test_a_compile_says_why_and_how_long(source: Path, kept: bool) -> None:
    if not kept:  # what pip compiled earlier needs no compiler
        (source / "bin" / "c++").symlink_to("bash")
    done = install(source, CACHED=VERSION if kept else "0.3.35")
    assert done.returncode == 0
    assert "no ready-made llama.cpp for Python 3.14.1 on Linux riscv64" in done.stderr
    assert "some 2 minutes on 4 cores" in done.stderr


def test_without_a_compiler_it_says_what_to_install(source: Path) -> None:
    done = install(source, CACHED="0.3.35")
    assert done.returncode == 1
    assert "apt install g++ cmake" in done.stderr
    assert "installed\n" not in done.stderr
