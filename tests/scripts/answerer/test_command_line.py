"""The command line of the training, with a fake training that ends as a test says. Needs no torch."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.answerer.__main__ import main
from scripts.answerer.recipe import Recipe
from scripts.places import CannotRun
from scripts.training import OtherRecipe
from shared.errors import WeightsDamaged

ROOT = Path(__file__).parents[3]


@pytest.fixture
def teaching(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Path]], None]:
    """Returns a function that replaces the training by the given function."""

    def be(teach: Callable[..., Path]) -> None:
        module = ModuleType("scripts.answerer.teaching")
        module.teach = teach  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return be


def test_help_tells_options_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    output = capsys.readouterr().out
    numbers = ("(default: 900000)", "(default: 3)", "(default: 32)", "(default: 0.0008)")
    for word in ("--data DIR", "--tokens", "--runs", *numbers, "Ctrl-C", "Exit codes: 0 done", "130"):
        assert word in output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "DIR, --data"),
        (["room"], "--data"),
        (["room", "--data", "nowhere"], "there is no folder nowhere"),
        (["room", "--data", ".", "--tokens", "0"], "0 is not a whole number from 1 on"),
        (["room", "--data", ".", "--runs", "0"], "0 is not a whole number from 1 on"),
        (["room", "--data", ".", "--rank", "x"], "x is not a whole number from 1 on"),
        (["room", "--data", ".", "--rate", "x"], "x is not between 0 and 1"),
        (["room", "--data", ".", "--rate", "nan"], "nan is not between 0 and 1"),
        (["room", "--data", ".", "--threads", "-1"], "-1 is not a whole number from 1 on"),
    ],
)
def test_wrong_usage_is_told_and_ends_with_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert said in capsys.readouterr().err


def test_without_the_extra_it_names_what_brings_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; from scripts.answerer.__main__ import main; "
        f"sys.exit(main([{str(tmp_path)!r}, '--data', '.']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert re.search(r"cannot be trained: \w+ is missing. Run: scripts/install train\n$", done.stderr)


def test_what_is_given_reaches_the_training_and_the_adapters_path_is_all_that_stdout_gets(
    teaching: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given: list[Any] = []

    def teach(*arguments: Any) -> Path:
        given.extend(arguments)
        arguments[-1].add_task("learning", total=4)
        return tmp_path / "a.gguf"

    teaching(teach)
    options = ["--tokens", "9", "--rank", "8", "--rate", "0.01", "--seed", "3", "--runs", "2", "--threads", "2"]
    assert main([str(tmp_path), "--data", str(ROOT), *options]) == 0
    assert given[:5] == [tmp_path, ROOT, Recipe(rank=8, rate=0.01, seed=3, runs=2), 9, 2]
    assert capsys.readouterr().out == f"{tmp_path / 'a.gguf'}\n"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CannotRun("no data."), 3, "The answerer cannot be trained: no data."),
        (OtherRecipe("It is of another."), 1, "It is of another. Name another folder, or begin again: rm -r "),
        (WeightsDamaged("Pull it again."), 1, "The training failed: Pull it again."),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "Stopped. The same command continues from here."),
    ],
)
def test_every_end_has_its_words_and_its_code(
    teaching: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    error: BaseException,
    code: int,
    said: str,
) -> None:
    def teach(*_: Any) -> Path:
        raise error

    teaching(teach)
    assert main([str(tmp_path), "--data", "."]) == code
    output = capsys.readouterr()
    assert said in output.err
    assert output.out == ""


def test_progress_is_seen_on_a_terminal(terminal: Callable[..., Any], tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import sys
from types import ModuleType
sys.path.insert(0, {str(ROOT)!r})
teaching = sys.modules["scripts.answerer.teaching"] = ModuleType("teaching")
def teach(room, data, recipe, tokens, threads, bar):
    bar.add_task("learning, loss 1.25", total=40, completed=7)
    return room / "a.gguf"
teaching.teach = teach
from scripts.answerer.__main__ import main
from scripts.training import OtherRecipe
sys.exit(main([{str(tmp_path)!r}, "--data", {str(tmp_path)!r}]))
""",
        encoding="utf-8",
    )
    shown = terminal([sys.executable, str(program)], {"PATH": "/usr/bin"})
    shown.awaits(r"learning, loss 1\.25 .*7/40")
    assert shown.ends() == 0
