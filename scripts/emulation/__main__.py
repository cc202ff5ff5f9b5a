"""Runs Jackdaw on an emulated aarch64 Debian: its engine's tests, its self-tests of exactness with each build, and one
question.

Systems and results are kept in DIR: a run that was stopped continues where it was. Takes some 700 MB, and 50 minutes on
two cores with little other work.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from models.catalog import Weights, find
from models.llama_bindings import BINDINGS_VARIABLE
from scripts.emulation.builds import BUILDS, make_build, make_metadata, make_packages, make_short
from scripts.emulation.report import judged, page
from scripts.emulation.system import System
from scripts.places import CannotRun, step
from shared.errors import JackdawError
from storage.paths import HOME_VARIABLE, Paths

_ROOT: Final = Path(__file__).parents[2]
_PAGE: Final = _ROOT / "scripts" / "AARCH64.md"
_STEPS: Final = ("exactness", "contract", "question")
_MODEL, _EMBEDDER = "smollm2-135m", "all-minilm-l6-v2"
_QUESTION: Final = "When is the dentist appointment, now that it has been moved?"
_PREFIX: Final = "/data/data/com.termux/files/usr"
"""Termux's folder of programs, where a build lies in the emulated system as Termux's package would."""

_JACKDAW: Final = "import sys; from device_app.cli import main; sys.argv[0] = 'jackdaw'; sys.exit(main())"

_EXAMPLES: Final = """Examples:
  scripts/aarch64                                              all builds, in the user's cache folder
  scripts/aarch64 /data/arm --build armv8-a --build i8mm       two of them, in another folder
  scripts/aarch64 --step exactness                             not the tests, and no question
  scripts/aarch64 --write                                      write the results to scripts/AARCH64.md

