"""Where Termux gets each dependency from: `scripts/termux_packages.toml` agrees with the declared and installed
packages.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
KEPT = tomllib.loads((ROOT / "scripts" / "termux_packages.toml").read_text("utf-8"))
PACKAGES: dict[str, str] = KEPT["packages"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PHONE = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "aarch64",
    "platform_python_implementation": "CPython",
    "platform_system": "Android",
    "python_full_version": f"{KEPT['python']}.0",
    "python_version": KEPT["python"],
    "sys_platform": "android",
}


def _on_a_phone(requirement: Requirement, extras: Iterable[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate(PHONE | {"extra": extra}) for extra in (*extras, ""))


def _needed() -> dict[str, str]:
    """Return each package that Jackdaw needs on a phone, with the package that requires it."""
    needed: dict[str, str] = {}
    visited = set()

    def visit(requirements: Iterable[str], extras: Iterable[str], needing: str) -> None:
        for requirement in map(Requirement, requirements):
            name = canonicalize_name(requirement.name)
            if not _on_a_phone(requirement, extras) or (name, *requirement.extras) in visited:
                continue
            visited.add((name, *requirement.extras))
            needed.setdefault(name, needing)
            try:
                visit(distribution(name).requires or (), requirement.extras, name)
            except PackageNotFoundError:
                continue  # for phones alone: it is in the list, or the test fails

    visit((*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["termux"]), (), "jackdaw")
    return needed


def _elsewhere() -> Iterator[str]:
    """Return the packages that pip installs on a computer, but a phone's own package manager installs on a phone."""
    for requirement in map(Requirement, PROJECT["dependencies"]):
        if not _on_a_phone(requirement, ()):
            yield canonicalize_name(requirement.name)


def test_every_dependency_has_its_place() -> None:
    lost = {f"{name} (needed by {needing})" for name, needing in _needed().items() if name not in PACKAGES}
    lost |= {name for name in _elsewhere() if not PACKAGES.get(name, "").startswith(("pkg ", "tur "))}
    assert not lost, "say in scripts/termux_packages.toml where Termux gets them, or do without"


def test_what_is_pure_has_no_compiled_part() -> None:
    kinds = {kind.partition(" ")[0] for kind in PACKAGES.values()}
    assert kinds <= {"pure", "fallback", "android", "compiled", "pkg", "tur"}
    for name in (name for name, kind in PACKAGES.items() if kind == "pure"):
        tags = re.findall(r"^Tag: (.*)$", distribution(name).read_text("WHEEL") or "", re.MULTILINE)
        assert all(tag.endswith("-none-any") for tag in tags), name


def test_the_script_installs_what_the_list_says() -> None:
    script = (ROOT / "scripts" / "termux").read_text("utf-8")
    names = {kind.partition(" ")[2] for kind in PACKAGES.values() if kind.startswith(("pkg ", "tur "))}
    installed = set(re.findall(r"^(?:packages|tokenizers)='?([a-z -]+)", script, re.MULTILINE))
    assert names | {"python", "termux-api"} == {name for line in installed for name in line.split()}
    compiled = [name for name, kind in PACKAGES.items() if kind == "compiled"]
    assert compiled == re.findall(r"--no-binary (\w+) \1", script)
