"""Wheel and sdist: what is in them, and the demo with a wheel installed in an environment of its own."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import platformdirs
import pytest
from filelock import FileLock

from tests.jackdaw_process import ROOT

PACKAGES = ("device_app/", "cloud_server/", "models/", "storage/", "shared/")
LEFT_OUT = ("models/research/", "device_app/tui/pictures/")
MOST_BYTES = 12_000_000
PIPX = ("pip", "pipx")
"""The packages that pipx needs for an installation: itself, and pip for its environments."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]  # without pip's own cache, llama.cpp is compiled once


@pytest.fixture(scope="module")
def wheels() -> Path:
    """The folder of the wheels that Jackdaw needs to be built and run, downloaded once and kept for later runs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"], *PIPX]
    key = hashlib.sha256("\n".join(needed).encode()).hexdigest()[:12]
    kept = platformdirs.user_cache_path("jackdaw-tests") / f"wheels-{sys.implementation.cache_tag}"
    kept.mkdir(parents=True, exist_ok=True)
    with FileLock(kept / "lock"):
        if not (kept / key).is_dir():
            for older in kept.glob("*/"):
                shutil.rmtree(older)
            run(sys.executable, "-m", "pip", "wheel", "--quiet", "--wheel-dir", kept / "new", *needed)
            (kept / "new").rename(kept / key)
    return kept / key


@pytest.fixture(scope="module")
def archives(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a wheel and an sdist built from the source."""
    folder = tmp_path_factory.mktemp("archives")
    offline(wheels, "install", "--target", folder / "tools", "hatchling")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, given={"PYTHONPATH": str(folder / "tools")})
    return folder


@pytest.fixture(scope="module")
def wheel(archives: Path) -> Path:
    (wheel,) = archives.glob("*.whl")
    return wheel


def run(*command: object, code: int = 0, given: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run a command in the source folder; return its output on stdout or, if it has to fail, on stderr."""
    # Without the variables of the test's own Python, which would show it packages of elsewhere.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, env={**own, **given}, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr[-3000:]
    return done.stderr if code else done.stdout


def offline(wheels: Path, *arguments: object) -> None:
    """Run pip with no package index but the folder `wheels`."""
    run(sys.executable, "-m", "pip", *arguments, "--quiet", given={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)})


def tracked(*patterns: str) -> set[str]:
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns).split("\0")
    return {name for name in names if name and (ROOT / name).exists()}


def members(wheel: Path) -> Iterator[tuple[str, int]]:
    with zipfile.ZipFile(wheel) as archive:
        yield from ((info.filename, info.CRC) for info in archive.infolist())


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
    shipped = {name for name, _ in members(wheel) if ".dist-info/" not in name}
    assert shipped == {name for name in tracked() if name.startswith(PACKAGES) and not name.startswith(LEFT_OUT)}


def test_the_sdist_holds_the_source_and_builds_the_same_wheel(
    archives: Path, wheel: Path, wheels: Path, tmp_path: Path
) -> None:
    (sdist,) = archives.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names <= tracked() | {"PKG-INFO"}
    assert {"scripts/termux", "scripts/sample_life/notes/book_club.md", "pyproject.toml", "LICENSE"} <= names
    offline(wheels, "wheel", "--no-deps", "--wheel-dir", tmp_path, sdist)
    (again,) = tmp_path.glob("*.whl")
    assert dict(members(again)) == dict(members(wheel))


@pytest.mark.weights
def test_the_demo_runs_with_an_installed_wheel(wheel: Path, wheels: Path, weights: Path, tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    run(sys.executable, "-m", "venv", "--without-pip", programs.parent)
    offline(wheels, "--python", programs / "python", "install", "--no-compile", wheel)
    for program in ("jackdaw", "jackdaw-server"):
        assert run(programs / program, "--version") == f"{program} 0.1.0\n"
    without_extra = run(programs / "jackdaw-server", "status", code=2)
    assert "-m pip install 'jackdaw[server]==0.1.0'" in without_extra
    facts = {"JACKDAW": str(programs / "jackdaw"), "JACKDAW_HOME": str(linked(tmp_path / "home", weights))}
    said = run(ROOT / "scripts" / "demo", given=facts)
    answers = said.split("\n> ")[1:]
    for answer, fact in zip(answers, ("19 March", "2,550 euros", "box with the Christmas lights"), strict=True):
        assert fact in answer


def test_pipx_installs_the_programs(wheel: Path, wheels: Path, tmp_path: Path) -> None:
    offline(wheels, "install", "--target", tmp_path / "tools", *PIPX)
    programs = tmp_path / "bin"
    own = {"PYTHONPATH": str(tmp_path / "tools"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    own |= {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(programs), "PIPX_MAN_DIR": str(tmp_path / "man")}
    run(sys.executable, "-m", "pipx", "install", "--pip-args=--no-compile", wheel, given=own)
    assert {program.name for program in programs.iterdir()} == {"jackdaw", "jackdaw-server"}
    for program in programs.iterdir():
        assert run(program, "--version") == f"{program.name} 0.1.0\n"
    listed = json.loads(run(programs / "jackdaw", "models", "--json", given={"JACKDAW_HOME": str(tmp_path / "home")}))
    assert listed["models"]


PKG = """\
#!/bin/sh
# Termux's package managers: packages of Python are installed from a folder of wheels, others are noted.
case "${0##*/} $*" in
  'dpkg --print-architecture') echo aarch64 ;;
  dpkg-query*) for package; do [ ! -e "$PREFIX/var/$package" ] || echo "$package installed"; done ;;
  'pkg install'*)
    shift 2
    for package; do
      : >"$PREFIX/var/$package"
      case $package in
        python) ln -s "$REAL_PYTHON" "$PREFIX/bin/python" ;;
        python-*) "$REAL_PYTHON" -m pip install --quiet --no-deps --target "$PYTHONPATH" "${package#python-}" ;;
      esac
    done ;;
