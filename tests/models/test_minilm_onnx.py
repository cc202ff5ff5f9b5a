"""Writing the ONNX graph of MiniLM from its safetensors file, and errors for files that are not valid safetensors."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from models import minilm_onnx
from models.pull import sha256
from shared.errors import WeightsDamaged

GRAPH = "77c4e2a197bc7b42d51011d468ce349819c502a3cb75c252f0337c7c8838bec9"
REAL_WEIGHTS = "5fda24342c33f8a317792ee7ccb79781c014cd20b748680df64f7397d03f6ea5"
MADE_WEIGHTS = "a37f3c99caa83d792d08cbebb68328640e8fce6fa5c1dd2243635b36ac7ab800"


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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A safetensors file with the tensors of all-MiniLM-L6-v2 in their shapes, and made-up numbers."""
    layer: dict[str, tuple[int, ...]] = {}
    for name, shape in {
        **dict.fromkeys((f"attention.self.{part}" for part in ("query", "key", "value")), (384, 384)),
        "attention.output.dense": (384, 384),
        "intermediate.dense": (1536, 384),
        "output.dense": (384, 1536),
    }.items():
        layer |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in ("attention.output", "output"):
        layer |= {f"{name}.LayerNorm.weight": (384,), f"{name}.LayerNorm.bias": (384,)}
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (30_522, 384),
        "embeddings.position_embeddings.weight": (512, 384),
        "embeddings.token_type_embeddings.weight": (2, 384),
        "embeddings.LayerNorm.weight": (384,),
        "embeddings.LayerNorm.bias": (384,),
    }
    shapes |= {f"encoder.layer.{number}.{name}": shape for number in range(6) for name, shape in layer.items()}
    header, at = {}, 0
    for name, dimensions in shapes.items():
        end = at + 4 * math.prod(dimensions)
        header[name] = {"dtype": "F32", "shape": dimensions, "data_offsets": [at, end]}
        at = end
    numbers = np.resize(np.arange(1009, dtype=np.float32) / np.float32(1009), at // 4)
    return safetensors(tmp_path_factory.mktemp("made") / "made", header, numbers.tobytes())


def test_the_files_are_the_same_to_the_byte(made: Path, tmp_path: Path) -> None:
    """The expected hashes are those of files written by the package `onnx`: with other files, every passage would be
    embedded again.
    """
    graph, weights = tmp_path / "model.onnx", tmp_path / "weights.bin"
    minilm_onnx.write(made, graph, weights)
    assert sha256(graph) == GRAPH
    assert sha256(weights) == MADE_WEIGHTS


def test_onnxruntime_runs_it(made: Path, tmp_path: Path) -> None:
    import onnxruntime

    minilm_onnx.write(made, tmp_path / "model.onnx", tmp_path / "weights.bin")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    ids = np.array([[101, 2003, 102], [101, 102, 0]], np.int64)
    (vectors,) = session.run(["embedding"], {"ids": ids, "mask": (ids > 0).astype(np.int64)})
    assert vectors.shape == (2, minilm_onnx.DIMENSIONS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.long
@pytest.mark.weights
def test_the_real_files_are_the_same_to_the_byte(sentence_model: Path, tmp_path: Path) -> None:
    graph, weights = tmp_path / "model.onnx", tmp_path / "weights.bin"
    minilm_onnx.write(sentence_model / "model.safetensors", graph, weights)
    assert sha256(graph) == GRAPH
    assert sha256(weights) == REAL_WEIGHTS
