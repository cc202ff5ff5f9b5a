"""The graph written from safetensors, and safetensors files that are none."""

import json
from pathlib import Path

import numpy as np
import pytest

from models import minilm_onnx
from shared.errors import WeightsDamaged


def safetensors(path: Path, header: object, data: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def test_tensors_are_read_as_they_were_written(tmp_path: Path) -> None:
    values = np.arange(6, dtype="<f4").reshape(2, 3)
    header = {
        "__metadata__": {"format": "pt"},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [24, 32]},
        "matrix": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    }
    read = minilm_onnx.read_safetensors(safetensors(tmp_path / "a", header, values.tobytes() + bytes(8)))
    assert list(read) == ["matrix"]
    np.testing.assert_array_equal(read["matrix"], values)


MATRIX = {"matrix": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (MATRIX, bytes(23)),
        (MATRIX, b""),
        ({"matrix": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 24]}}, bytes(24)),
        ({"matrix": {"dtype": "F32"}}, bytes(24)),
        (["no", "table"], bytes(24)),
    ],
)
def test_a_header_that_does_not_fit_its_data_is_refused(tmp_path: Path, header: object, data: bytes) -> None:
    with pytest.raises(WeightsDamaged, match="broken"):
        minilm_onnx.read_safetensors(safetensors(tmp_path / "broken", header, data))


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 100, (1 << 40).to_bytes(8, "little") + b"{}"])
def test_what_is_no_safetensors_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "broken").write_bytes(content)
    with pytest.raises(WeightsDamaged, match="broken"):
        minilm_onnx.read_safetensors(tmp_path / "broken")


def test_another_model_is_refused_by_the_tensor_it_lacks(tmp_path: Path) -> None:
    source = safetensors(tmp_path / "other", MATRIX, bytes(24))
    with pytest.raises(WeightsDamaged, match=r"lacks the tensor.*word_embeddings"):
        minilm_onnx.write(source, tmp_path / "model.onnx", tmp_path / "weights.bin")
    assert not (tmp_path / "model.onnx").exists()
