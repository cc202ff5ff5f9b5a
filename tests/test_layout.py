"""How the repository is laid out, and what it must not contain."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from models.gguf_header import read_header

ROOT = Path(__file__).parent.parent
PACKAGES = ("device_app", "cloud_server", "models", "storage", "shared")


def test_the_top_level_holds_what_it_should() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name.partition("/")[0] for name in listed.split("\0") if name}
    allowed = {*PACKAGES, "tests", "scripts", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert {name for name in names if not name.startswith(".")} <= allowed


def test_nobody_else_owns_our_package_names() -> None:
    owners = packages_distributions()
    for package in PACKAGES:
        assert set(owners.get(package, ["jackdaw"])) == {"jackdaw"}, package


def test_the_default_install_is_light() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {re.split(r"[^\w-]", requirement)[0] for requirement in project["dependencies"]}
    assert not names & {"torch", "transformers", "sentence-transformers", "faiss-cpu", "faiss", "onnx"}
    assert project["requires-python"] == ">=3.11"


def test_the_licence_is_of_all_that_is_shipped() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    texts = "".join((ROOT / name).read_text("utf-8") for name in project["license-files"])
    named = {"Apache-2.0": "Apache License"}
    adapters = sorted((ROOT / "models" / "adapters").glob("*.gguf"))
    assert adapters
    for adapter in adapters:
        with adapter.open("rb") as file:
            licence = str(read_header(file).values["general.license"].held)
        named[licence.replace(" ", "-")] = licence
    assert set(project["license"].split(" AND ")) == set(named)
    for licence in named.values():
        assert licence in texts


def test_research_is_not_shipped() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "models/research" in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
    for package in PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            if "research" not in file.parts:
                assert "models.research" not in file.read_text("utf-8"), file


def test_tests_are_no_package() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_asking_loads_no_torch() -> None:
    code = (
        "import sys, device_app.device, device_app.cli.ask, models.llama_cpp, models.embedder; "
        "import onnxruntime, tokenizers; "
        "print(*sorted({'torch', 'transformers', 'sentence_transformers', 'faiss', 'onnx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("room", "above"),
    [("datasets", ("benchmarks", "answerer")), ("benchmarks", ("answerer",))],
)
def test_scripts_import_downwards(room: str, above: tuple[str, ...]) -> None:
    """The folders of scripts import in one direction only: the training (answerer) may import the benchmarks, and both
    may import the data sets.
    """
    for path in (ROOT / "scripts" / room).glob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) scripts\.(\w+)", path.read_text("utf-8"), re.MULTILINE)
        assert not set(imported) & set(above), path.name
