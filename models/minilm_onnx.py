"""Converts all-MiniLM-L6-v2 from safetensors to an ONNX graph, without torch.

The model is BERT with six layers, then mean pooling over the mask and L2 normalisation. Attention, bias with GELU, and
residual with layer normalisation are operators of onnxruntime's own `com.microsoft` set, which every standard build
has; they are faster than its optimised plain operators. The weights are in a separate file, which onnxruntime maps
instead of copying: the session starts in a quarter of the time. Independent of tokenizers and sessions.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from models import onnx_file, tensor_file
from shared.errors import WeightsDamaged

MAX_TOKENS = 256
"""The most tokens of a text, from the model's sentence-transformers configuration."""

DIMENSIONS = 384
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_FUSED = "com.microsoft"
# The oldest operator set and format that support all of this, so that the oldest runtimes can read it.
_OPSET = 18
_IR_VERSION = 9

Tensors = Mapping[str, npt.NDArray[np.float32]]


def read_safetensors(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """Return the file's float32 tensors, mapped read-only. Raises WeightsDamaged if header and length disagree."""
    try:
        _, tensors = tensor_file.read(path)
    except ValueError as error:
        raise WeightsDamaged(
            f"{path.name} is not a complete safetensors file ({error}). Pull the model again."
        ) from error
    return {name: tensor for name, tensor in tensors.items() if tensor.dtype == np.float32}


def write(source: Path, graph: Path, weights: Path) -> None:
    """Write the model in `source` (safetensors) as the ONNX file `graph`, with its `weights` in a second file.

    Inputs `ids` and `mask`, int64 of shape (batch, tokens), padded on the right, at most 256 tokens; output
    `embedding`, float32 of shape (batch, 384), unit length. Raises WeightsDamaged.
    """
    tensors = read_safetensors(source)
    try:
        built = _built(tensors)
    except KeyError as error:
        raise WeightsDamaged(
            f"{source.name} lacks the tensor {error}: the file is not all-MiniLM-L6-v2. Pull the model again."
        ) from error
    # What follows is fixed to the byte: other bytes would be another embedder, and every passage embedded again.
    content = onnx_file.model(
        "all-MiniLM-L6-v2",
        built.nodes,
        onnx_file.write_weights(weights, built.weights),
        [onnx_file.value(name, onnx_file.INT64, ["b", "s"]) for name in ("ids", "mask")],
        [onnx_file.value("embedding", onnx_file.FLOAT, ["b", DIMENSIONS])],
        [onnx_file.opset("", _OPSET), onnx_file.opset(_FUSED, 1)],
        _IR_VERSION,
    )
    graph.write_bytes(content)


class _Graph:
    """A graph under construction: its nodes and weights. Each method returns the name of the added element."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.nodes: list[bytes] = []
        self.weights: list[tuple[str, npt.NDArray[Any]]] = []

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: float) -> str:
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(onnx_file.node(operator, inputs, output, domain, **attributes))
        return output

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        self.weights.append((name, values))
        return name

    def tensor(self, name: str) -> str:
        return self.constant(name, self.tensors[name])

    def transposed(self, name: str) -> str:
        return self.constant(f"{name}.transposed", self.tensors[name].T)

    def norm(self, name: str) -> tuple[str, str]:
        return self.tensor(f"{name}.LayerNorm.weight"), self.tensor(f"{name}.LayerNorm.bias")


def _built(tensors: Tensors) -> _Graph:
    graph = _Graph(tensors)
    graph.constant("one", np.array([1], np.int64))
    graph.constant("zero", np.array([0], np.int64))
    x = _embeddings(graph)
    lengths = graph.add("Cast", graph.add("ReduceSum", "mask", "one", keepdims=0), to=onnx_file.INT32)
    for layer in range(_LAYERS):
        x = _layer(graph, x, lengths, f"encoder.layer.{layer}.")
    # Summing is enough: the normalisation would cancel a division by the length.
    mask = graph.add("Unsqueeze", graph.add("Cast", "mask", to=onnx_file.FLOAT), "one")
    pooled = graph.add("Squeeze", graph.add("MatMul", mask, x), "one")
    unit = graph.add("LpNormalization", pooled, axis=-1, p=2)
    graph.nodes.append(onnx_file.node("Identity", [unit], "embedding"))
    return graph


def _embeddings(graph: _Graph) -> str:
    words = graph.add("Gather", graph.tensor("embeddings.word_embeddings.weight"), "ids")
    # Each text is a single segment, so the embedding of segment 0 is added to every position.
    positions = graph.tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
    graph.constant("positions", positions + graph.tensors["embeddings.token_type_embeddings.weight"][0])
    count = graph.add("Shape", "ids", start=1, end=2)
    summed = graph.add("Add", words, graph.add("Slice", "positions", "zero", count, "zero"))
    return graph.add("LayerNormalization", summed, *graph.norm("embeddings"), axis=-1, epsilon=_EPSILON)


def _layer(graph: _Graph, x: str, lengths: str, name: str) -> str:
    """Add one of BERT's layers to the graph; `lengths` are the numbers of tokens without padding in each row."""
    own = f"{name}attention.self"
    parts = [f"{own}.{part}" for part in ("query", "key", "value")]
    matrix = np.concatenate([graph.tensors[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([graph.tensors[f"{part}.bias"] for part in parts])
    inputs = [x, graph.constant(f"{own}.weight", matrix), graph.constant(f"{own}.bias", bias), lengths]
    heads = graph.add("Attention", *inputs, domain=_FUSED, num_heads=_HEADS)
    x = _residual(graph, x, heads, f"{name}attention.output")
    wide = graph.add("MatMul", x, graph.transposed(f"{name}intermediate.dense.weight"))
    wide = graph.add("BiasGelu", wide, graph.tensor(f"{name}intermediate.dense.bias"), domain=_FUSED)
    return _residual(graph, x, wide, f"{name}output")


def _residual(graph: _Graph, x: str, y: str, name: str) -> str:
    product = graph.add("MatMul", y, graph.transposed(f"{name}.dense.weight"))
    inputs = [product, x, *graph.norm(name), graph.tensor(f"{name}.dense.bias")]
    return graph.add("SkipLayerNormalization", *inputs, domain=_FUSED, epsilon=_EPSILON)