Exit codes: 0 done, and every verdict is right; 1 something failed; 2 usage; 3 it cannot be run here; 130 stopped"""


class Emulation:
    """A folder with the emulated system and the results. Results belong to the current revision; those of another one
    are computed again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.system = System(folder / "debian")
        self.revision = subprocess.run(
            ["git", "-C", str(_ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def make(self) -> None:
        """Make the emulated system, its packages and the models. Raises CannotRun, JackdawError."""
        (self.folder / "results").mkdir(parents=True, exist_ok=True)
        self.system.make()
        make_packages(self.folder / "site", self.system.python, _ROOT / "pyproject.toml")
        make_metadata(self.folder / "site", _ROOT / "pyproject.toml")
        step("fetching the models")
        weights = Weights(Paths.locate({HOME_VARIABLE: str(self.folder / "home")}).weights)
        for name in (_MODEL, f"{_MODEL}-q4_1", _EMBEDDER):
            weights.pull(find(name))
        short = self.folder / "short"
        short.mkdir(exist_ok=True)
        for name in (_MODEL, f"{_MODEL}-q4_1"):
            path = weights.path(find(name))
            make_short(path, short / path.name)

    def exactness(self, build: str) -> None:
        """Test which results are exact with a build of llama.cpp."""
        if self._is_done(f"exactness {build}"):
            return
        step(f"{build}: what is exact")
        said = self._run(build, "-m", "scripts.emulation.table", "/short/" + find(_MODEL).files[0])
        self._keep(f"exactness {build}", json.loads(said))

    def contract(self, build: str) -> None:
        """Run the engine's contract tests with a build of llama.cpp."""
        if self._is_done("contract"):
            return
        step(f"{build}: the engine's contract")
        options = ["-q", "-p", "no:cacheprovider", "-p", "scripts.emulation.short_weights", "--timeout=0"]
        options += ["--hypothesis-profile=emulated"]
        tests = ["-c", str(_ROOT / "pyproject.toml"), "-k", "llama", str(_ROOT / "tests/models/test_engines.py")]
        said = self._run(build, "-m", "pytest", *options, *tests, accepted=(0, 1))
        lines = said.strip().splitlines()
        failed = [line.rpartition("::")[2] for line in lines if line.startswith(("FAILED", "ERROR"))]
        self._keep("contract", {"build": build, "said": lines[-1], "failed": failed})

    def question(self, build: str) -> None:
        """Ask one question about the sample files of a fictional person, with a build of llama.cpp."""
        if self._is_done("question"):
            return
        step(f"{build}: a question about the sample life")
        # Read on this machine, as embedding it would take an hour there: the store is the same.
        read = [sys.executable, "-c", _JACKDAW, "add", str(_ROOT / "scripts" / "sample_life")]
        home = {**os.environ, HOME_VARIABLE: str(self.folder / "home"), "PYTHONPATH": str(_ROOT)}
        subprocess.run(read, env=home, check=True, stdout=subprocess.DEVNULL)
        answer = self._jackdaw(build, "ask", _QUESTION)
        exactness = self._jackdaw(build, "models", "info")["exactness"]["said"]
        asked = {"build": build, "text": _QUESTION, "answer": answer["answer"], "origin": answer["origin"]}
        self._keep("question", asked | {"exactness": exactness})

    def result(self, name: str) -> dict[str, Any] | None:
        """Return a stored result, from this revision or another one."""
        file = self._file(name)
        return json.loads(file.read_text("utf-8")) if file.is_file() else None

    def results(self) -> dict[str, Any]:
        """Return all stored results."""
        tables = {build: table for build in BUILDS if (table := self.result(f"exactness {build}"))}
        return {"exactness": tables, "contract": self.result("contract"), "question": self.result("question")}

    def _jackdaw(self, build: str, *arguments: str) -> Any:
        return json.loads(self._run(build, "-c", _JACKDAW, *arguments, "--json"))

    def _run(self, build: str, *arguments: str, accepted: Sequence[int] = (0,)) -> str:
        """Run Python in the emulated system with a build; return its output. Raises CannotRun for exit codes other than
        the expected ones.
        """
        package = make_build(self.folder / "builds", build)
        own = {f"/{name}": self.folder / name for name in ("site", "short", "home")}
        ended = self.system.run(
            ["/usr/bin/python3", *arguments],
            {_PREFIX: package, str(_ROOT): _ROOT, **own},
            {
                "PREFIX": _PREFIX,
                BINDINGS_VARIABLE: "header",
                "PYTHONPATH": f"{_ROOT}:/site",
                "PYTHONDONTWRITEBYTECODE": "1",
                "TEST_WEIGHTS": "/short",
                HOME_VARIABLE: "/home",
                "JACKDAW_YES": "1",
                # Emulated threads wait for each other by spinning.
                "JACKDAW_MODEL_THREADS": "1",
                "JACKDAW_EMBEDDER_THREADS": "1",
            },
        )
        if ended.returncode not in accepted:
            raise CannotRun(f"{' '.join(arguments)} failed in the emulated system:\n{ended.stdout[-2000:]}")
        return ended.stdout

    def _is_done(self, name: str) -> bool:
        result = self.result(name)
        return result is not None and result["revision"] == self.revision

    def _keep(self, name: str, result: Mapping[str, Any]) -> None:
        mark = {"revision": self.revision, "date": datetime.now(UTC).date().isoformat()}
        part = self._file(name).with_suffix(".part")
        part.write_text(json.dumps({**result, **mark}, indent=1), "utf-8")
        part.replace(self._file(name))

    def _file(self, name: str) -> Path:
        return self.folder / "results" / f"{name}.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. For usage errors argparse exits with code 2."""
    parser = argparse.ArgumentParser(
        prog="scripts/aarch64",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="folder for the system and the results (default: the user's cache folder)",
    )
    parser.add_argument("--build", action="append", choices=BUILDS, help="a build to run (default: all)")
    parser.add_argument("--step", action="append", choices=_STEPS, help="a step to run (default: all)")
    parser.add_argument("--json", action="store_true", help="print the results as one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write the results to {_PAGE.relative_to(_ROOT)}")
    given = parser.parse_args(arguments)
    folder: Path = given.folder or Paths.locate(os.environ).cache / "aarch64"
    if folder.resolve().is_relative_to(_ROOT):
        parser.error("choose a folder outside of the repository")
    builds: list[str] = given.build or list(BUILDS)
    steps: list[str] = given.step or list(_STEPS)
    try:
        emulation = Emulation(folder)
        emulation.make()
        if "exactness" in steps:
            for build in builds:
                emulation.exactness(build)
        if "contract" in steps:
            emulation.contract(builds[0])
        if "question" in steps:
            emulation.question(builds[min(1, len(builds) - 1)])
    except CannotRun as reason:
        return _ended(3, str(reason))
    except (JackdawError, OSError) as error:
        return _ended(1, str(error))
    except KeyboardInterrupt:
        return _ended(130, "Stopped. Run the same command again to continue.")
    results = emulation.results()
    if given.write:
        _PAGE.write_text(page(results), "utf-8")
    print(json.dumps(results) if given.json else page(results))
    verdicts = [judged(table[kv]) for table in results["exactness"].values() for kv in ("f16", "q8_0")]
    return 1 if "wrong" in verdicts else 0


def _ended(code: int, why: str) -> int:
    print(why, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
