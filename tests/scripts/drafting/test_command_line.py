"""`scripts/train_draft`: its arguments and its output."""

import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.drafting import __main__ as command
from scripts.drafting.recipe import Collected, Recipe


def test_help_has_examples_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "scripts/train_draft build/draft --data ../shared/data --fusion plain" in said
    assert "Exit codes: 0 done" in said


@pytest.mark.parametrize(
    "wrong", ["--data nowhere", "--positions 0", "--rate 2", "--rate nan", "--fusion none", "--blocks x"]
)
def test_wrong_arguments_are_usage_errors(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main([str(tmp_path / "out"), "--data", str(tmp_path), *wrong.split()])
    assert ended.value.code == 2


@pytest.mark.torch
def test_a_folder_without_questions_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The test uses a tiny model of its own, so that nothing is downloaded."""
    pytest.importorskip("torch", reason="needs the train extra")
    pytest.importorskip("gguf", reason="needs the train extra")
    from tests.tiny_model import tiny_model, words

    wide = {"llama.attention.key_length": 32, "llama.attention.value_length": 32}  # as q8_0 states need
    model = tiny_model(tmp_path / "tiny.gguf", "llama", {**words(), **wide}, plain=True)
    data = tmp_path / "data"
    data.mkdir()
    assert command.main([str(tmp_path / "out"), "--data", str(data), "--model", str(model), "--threads", "1"]) == 3
    assert "A draft network cannot be trained: " in capsys.readouterr().err


def test_without_the_extra_it_names_what_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "scripts.drafting.teaching", None)
    assert command.main([str(tmp_path / "out"), "--data", str(tmp_path)]) == 3
    assert "Run: scripts/install train" in capsys.readouterr().err


@pytest.mark.torch
def test_the_card_tells_data_settings_and_figures() -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    from models.speculative.network import Shape
    from scripts.drafting.card import card

    shape = Shape("gated", 1, 16, 4, 2, 4, 24, 30, 20, 1e-5, 1e4)
    figures: dict[str, Any] = {
        "written": 1234,
        "texts": 12,
        "read": 4321,
        "positions": 99,
        "top1": 0.4,
        "top1_without_prompt": 0.3,
    }
    figures |= {"covered": 0.9, "tokens_per_pass": 1.5, "tokens_per_pass_without_prompt": 1.4}
    figures["int8"] = {"tokens_per_pass_without_prompt": 1.39, "step_ms": {"1": 2.0, "2": 1.8}}
    said = card("small", shape, Recipe(), Collected(), {**figures, "accepted": [0.4, 0.3], "step_ms": {"1": 5.0}})
    for part in (
        "1,234 tokens",
        "temperature 0.7",
        "AdamW, 0.001",
        "| 0.4 |",
        "5.0 ms with 1 thread ",
        "1.8 ms with 2 threads",
        "| 1.39 |",
        "seed 7",
    ):
        assert part in said
