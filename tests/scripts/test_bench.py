"""`scripts/bench`: what ends a benchmark early is said in a sentence, with an exit code of its own."""

import sys

import pytest

from scripts.benchmarks import __main__ as bench
from scripts.benchmarks import retrieval
from scripts.places import CannotRun


@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [
        (CannotRun("there is no data."), 3, "retrieval cannot run: there is no data.\n"),
        (KeyboardInterrupt(), 130, "retrieval was stopped before it could show its figures.\n"),
    ],
)
def test_what_ends_a_benchmark_is_said(
    ended: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(_: object) -> dict[str, object]:
        raise ended

    monkeypatch.setattr(retrieval, "run", run)
    monkeypatch.setattr(sys, "argv", ["bench", "retrieval"])
    assert bench.main() == code
    assert capsys.readouterr().err == said
