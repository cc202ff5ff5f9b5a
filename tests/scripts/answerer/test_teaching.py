"""The whole training of an adapter, with small generated data, few tokens and two layers of the real model."""

from argparse import Namespace
from copy import deepcopy
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from rich.progress import Progress

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("gguf", reason="needs the train extra")
if find_spec("peft") is None:  # importing it takes seconds, in each worker
    pytest.skip("needs the train extra", allow_module_level=True)

from models.adapter import fitting
from models.catalog import Weights, find
from scripts.answerer import teaching
from scripts.answerer.llama import Llama, from_gguf
from scripts.answerer.recipe import USED, Recipe
from scripts.answerer.training import Trainer
from scripts.benchmarks import answers
from scripts.training import OtherRecipe
from tests.scripts.datasets import made_data

pytestmark = [pytest.mark.torch, pytest.mark.weights]

MEASURED = {"asked": 40, **dict.fromkeys(("f1", "contains", "rouge_l", "tokens", "ms"), 0.5), "abstain": {"right": 0.8}}
FIGURES = {"xquad": {"adapter": {"best": MEASURED}}, "skills": {"adapter": {"chats": []}}}


def test_folders_become_an_adapter_with_its_card_and_once_only(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[Namespace] = []

    def run(arguments: Namespace) -> dict[str, Any]:
        measured.append(arguments)
        return FIGURES

    @cache
    def shallow(*given: Any) -> Llama:
        # A processor without instructions for bfloat16 takes ten times as long in it.
        model: Llama = from_gguf(*given).float()
        model.blk = model.blk[:2]
        return model

    monkeypatch.setattr(teaching, "weights", lambda *_: Weights(weights))
    monkeypatch.setattr(teaching, "Trainer", partial(Trainer, compiled=False))
    monkeypatch.setattr(teaching, "from_gguf", lambda *given: deepcopy(shallow(*given)))
    monkeypatch.setattr(answers, "run", run)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")  # put back afterwards
    data, room = made_data.folders(tmp_path / "data"), tmp_path / "room"

    def teach(recipe: Recipe) -> Path:
        return teaching.teach(room, data, recipe, 900, 1, Progress(disable=True))

    adapter = teach(Recipe(rank=2, runs=2))
    fitted = fitting(adapter, Weights(weights).path(find("smollm2-135m")))
    assert (fitted.rank, fitted.name) == (32, "smollm2-135m-answerer")
    assert fitted.alpha == pytest.approx(2 * 32 * USED)
    assert len([*room.glob("state-*")]) == 2
    assert "XQuAD" in fitted.description
    assert (measured[0].adapter, measured[0].data, measured[0].quick) == (adapter, data, False)
    assert "| xquad | best | adapter | 40 | 0.5 |" in adapter.with_suffix(".md").read_text("utf-8")

    before = adapter.read_bytes()
    monkeypatch.setattr(Trainer, "learn", None)  # nothing is left to be learnt
    assert teach(Recipe(rank=2, runs=2)).read_bytes() == before
    with pytest.raises(OtherRecipe, match="rank=2"):
        teach(Recipe(rank=3, runs=2))
