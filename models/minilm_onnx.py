"""Writes all-MiniLM-L6-v2 as an ONNX graph, from its safetensors, without torch.

BERT: six layers, then mean pooling over the mask and L2 normalisation. Attention, bias with GELU, and residual with
layer normalisation are operators of onnxruntime's own `com.microsoft` set, which every standard build has: faster than
what its optimiser makes of plain operators. The weights lie in a file of their own, which onnxruntime maps instead of
copying: the session starts in a quarter of the time. Knows no tokenizer and no session.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shared.errors import WeightsDamaged

MAX_TOKENS = 256
"""What the model's sentence-transformers configuration cuts texts to."""

DIMENSIONS = 384
_LAYERS = 6
_HEADS = 12
_EPSILON = 1e-12
_FUSED = "com.microsoft"
# The oldest operator set and format with all that is used here, so that the oldest runtimes read it too.
_OPSET = 18
_IR_VERSION = 9

Tensors = Mapping[str, npt.NDArray[np.float32]]


def read_safetensors(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """The file's float32 tensors, mapped read-only. Raises WeightsDamaged where header and length do not agree."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            # A length that is not one must not become an allocation.
            header = json.loads(file.read(min(length, path.stat().st_size)))
        data = np.memmap(path, mode="r", offset=8 + length, dtype=np.uint8)
        return {
            name: data[slice(*facts["data_offsets"])].view("<f4").reshape(facts["shape"])
            for name, facts in header.items()
            if name != "__metadata__" and facts["dtype"] == "F32"
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise WeightsDamaged(f"{path.name} is not a whole safetensors file ({error}). Pull the model again.") from error


def write(source: Path, graph: Path, weights: Path) -> None:
    """Write the model in `source` (safetensors) as `graph` and, beside it, its `weights`.

    Inputs `ids` and `mask`, int64 of shape (batch, tokens), padded on the right, at most 256 tokens; output
    `embedding`, float32 of shape (batch, 384), unit length. Raises WeightsDamaged.
    """
    import onnx

    tensors = read_safetensors(source)
    try:
        model = _model(tensors)
    except KeyError as error:
        raise WeightsDamaged(f"{source.name} lacks the tensor {error}: it is not all-MiniLM-L6-v2.") from error
    weights.unlink(missing_ok=True)  # onnx would append to it
    onnx.save(model, graph, save_as_external_data=True, location=weights.name, size_threshold=1024)


class _Graph:
    """Nodes and weights as they accumulate. Each method returns the name of what it added."""

    def __init__(self, tensors: Tensors) -> None:
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def tensor(self, name: str) -> str:
        return self.constant(name, self.tensors[name])

    def transposed(self, name: str) -> str:
        return self.constant(f"{name}.transposed", self.tensors[name].T)

    def norm(self, name: str) -> tuple[str, str]:
        return self.tensor(f"{name}.LayerNorm.weight"), self.tensor(f"{name}.LayerNorm.bias")


def _model(tensors: Tensors) -> Any:
    from onnx import TensorProto, helper

    graph = _Graph(tensors)
    graph.constant("one", np.array([1], np.int64))
    graph.constant("zero", np.array([0], np.int64))
    x = _embeddings(graph)
    lengths = graph.add("Cast", graph.add("ReduceSum", "mask", "one", keepdims=0), to=TensorProto.INT32)
    for layer in range(_LAYERS):
        x = _layer(graph, x, lengths, f"encoder.layer.{layer}.")
    # The sum is enough: dividing it by the length would not survive the normalisation.
    mask = graph.add("Unsqueeze", graph.add("Cast", "mask", to=TensorProto.FLOAT), "one")
    pooled = graph.add("Squeeze", graph.add("MatMul", mask, x), "one")
    unit = graph.add("LpNormalization", pooled, axis=-1, p=2)
    graph.nodes.append(helper.make_node("Identity", [unit], ["embedding"]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in ("ids", "mask")]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["b", DIMENSIONS])
    return helper.make_model(
        helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, [output], graph.weights),
        opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)],
        ir_version=_IR_VERSION,
    )


def _embeddings(graph: _Graph) -> str:
    words = graph.add("Gather", graph.tensor("embeddings.word_embeddings.weight"), "ids")
    # One text is one segment: the embedding of segment 0 joins that of every position.
    positions = graph.tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
    graph.constant("positions", positions + graph.tensors["embeddings.token_type_embeddings.weight"][0])
    count = graph.add("Shape", "ids", start=1, end=2)
    summed = graph.add("Add", words, graph.add("Slice", "positions", "zero", count, "zero"))
    return graph.add("LayerNormalization", summed, *graph.norm("embeddings"), axis=-1, epsilon=_EPSILON)


def _layer(graph: _Graph, x: str, lengths: str, name: str) -> str:
    """One of BERT's layers; `lengths` are the tokens of each row that are not padding."""
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
