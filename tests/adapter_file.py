"""Writes GGUF files of LoRA adapters, and headers of model files: valid files, or files damaged in the way that a test
chooses.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float16] | npt.NDArray[np.float32]

WIDTHS = {
    "attn_q": (576, 576),
    "attn_k": (576, 192),
    "attn_v": (576, 192),
    "attn_output": (576, 576),
    "ffn_gate": (576, 1536),
    "ffn_up": (576, 1536),
    "ffn_down": (1536, 576),
}
"""The numbers of inputs and outputs of each weight matrix in a layer of SmolLM2-135M."""

MODEL: Mapping[str, object] = {
    "general.architecture": "llama",
    "general.type": "model",
    "general.name": "Smollm2 135M 8k Lc100K Mix1 Ep2",
    "llama.block_count": 30,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.vocab_size": 49152,
}
"""Those metadata of a SmolLM2-135M model file with which an adapter's metadata are compared."""

ADAPTER: Mapping[str, object] = {
    "general.architecture": "llama",
    "general.type": "adapter",
    "general.name": "An answerer",
    "general.description": "Trained on nothing.",
    "general.license": "Apache-2.0",
    "adapter.type": "lora",
    "adapter.lora.alpha": 16.0,
}


def pairs(layers: int = 30, rank: int = 4, seed: int = 0, kind: type = np.float16) -> dict[str, Array]:
    """Return the random weights of a LoRA adapter, by tensor name; they are large enough to change every answer."""
    draw = np.random.default_rng(seed)
    result: dict[str, Array] = {}
    for layer in range(layers):
        for part, (inputs, outputs) in WIDTHS.items():
            for letter, shape in (("a", (rank, inputs)), ("b", (outputs, rank))):
                result[f"blk.{layer}.{part}.weight.lora_{letter}"] = (draw.standard_normal(shape) * 0.02).astype(kind)
    return result


def write(path: Path, values: Mapping[str, object] = ADAPTER, tensors: Mapping[str, Array] | None = None) -> Path:
    """Write a GGUF file and return its path. A value may also be `(type, bytes)`, for values that Python cannot
    express.
    """
    path.write_bytes(packed(values, pairs(1) if tensors is None else tensors))
    return path


def packed(values: Mapping[str, object], tensors: Mapping[str, Array]) -> bytes:
    """Return the content of a GGUF file with this metadata and these tensors."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    body = b""
    for name, array in tensors.items():
        kind = 1 if array.dtype == np.float16 else 0
        head += _text(name) + struct.pack(f"<I{array.ndim}Q", array.ndim, *reversed(array.shape))
        head += struct.pack("<IQ", kind, len(body))
        body += _padded(array.tobytes())
    return _padded(head) + body


def _value(value: object) -> tuple[int, bytes]:
    match value:
        case tuple():
            return value
        case str():
            return 8, _text(value)
        case float():
            return 6, struct.pack("<f", value)
        case int():
            return 4, struct.pack("<I", value)
        case list():
            kinds, items = zip(*map(_value, value), strict=True)
            return 9, struct.pack("<IQ", kinds[0], len(items)) + b"".join(items)
    raise TypeError(value)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 32)
