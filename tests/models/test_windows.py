"""Rolling back a model with sliding-window attention after other sequences took its cache cells: the logits are never
wrong.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from models.llama_context import LlamaContext
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import ContextFull
from tests.tiny_model import ARCHITECTURES, VOCABULARY, WINDOW, tiny_model

WINDOWED = [name for name, own in ARCHITECTURES.items() if "attention.sliding_window" in own]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def engine(folder: Path, architecture: str, context: int = 512) -> LlamaCppEngine:
    path = folder / f"{architecture}.gguf"
    if not path.exists():
        tiny_model(path, architecture)
    return LlamaCppEngine(LlamaModel(path), context=context, sequences=4, threads=1)


@pytest.fixture(params=ARCHITECTURES)
def full(request: pytest.FixtureRequest, folder: Path) -> Iterator[LlamaCppEngine]:
    """An engine in which sequence 2 has taken cache cells of tokens of sequence 1 that lie before its
    attention window.
    """
    made = engine(folder, request.param, context=256)
    made.prefill(0, tokens(50))
    made.prefill(1, tokens(100))
    made.clear(0)
    made.prefill(2, tokens(120, seed=1))
    yield made
    made.close()


def tokens(count: int, seed: int = 0) -> list[int]:
    return list(map(int, np.random.default_rng(seed).integers(3, VOCABULARY, count)))


def computed(folder: Path, name: str, *parts: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return the logits after these parts, computed by a new engine."""
    alone = engine(folder, name)
    logits = [alone.prefill(0, part) for part in parts][-1]
    alone.close()
    return logits


@pytest.mark.parametrize("left", [1, WINDOW, 20, 60, 99])
def test_a_rollback_gives_the_logits_of_computing_anew(full: LlamaCppEngine, folder: Path, left: int) -> None:
    full.rollback(1, 100 - left)
    assert full.tokens(1) == tuple(tokens(100)[:left])
    logits = full.prefill(1, tokens(8, seed=2))
    expected = computed(folder, full.info.model, tokens(100)[:left], tokens(8, seed=2))
    assert np.abs(logits - expected).max() < 1e-3  # a sum of f16 states rounds by which cells they lie in
    assert full.prefill(2, [5]).argmax() == computed(folder, full.info.model, tokens(120, seed=1), [5]).argmax()


@pytest.mark.parametrize("architecture", WINDOWED)
def test_without_that_the_logits_were_wrong(folder: Path, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check, this build of llama.cpp really computes wrong logits, so the test above guards against a real
    error.
    """
    monkeypatch.setattr(LlamaCppEngine, "_holds", lambda *_: True)
    made = engine(folder, architecture, context=256)
    made.prefill(0, tokens(50))
    made.prefill(1, tokens(100))
    made.clear(0)
    made.prefill(2, tokens(120, seed=1))
    made.rollback(1, 80)
    expected = computed(folder, architecture, tokens(20), tokens(8, seed=2))
    assert np.abs(made.prefill(1, tokens(8, seed=2)) - expected).max() > 0.01
    made.close()


@pytest.mark.parametrize("step", ["decode", "fork"])
def test_what_was_lost_is_computed_again_whatever_comes_next(full: LlamaCppEngine, folder: Path, step: str) -> None:
    full.rollback(1, 80)
    if step == "fork":
        full.fork(1, 3)
    target = 3 if step == "fork" else 1
    logits = full.decode({target: 7, 2: 9})[target]
    assert np.abs(logits - computed(folder, full.info.model, tokens(20), [7])).max() < 1e-3


def test_a_sequence_that_is_cleared_is_not_computed_again(full: LlamaCppEngine) -> None:
    full.rollback(1, 80)
    before = full.computed
    full.clear(1)
    full.prefill(1, tokens(3))
    assert full.computed == before + 3


def test_where_there_is_no_room_to_compute_it_again_nothing_changes(full: LlamaCppEngine, folder: Path) -> None:
    """A sequence that must be computed again cannot free the cache cells that it shares with its fork, so there may be
    no room.
    """
    full.fork(1, 3)
    full.rollback(1, 40)
    if full.info.model not in WINDOWED:
        return
    with pytest.raises(ContextFull):
        full.prefill(1, [5])
    assert full.tokens(1) == tuple(tokens(100)[:60])
    full.clear(3)
    expected = computed(folder, full.info.model, tokens(60), [5])
    assert np.abs(full.prefill(1, [5]) - expected).max() < 1e-3


def test_an_interrupt_while_it_is_computed_again_loses_nothing(
    full: LlamaCppEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full.rollback(1, 80)
    if 1 not in full._lost:
        assert full.info.model not in WINDOWED
        return
    real = LlamaContext.compute

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LlamaContext, "compute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        full.prefill(1, tokens(8, seed=2))
    monkeypatch.setattr(LlamaContext, "compute", real)
    assert full.length(1) == 20
    expected = computed(folder, full.info.model, tokens(20), tokens(8, seed=2))
    assert np.abs(full.prefill(1, tokens(8, seed=2)) - expected).max() < 1e-3
