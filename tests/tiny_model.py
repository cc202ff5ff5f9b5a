"""Writes models of real architectures with random weights, a megabyte each, when a test needs one.

Only llama.cpp knows which tensors an architecture has, and their shapes. So it gets the metadata and makes the model
(`llama_model_init_from_user`); the tensors that it asks for are filled and written to a file.
"""

import ctypes
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from models import llama_model
from models.llama_bindings import bindings
from tests.adapter_file import Array, write

VOCABULARY = 256
WINDOW = 16
"""The size of the attention window, in tokens, in layers with sliding-window attention."""

_KINDS = {0: np.float32, 1: np.float16}
_OPTIONAL = (".bias", "scale", "rope_freqs.weight")
_SHAPE_AT = 16
"""The offset of the four extents in a ggml_tensor, in bytes; its type is at 0."""

_WINDOWED: Mapping[str, object] = {"attention.sliding_window": WINDOW}

ARCHITECTURES: Mapping[str, Mapping[str, object]] = {
    "llama": {},
    "qwen3": {},
    "gemma2": _WINDOWED,
    "gemma3": _WINDOWED,
    "gpt-oss": {**_WINDOWED, "expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32},
}
"""The metadata of each architecture in addition to the metadata that all share."""


def tiny_model(
    path: Path,
    architecture: str,
    changes: Mapping[str, object] = MappingProxyType({}),
    seed: int = 0,
    *,
    plain: bool = False,
) -> Path:
    """Write a model of the architecture, with changed metadata; the same seed gives the same weights.

    A `plain` model lacks the optional tensors: biases, scales and factors.
    """
    values = {**metadata(architecture), **changes}
    empty = write(path.with_suffix(".metadata"), values, {})
    arrays = tensors(empty, seed)
    if plain:
        arrays = {name: array for name, array in arrays.items() if not name.endswith(_OPTIONAL)}
    return write(path, values, arrays)


END = "<|im_end|>"
CONTROL = ("<|endoftext|>", "<|im_start|>", END)
"""The control tokens of the vocabulary that `words` returns."""


def words(*, first: int = 0, joined: bool = True) -> dict[str, object]:
    """Return the metadata of a vocabulary of characters and syllables, which spell any ASCII text.

    The list of tokens is rotated to begin with the token `first`. Unless `joined`, text is tokenised character by
    character, so that a text that was written takes more tokens when it is read.
    """
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvw" for vowel in "aeiou"]
    texts = [*CONTROL, *map(chr, range(33, 127)), "Ġ", "Ċ", *syllables, *("Ġ" + syllable for syllable in syllables)]
    texts = texts[:VOCABULARY]
    texts = texts[first:] + texts[:first]
    kinds = [3 if text in CONTROL else 1 for text in texts]
    merges = [f"{text[:-1]} {text[-1]}" if len(text) == 2 else f"Ġ {text[1:]}" for text in texts if len(text) in (2, 3)]
    return {
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": (9, struct.pack(f"<IQ{VOCABULARY}i", 5, VOCABULARY, *kinds)),
        "tokenizer.ggml.merges": merges if joined else ["a b"],
        "tokenizer.ggml.bos_token_id": texts.index(CONTROL[1]),
        "tokenizer.ggml.eos_token_id": texts.index(END),
    }


def metadata(architecture: str) -> dict[str, object]:
    own: dict[str, object] = {
        "context_length": 512,
        "embedding_length": 64,
        "block_count": 6,
        "feed_forward_length": 96,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.key_length": 16,
        "attention.value_length": 16,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.freq_base": 10_000.0,
        "vocab_size": VOCABULARY,
        **ARCHITECTURES[architecture],
    }
    return {
        "general.architecture": architecture,
        **{f"{architecture}.{name}": value for name, value in own.items()},
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": [f"<{token}>" for token in range(VOCABULARY)],
        "tokenizer.ggml.token_type": (9, struct.pack(f"<IQ{VOCABULARY}i", 5, VOCABULARY, *[1] * VOCABULARY)),
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


class _Init(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p))


def tensors(metadata: Path, seed: int = 0) -> dict[str, Array]:
    """Return every tensor that llama.cpp expects for this metadata, filled with random numbers."""
    api, library, ggml = bindings(), _llama(), _ggml()
    draw = np.random.default_rng(seed)
    made: dict[str, Array] = {}

    def fill(tensor: int, _: object) -> None:
        name = ggml.ggml_get_name(tensor).decode()
        extents = list((ctypes.c_int64 * 4).from_address(tensor + _SHAPE_AT))
        while len(extents) > 1 and extents[-1] == 1:
            extents.pop()
        array = (draw.standard_normal(math.prod(extents)) * 0.15 + ("norm" in name)).astype(
            _KINDS[ctypes.c_int32.from_address(tensor).value]
        )
        ggml.ggml_backend_tensor_set(tensor, array.ctypes.data, 0, array.nbytes)
        made[name] = array.reshape(extents[::-1])

    parameters = api.llama_model_default_params()
    parameters.n_gpu_layers = 0
    context = ggml.gguf_init_from_file(str(metadata).encode(), _Init(no_alloc=True, context=None))
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(fill)
    model = library.llama_model_init_from_user(context, callback, None, parameters)
    assert model, f"llama.cpp makes no model of {metadata}"
    api.llama_model_free(model)
    ggml.gguf_free(context)
    return made


def _llama() -> Any:
    """Load the function of llama.cpp that makes a model from metadata, which the product does not use."""
    api = bindings()
    library = ctypes.CDLL(api._lib._name)
    make = library.llama_model_init_from_user
    make.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, api.llama_model_params]
    make.restype = api.llama_model_load_from_file.restype
    return library


def _ggml() -> Any:
    """Load those functions of ggml that no Python bindings declare."""
    ggml = ctypes.CDLL(str(next(Path(bindings()._lib._name).parent.glob("libggml-base.*"))))
    ggml.gguf_init_from_file.argtypes = [ctypes.c_char_p, _Init]
    ggml.gguf_init_from_file.restype = ctypes.c_void_p
    ggml.gguf_free.argtypes = [ctypes.c_void_p]
    ggml.ggml_get_name.argtypes = [ctypes.c_void_p]
    ggml.ggml_get_name.restype = ctypes.c_char_p
    ggml.ggml_backend_tensor_set.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
    return ggml


def layers_asked(monkeypatch: pytest.MonkeyPatch, *, offloads: bool) -> list[int]:
    """Return a list to which each model that is loaded from then on adds the layers that it asks a GPU to compute.

    `offloads`: whether llama.cpp seems to be built for a GPU.
    """
    api, passed = bindings(), list[int]()

    class Watched:
        def __getattr__(self, name: str) -> object:
            return getattr(api, name)

        def llama_model_load_from_file(self, path: bytes, parameters: Any) -> object:
            passed.append(parameters.n_gpu_layers)
            return api.llama_model_load_from_file(path, parameters)

    monkeypatch.setattr(llama_model, "bindings", Watched)
    monkeypatch.setattr(llama_model, "offloads", lambda: offloads)
    return passed
