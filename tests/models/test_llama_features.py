"""Hidden features from llama.cpp, with random weights: the model's output layer turns them into the same logits."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from models.llama_cpp import LlamaCppEngine
from models.llama_features import LlamaFeatureEngine
from models.llama_model import LlamaModel
from models.verdict import Verdict
from shared.errors import ContextFull, EngineError
from tests.tiny_model import VOCABULARY, tensors, tiny_model


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models") / "tiny.gguf", "llama", plain=True)


@pytest.fixture
def featured(path: Path) -> Iterator[LlamaFeatureEngine]:
    engine = LlamaFeatureEngine(LlamaModel(path), context=256, sequences=3, threads=1, kv_type="f16")
    yield engine
    engine.close()


@pytest.fixture
def plain(path: Path) -> Iterator[LlamaCppEngine]:
    engine = LlamaCppEngine(LlamaModel(path), context=256, sequences=3, threads=1, kv_type="f16")
    yield engine
    engine.close()


def ids(count: int, seed: int = 0) -> list[int]:
    return [int(token) for token in np.random.default_rng(seed).integers(0, VOCABULARY, count)]


def test_the_head_makes_the_logits_of_the_features(path: Path, featured: LlamaFeatureEngine) -> None:
    made = tensors(path.with_suffix(".metadata"))
    head = made.get("output.weight", made["token_embd.weight"]).astype(np.float32)
    logits, features = featured.read(0, ids(70))
    assert features.shape == (70, featured.width)
    assert np.allclose(head @ features[-1], logits, atol=1e-2)
    several = featured.verify({0: ids(3), 1: ids(2, seed=1)})
    for sequence, rows in several.items():
        assert np.allclose(featured.features(sequence) @ head.T, rows, atol=1e-2)


def test_logits_are_the_same_to_the_bit_and_reading_leaves_features_out(
    featured: LlamaFeatureEngine, plain: LlamaCppEngine
) -> None:
    # With features on, a prefill of more tokens than may be outputs would end the process.
    assert np.array_equal(featured.prefill(0, ids(100)), plain.prefill(0, ids(100)))
    for token in ids(3, seed=2):
        assert np.array_equal(featured.decode({0: token})[0], plain.decode({0: token})[0])
        assert featured.features(0).shape == (1, featured.width)
    ours, theirs = featured.verify({0: ids(4)})[0], plain.verify({0: ids(4)})[0]
    assert np.array_equal(ours, theirs)
    assert np.array_equal(featured.prefill(0, ids(100, seed=3)), plain.prefill(0, ids(100, seed=3)))


def test_state_that_is_recomputed_after_a_rollback_gives_no_features(
    featured: LlamaFeatureEngine, plain: LlamaCppEngine
) -> None:
    for engine in (featured, plain):
        engine.restrict(Verdict(frozenset({"rollback"})))
        engine.prefill(0, ids(100))
        engine.rollback(0, 1)
    # More tokens than may be outputs are read again: with features on, that would end the process.
    assert np.array_equal(featured.decode({0: 1})[0], plain.decode({0: 1})[0])
    featured.rollback(0, 1)
    featured.verify({0: ids(2)})
    assert featured.features(0).shape == (2, featured.width)


def test_features_are_of_the_last_pass_alone(featured: LlamaFeatureEngine) -> None:
    featured.prefill(0, ids(5))
    with pytest.raises(EngineError, match="no features"):
        featured.features(0)
    featured.decode({0: 1})
    featured.prefill(1, ids(5))
    featured.decode({1: 1})
    with pytest.raises(EngineError, match="no features"):
        featured.features(0)


def test_what_does_not_fit_leaves_the_sequence_as_it_was(featured: LlamaFeatureEngine) -> None:
    featured.prefill(0, ids(200))
    with pytest.raises(ContextFull):
        featured.read(0, ids(90))
    assert featured.tokens(0) == tuple(ids(200))
    with pytest.raises(EngineError, match="nothing to read"):
        featured.read(0, [])
