"""LoRA adapters as files: accepted for the model that they were trained on, with the same results in llama.cpp as in
torch.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
gguf = pytest.importorskip("gguf", reason="needs the train extra")
if find_spec("peft") is None:  # importing it takes seconds, in each worker
    pytest.skip("needs the train extra", allow_module_level=True)

from models.adapter import fitting  # noqa: E402
from models.catalog import Weights, find  # noqa: E402
from models.engine import Logits  # noqa: E402
from models.llama_cpp import LlamaCppEngine  # noqa: E402
from models.llama_model import LlamaModel  # noqa: E402
from scripts.answerer import adapter_file  # noqa: E402
from scripts.answerer.llama import from_gguf  # noqa: E402
from scripts.answerer.recipe import ABSTENTION, SCALE, TARGETS, Recipe  # noqa: E402
from scripts.answerer.training import Trainer  # noqa: E402
from tests.adapter_file import MODEL, WIDTHS  # noqa: E402
from tests.adapter_file import write as write_gguf  # noqa: E402

pytestmark = pytest.mark.torch

SAID = {"name": "tried", "description": "Trained on nothing.", "license": "CC BY-SA 4.0"}
LAYERS = 2
TOKENS = [1 + 977 * n % 40_000 for n in range(24)]


def learnt(rank: int = 4) -> dict[str, Any]:
    draw = np.random.default_rng(1)
    result = {}
    for part in TARGETS:
        inputs, outputs = WIDTHS[part]
        for letter, shape in (("A", (rank, inputs)), ("B", (outputs, rank))):
            weight = draw.standard_normal(shape).astype(np.float32)
            result[f"blk.29.{part}.lora_{letter}.default.weight"] = torch.from_numpy(weight)
    return result


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "model.gguf", MODEL, {})


def test_what_is_written_fits_its_model_and_says_what_it_is(tmp_path: Path, model: Path) -> None:
    path = adapter_file.write(tmp_path / "tried.gguf", learnt(), 2.0, model, SAID)
    fitted = fitting(path, model)
    assert (fitted.rank, fitted.alpha, fitted.size) == (32, 64.0, path.stat().st_size)
    assert (fitted.name, fitted.description, fitted.licence) == tuple(SAID.values())
    assert fitted.asks
    assert fitted.abstention
    assert (fitted.abstention.intercept, fitted.abstention.slope) == pytest.approx(
        (ABSTENTION.intercept, ABSTENTION.slope)
    )


def test_the_same_weights_are_the_same_bytes_and_nothing_else_is_left(tmp_path: Path, model: Path) -> None:
    first, second = (adapter_file.write(tmp_path / f"{n}.gguf", learnt(), 2.0, model, SAID).read_bytes() for n in "12")
    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.gguf", "2.gguf", "model.gguf"]


def test_what_is_no_part_of_an_adapter_is_refused_before_anything_is_written(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ValueError, match=r"token_embd.weight is not part of an adapter"):
        adapter_file.write(tmp_path / "a.gguf", learnt() | {"token_embd.weight": torch.zeros(2)}, 2.0, model, SAID)
    assert not (tmp_path / "a.part").exists()


@pytest.fixture(scope="module")
def base(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first layers of the default model in float32: the rounding of quantised weights would hide the adapter's
    effect.
    """
    whole = gguf.GGUFReader(Weights(weights).path(find("smollm2-135m")))
    path = tmp_path_factory.mktemp("base") / "layers.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    for key, field in whole.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            value = LAYERS if key == "llama.block_count" else field.contents()
            writer.add_key_value(key, value, field.types[0], field.types[-1] if len(field.types) > 1 else None)
    for tensor in whole.tensors:
        if not tensor.name.startswith("blk.") or int(tensor.name.split(".")[1]) < LAYERS:
            exact = torch.from_numpy(np.array(gguf.dequantize(tensor.data, tensor.tensor_type))).bfloat16()
            writer.add_tensor(tensor.name, exact.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def trainer(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Trainer:
    """The same layers with a new adapter, which changes nothing yet, in float32."""
    return Trainer(
        from_gguf(base, "base", tmp_path_factory.mktemp("kept")).float(), Recipe(rank=4), 1, 1, compiled=False
    )


def by_torch(trainer: Trainer) -> Logits:
    """Return torch's logits after the last token, shape (vocabulary,)."""
    tokens, count = torch.tensor(TOKENS), len(TOKENS)
    with torch.no_grad():
        hidden = trainer.model(tokens, torch.arange(count), torch.ones(count, count, dtype=torch.bool).tril())
        logits: Logits = trainer.model.logits(hidden[-1]).numpy()
    return logits


def by_llama_cpp(base: Path, adapter: Path | None) -> Logits:
    engine = LlamaCppEngine(LlamaModel(base), threads=1, adapter=adapter)
    assert not engine.info.refused
    logits = np.array(engine.prefill(0, TOKENS), np.float32)
    engine.close()
    return logits


@pytest.mark.weights
def test_llama_cpp_and_torch_compute_the_same_without_an_adapter(base: Path, trainer: Trainer) -> None:
    assert np.abs(by_llama_cpp(base, None) - by_torch(trainer)).max() < 0.02


@pytest.mark.weights
@pytest.mark.parametrize("part", TARGETS)
def test_llama_cpp_computes_what_torch_learnt(tmp_path: Path, base: Path, trainer: Trainer, part: str) -> None:
    draw, second = torch.Generator().manual_seed(5), {n: w.data for n, w in trainer.adapter.items() if "lora_B" in n}
    for weight in second.values():
        weight.zero_()
    bare = by_torch(trainer)
    for name, weight in second.items():
        if part in name:
            weight.normal_(0, 0.2, generator=draw)
    learnt = {name: weight.data for name, weight in trainer.adapter.items()}
    path = adapter_file.write(tmp_path / f"{part}.gguf", learnt, SCALE, base, SAID)
    changed = by_torch(trainer)
    assert np.abs(by_llama_cpp(base, path) - changed).max() < 0.1 * np.abs(changed - bare).max()