esac
"""
ANDROID = """\
import sys, sysconfig
sysconfig.get_config_vars()
try:
    import psutil  # Termux's own takes Android for Linux
except ImportError:
    pass
sys.platform = "android"
"""
TOOLS = "awk cat cksum cut df dirname grep head ln ls mkdir printf readlink rm sed sh test uname"


@pytest.mark.weights
def test_a_phone_installs_the_wheel_without_a_compiler(
    wheel: Path, wheels: Path, weights: Path, tmp_path: Path
) -> None:
    """`scripts/termux` with real pip, environment and packages; only the phone's package managers are fakes."""
    prefix = tmp_path / "com.termux" / "files" / "usr"
    for folder in ("bin", "var", "site"):
        (prefix / folder).mkdir(parents=True)
    (prefix / "bin" / "pkg").write_text(PKG)
    (prefix / "bin" / "pkg").chmod(0o755)
    for name in ("apt-get", "dpkg", "dpkg-query"):
        (prefix / "bin" / name).symlink_to("pkg")
    for name in TOOLS.split():
        (prefix / "bin" / name).symlink_to(shutil.which(name) or "")
    (prefix / "site" / "sitecustomize.py").write_text(ANDROID)
    phone = {
        "PATH": str(prefix / "bin"),
        "PREFIX": str(prefix),
        "PYTHONPATH": str(prefix / "site"),
        "REAL_PYTHON": str(Path(sys.base_exec_prefix) / "bin" / "python3"),
        "PIP_NO_COMPILE": "1",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "JACKDAW_HOME": str(linked(tmp_path / "home", weights)),
    }
    run("sh", ROOT / "scripts" / "termux", "--yes", wheel, given=phone)
    (site,) = (prefix / "opt" / "jackdaw" / "lib").glob("python*/site-packages")
    own = {path.name for path in site.iterdir()}
    assert {"msgspec", "textual", "device_app"} <= own
    assert not own & {"numpy", "onnxruntime", "psutil", "tokenizers", "llama_cpp", "huggingface_hub"}
    assert not (prefix / "var" / "clang").exists()
    report = json.loads(run("jackdaw", "add", ROOT / "scripts" / "sample_life" / "notes", "--json", given=phone))
    assert report["documents"] > 10
    again = run("sh", ROOT / "scripts" / "termux", wheel, given=phone)  # asks nothing
    assert "to do" not in again


def linked(home: Path, weights: Path) -> Path:
    """Return a data folder with links to the model files."""
    (home / "data").mkdir(parents=True)
    (home / "data" / "weights").symlink_to(weights)
    return home
