"""Truncated or inconsistent model files: reported and refused, where llama.cpp would end the process or go on."""

import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from models import catalog
from models.catalog import Weights
from models.forecast import looked_into
from models.llama_model import LlamaModel
from models.soundness import require_sound
from shared.errors import WeightsDamaged, WeightsMissing
from tests.adapter_file import write
from tests.tiny_model import VOCABULARY, metadata, tensors, tiny_model

WRONG: Mapping[str, tuple[Mapping[str, object], str]] = {
    "no layer": ({"llama.block_count": 0}, "llama.block_count is 0"),
    "more layers than any model": ({"llama.block_count": 513}, "llama.block_count is 513"),
    "fewer layers than tensors": ({"llama.block_count": 5}, "6 layers of tensors, and llama.block_count is 5"),
    "another vocabulary": ({"llama.vocab_size": 300}, "llama.vocab_size is 300, and its tensors have 256"),
    "another width": ({"llama.embedding_length": 128}, "llama.embedding_length is 128, and its tensors have 64"),
    "a negative epsilon": ({"llama.attention.layer_norm_rms_epsilon": -1.0}, "layer_norm_rms_epsilon is -1.0"),
    "an epsilon that is no number": ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "epsilon is nan"),
    "too many experts": ({"llama.expert_count": 5000}, "llama.expert_count is 5,000"),
    "more experts used": ({"llama.expert_used_count": 2}, "llama.expert_used_count is 2"),
    "a context beyond any count": ({"llama.context_length": 2**32 - 1}, "llama.context_length is 4,294,967,295"),
    "a count that is a text": ({"llama.block_count": "six"}, "llama.block_count is six"),
    "no architecture": ({"general.architecture": 7}, "it names no architecture"),
}


@pytest.mark.parametrize(("changes", "said"), WRONG.values(), ids=WRONG)
def test_metadata_that_contradicts_the_tensors_is_named_and_refused(
    changes: Mapping[str, object], said: str, tmp_path: Path
) -> None:
    values = metadata("llama")
    path = write(tmp_path / "wrong.gguf", {**values, **changes}, tensors(write(tmp_path / "head", values, {})))
    with pytest.raises(WeightsDamaged) as refused:
        looked_into(Weights(tmp_path), catalog.find(f"file:{path}"))
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("kept", [3, 30, 3000, 20_000])
def test_a_model_that_is_cut_is_named_and_refused(kept: int, tmp_path: Path) -> None:
    whole = tiny_model(tmp_path / "whole.gguf", "llama")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole.read_bytes()[:kept])
    with pytest.raises(WeightsDamaged, match=r"cut\.gguf"):
        looked_into(Weights(tmp_path), catalog.find(f"file:{cut}"))


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3", "gpt-oss"])
def test_a_sound_model_passes(architecture: str, tmp_path: Path) -> None:
    require_sound(tiny_model(tmp_path / "model.gguf", architecture))


@pytest.mark.weights
def test_the_default_model_passes(weights: Path) -> None:
    for file in weights.glob("*.gguf"):
        require_sound(file)


def test_a_file_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing, match=r"nowhere\.gguf"):
        require_sound(tmp_path / "nowhere.gguf")


def _spelled(token: Callable[[int], str]) -> dict[str, object]:
    return {"tokenizer.ggml.tokens": [token(number) for number in range(VOCABULARY)]}


def test_a_vocabulary_of_the_same_size_with_other_words_is_another(tmp_path: Path) -> None:
    values = metadata("llama")
    arrays = tensors(write(tmp_path / "head", values, {}))
    spellings: Mapping[str, Mapping[str, object]] = {
        "same": {},
        "one word differs": _spelled(lambda number: "<other>" if number == 200 else f"<{number}>"),
        "in another order": _spelled(lambda number: f"<{VOCABULARY - 1 - number}>"),
        "other kinds": {"tokenizer.ggml.token_type": (9, struct.pack("<IQ256i", 5, 256, *[1] * 255, 4))},
    }
    hashes = {}
    for name, changes in spellings.items():
        model = LlamaModel(write(tmp_path / f"{name}.gguf", {**values, **changes}, arrays))
        assert model.vocabulary == VOCABULARY
        hashes[name] = model.vocabulary_hash()
        model.close()
    assert len({hashes[name] for name in ("same", "one word differs", "in another order")}) == 3
    assert hashes["other kinds"] == hashes["same"]  # the texts of its tokens are the same, which is all that moves
