"""Using any sentence-transformers model: its vectors, its prefixes, and files of it that are never opened."""

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
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
behind_the_extra = pytest.mark.skipif(
    not find_spec("sentence_transformers"), reason="checks what comes behind the extra"
)
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


def modules_json(folder: Path, *modules: object) -> str:
    """Write a list of modules, a valid one followed by these; return the folder's name."""
    first = {"path": "", "type": "sentence_transformers.models.Transformer"}
    (folder / "modules.json").write_text(json.dumps([first, *modules]))
    return str(folder)


@behind_the_extra
@pytest.mark.parametrize(
    ("module", "message"),
    [
        ({"path": "1", "type": "sentence_transformers.models.WordEmbeddings"}, "not opened .WordEmbeddings"),
        ({"path": "1", "type": "sentence_transformers.base.modules.router.Router"}, "not opened .Router"),
        ({"path": "/etc", "type": "sentence_transformers.models.Pooling"}, "outside it ./etc"),
        ({"path": "1/../../x", "type": "sentence_transformers.models.Pooling"}, "outside it"),
        ({"path": "..\\x", "type": "sentence_transformers.models.Pooling"}, "outside it"),
        ({"path": "C:x", "type": "sentence_transformers.models.Pooling"}, "outside it"),
    ],
)
def test_modules_of_other_kinds_and_outside_the_folder_are_refused(
    tmp_path: Path, module: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        SentenceEmbedder(modules_json(tmp_path, module), NONE, "query")


@behind_the_extra
@pytest.mark.parametrize("kind", ["models.Dense", "base.modules.dense.Dense", "sentence_transformer.modules.LayerNorm"])
def test_modules_of_known_kinds_are_opened_wherever_the_library_keeps_them(tmp_path: Path, kind: str) -> None:
    name = modules_json(tmp_path, {"path": "2", "type": f"sentence_transformers.{kind}"})
    SentenceEmbedder(name, NONE, "query")


@behind_the_extra
@pytest.mark.parametrize(
    ("folder", "beside", "is_refused"),
    [
        ("", "model.safetensors", False),
        ("", "model-00001-of-00002.safetensors", False),
        ("", "adapter.safetensors", True),
        ("2", "model.safetensors", False),
        ("2", "model-00001-of-00002.safetensors", True),  # the library opens the other file there
    ],
)
def test_a_pickle_is_refused_unless_what_is_opened_in_its_place_is_there(
    tmp_path: Path, folder: str, beside: str, is_refused: bool
) -> None:
    name = modules_json(tmp_path, {"path": "2", "type": "sentence_transformers.models.Dense"})
    (tmp_path / "2").mkdir()
    for file in ("pytorch_model.bin", beside):
        (tmp_path / folder / file).touch()
    with pytest.raises(UsageError, match="no safetensors") if is_refused else nullcontext():
        SentenceEmbedder(name, NONE, "query")


@behind_the_extra
@pytest.mark.parametrize("damage", ["", "{", "{}", "[1]", '[{"path": 1, "type": "x"}]', '[{"path": ""}]', "\xff"])
def test_damaged_configurations_are_named(tmp_path: Path, damage: str) -> None:
    (tmp_path / "modules.json").write_bytes(damage.encode("latin-1"))
    with pytest.raises(WeightsDamaged, match=r"modules\.json cannot be read"):
        SentenceEmbedder(str(tmp_path), NONE, "query")
    (tmp_path / "config_sentence_transformers.json").write_text("[1]")
    with pytest.raises(WeightsDamaged, match=r"transformers\.json cannot be read"):
        prefixes_of(str(tmp_path))


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


@behind_the_extra
def test_a_folder_without_a_model_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a sentence-transformers model"):
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
