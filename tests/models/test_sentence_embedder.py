"""Any sentence-transformers model: its vectors, its prefixes, and what of it is never opened."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from models import sentence_embedder
from models.embedder import OnnxEmbedder
from models.sentence_embedder import SentenceEmbedder, Side, address, prefixes_of
from shared.errors import UsageError, WeightsDamaged, WeightsMissing
from tests.models.test_embedder import TEXTS

torch = pytest.mark.torch
quiet = pytest.mark.filterwarnings("default")  # torch and its company warn about themselves
NONE: dict[Side, str] = {"query": "", "passage": ""}
E5: dict[Side, str] = {"query": "query: ", "passage": "passage: "}


@pytest.fixture
def model(sentence_model: Path, tmp_path: Path) -> Path:
    """A copy of the model that a test may change."""
    pytest.importorskip("sentence_transformers", reason="needs the embedders extra")
    return Path(shutil.copytree(sentence_model, tmp_path / "model"))


@torch
@quiet
@pytest.mark.weights
def test_its_vectors_are_those_of_the_devices_embedder(model: Path, weights: Path) -> None:
    embedder = SentenceEmbedder(str(model), NONE, "passage", 2)
    expected = OnnxEmbedder(weights / "all-minilm-l6-v2", 2).embed(TEXTS)
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert (vectors.shape, embedder.dimensions) == (expected.shape, 384)
    assert (vectors * expected).sum(axis=1).min() >= 0.9999
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed([]).shape == (0, 384)
    assert np.isfinite(embedder.embed(["\ud800 alone", "", "x" * 50_000])).all()


@torch
@quiet
def test_each_side_has_its_prefix_and_both_one_fingerprint(model: Path) -> None:
    plain = SentenceEmbedder(str(model), NONE, "query")
    query, passage = (SentenceEmbedder(str(model), E5, side) for side in ("query", "passage"))
    assert query.fingerprint == passage.fingerprint != plain.fingerprint
    assert len(query.fingerprint) <= 128
    for embedder, prefix in ((query, "query: "), (passage, "passage: ")):
        np.testing.assert_allclose(embedder.embed(["cats"]), plain.embed([f"{prefix}cats"]), atol=1e-6)


@torch
@quiet
def test_a_prompt_of_the_models_own_is_not_put_before_ours(model: Path) -> None:
    plain = SentenceEmbedder(str(model), NONE, "query").embed(["cats"])
    (model / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": {"query": "query: ", "document": "passage: "}, "default_prompt_name": "query"})
    )
    assert prefixes_of(str(model)) == E5
    np.testing.assert_allclose(SentenceEmbedder(str(model), NONE, "query").embed(["cats"]), plain, atol=1e-6)


@torch
@quiet
def test_files_that_changed_are_another_embedder(model: Path) -> None:
    before = SentenceEmbedder(str(model), NONE, "query").fingerprint
    with (model / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\1")
    assert SentenceEmbedder(str(model), NONE, "query").fingerprint != before


@torch
@quiet
def test_several_threads_may_use_it(model: Path) -> None:
    embedder = SentenceEmbedder(str(model), NONE, "query", 2)
    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(embedder.embed, [[text] for text in TEXTS]))
    np.testing.assert_allclose(np.concatenate(vectors), embedder.embed(TEXTS), atol=1e-5)


@torch
@quiet
def test_pickles_and_code_are_never_opened(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(UsageError, match="no safetensors"):
        SentenceEmbedder(str(model), NONE, "query")
    (model / "pytorch_model.bin").unlink()
    with pytest.raises(WeightsDamaged, match="cannot be loaded"):
        SentenceEmbedder(str(model), NONE, "query").embed(["cats"])
    modules = json.loads((model / "modules.json").read_text())
    modules[0]["type"] = "custom_st.Transformer"
    (model / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UsageError, match="brings code of its own"):
        SentenceEmbedder(str(model), NONE, "query")


@torch
@pytest.mark.parametrize(
    ("name", "error"),
    [("/nowhere", UsageError), ("../nowhere", UsageError), ("a/b/c", UsageError), ("nobody/nothing", WeightsMissing)],
)
def test_a_model_that_is_not_here_names_the_next_step(name: str, error: type[Exception]) -> None:
    pytest.importorskip("sentence_transformers", reason="needs the embedders extra")
    with pytest.raises(error, match="hf download nobody/nothing" if error is WeightsMissing else "There is no folder"):
        SentenceEmbedder(name, NONE, "query")


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_embedder, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="scripts/install server embedders"):
        SentenceEmbedder(str(tmp_path), NONE, "query")


@pytest.mark.skipif(not find_spec("sentence_transformers"), reason="checks what comes behind the extra")
def test_a_folder_without_a_model_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sentence-transformers model"):
        SentenceEmbedder(str(tmp_path), NONE, "query")


def test_a_folder_is_named_by_its_path_and_a_model_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    assert address("model") == str(tmp_path / "model")
    assert address("intfloat/e5-small-v2") == "intfloat/e5-small-v2"


def test_importing_it_loads_neither_torch_nor_the_library() -> None:
    code = "import sys, models.sentence_embedder; print({'torch', 'sentence_transformers'} & set(sys.modules))"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=True).stdout == b"set()\n"
