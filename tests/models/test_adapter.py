"""An adapter's file is read and compared with its model before llama.cpp sees it."""

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.abstention import AbstentionThreshold
from models.adapter import ASKS, BASE_NAME, INTERCEPT, SLOPE, fitting
from shared.errors import AdapterRejected
from tests.adapter_file import ADAPTER, MODEL, packed, pairs, write


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file that has only a header, as nothing else of it is read."""
    return write(tmp_path_factory.mktemp("model") / "model.gguf", MODEL, {})


def test_what_an_adapter_says_of_itself(tmp_path: Path, model: Path) -> None:
    path = write(tmp_path / "a.gguf", ADAPTER, pairs(2, rank=8))
    values = fitting(path, model)
    assert (values.name, values.rank, values.alpha, values.size) == ("An answerer", 8, 16.0, path.stat().st_size)
    assert (values.description, values.licence) == ("Trained on nothing.", "Apache-2.0")
    assert len(values.hash) == 32
    assert values.hash == fitting(write(tmp_path / "copy.gguf", ADAPTER, pairs(2, rank=8)), model).hash
    assert values.hash != fitting(write(tmp_path / "other.gguf", ADAPTER, pairs(2, rank=8, seed=1)), model).hash


def test_whether_it_was_taught_to_ask_it_says_itself(tmp_path: Path, model: Path) -> None:
    for said, asks in (({}, False), ({ASKS: "true"}, True), ({ASKS: "false"}, False)):
        assert fitting(write(tmp_path / "a.gguf", {**ADAPTER, **said}), model).asks is asks
    with pytest.raises(AdapterRejected, match="asks is not a text"):
        fitting(write(tmp_path / "a.gguf", {**ADAPTER, ASKS: 1}), model)


def test_from_where_on_it_abstains_it_says_itself(tmp_path: Path, model: Path) -> None:
    assert fitting(write(tmp_path / "a.gguf", ADAPTER), model).abstention is None
    said = {**ADAPTER, INTERCEPT: -3.0, SLOPE: 0.75}
    assert fitting(write(tmp_path / "a.gguf", said), model).abstention == AbstentionThreshold(-3.0, 0.75)


def test_it_may_name_its_base_and_vocabulary_change_some_parts_alone_and_be_padded_otherwise(
    tmp_path: Path, model: Path
) -> None:
    values = {**ADAPTER, BASE_NAME: MODEL["general.name"], "llama.vocab_size": 49152, "general.alignment": 32}
    some = {name: pair for name, pair in pairs(30, kind=np.float32).items() if "attn_q" in name}
    assert fitting(write(tmp_path / "a.gguf", values, some), model).rank == 4


def without(values: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in values.items() if key not in keys}


def renamed(old: str, new: str) -> dict[str, Any]:
    return {name.replace(old, new): pair for name, pair in pairs(1).items()}


WRONG_VALUES = {
    "a model": ({**ADAPTER, "general.type": "model"}, "it is a model, not an adapter"),
    "no type": (without(ADAPTER, "general.type"), "does not say that it is an adapter"),
    "a type that is no text": ({**ADAPTER, "general.type": 3}, "general.type is not a text"),
    "another kind of adapter": ({**ADAPTER, "adapter.type": "control"}, "of type control, not lora"),
    "one that begins in the middle": (
        {**ADAPTER, "adapter.alora.invocation_tokens": (9, struct.pack("<IQI", 4, 1, 5))},
        "activated LoRA",
    ),
    "another architecture": ({**ADAPTER, "general.architecture": "qwen2"}, "the architecture qwen2, not llama"),
    "another base": ({**ADAPTER, BASE_NAME: "Smollm2 135M"}, "trained on Smollm2 135M, not on Smollm2 135M 8k"),
    "another vocabulary": ({**ADAPTER, "llama.vocab_size": 32000}, "vocabulary of 32,000 tokens, not 49,152"),
    "no alpha": (without(ADAPTER, "adapter.lora.alpha"), "lacks the value adapter.lora.alpha"),
    "alpha is not a number": ({**ADAPTER, "adapter.lora.alpha": float("nan")}, "is 0 or not a number"),
    "alpha is infinite": ({**ADAPTER, "adapter.lora.alpha": float("inf")}, "is 0 or not a number"),
    "alpha is nought": ({**ADAPTER, "adapter.lora.alpha": 0.0}, "is 0 or not a number"),
    "alpha of another type": ({**ADAPTER, "adapter.lora.alpha": 16}, "is 0 or not a number"),
    "a threshold of one number": (
        {**ADAPTER, INTERCEPT: -3.0},
        "abstention threshold is not two valid numbers",
    ),
    "a threshold of no number": ({**ADAPTER, INTERCEPT: -3.0, SLOPE: "0.75"}, "is not two valid numbers"),
    "a threshold without an end": ({**ADAPTER, INTERCEPT: float("inf"), SLOPE: 0.75}, "is not two valid numbers"),
    "a threshold that falls": ({**ADAPTER, INTERCEPT: -3.0, SLOPE: -0.75}, "is not two valid numbers"),
    "a key that ends early to C": ({**ADAPTER, "general.type\0": 3}, "a key is not printable"),
    "an alignment of three": ({**ADAPTER, "general.alignment": 3}, "not a power of two"),
    "a value of no type": ({**ADAPTER, "x": (77, b"")}, "of a type .77. that is not known"),
    "an enormous list": ({**ADAPTER, "x": (9, struct.pack("<IQ", 4, 1 << 60))}, "a list of 1,152,921"),
    "an enormous text": ({**ADAPTER, "x": (8, struct.pack("<Q", 1 << 60))}, "a text of 1,152,921"),
}


@pytest.mark.parametrize(("values", "reason"), WRONG_VALUES.values(), ids=WRONG_VALUES)
def test_what_an_adapter_may_not_say(tmp_path: Path, model: Path, values: Mapping[str, object], reason: str) -> None:
    with pytest.raises(AdapterRejected, match=reason):
        fitting(write(tmp_path / "a.gguf", values), model)


ONE = pairs(1)
A, B = "blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"
WRONG_TENSORS = {
    "none": ({}, "it holds no LoRA tensors"),
    "of another model": ({**ONE, A: np.zeros((4, 960), np.float16)}, "another model: blk.0.attn_q is 960 x 576"),
    "of another rank": ({**ONE, A: np.zeros((8, 576), np.float16)}, "lora_a has rank 8 and lora_b rank 4"),
    "wider than the model": (
        {A: np.zeros((600, 576), np.float16), B: np.zeros((576, 600), np.float16)},
        "has rank 600, more than the model's width",
    ),
    "one of two": ({A: ONE[A]}, "only one of lora_a and lora_b"),
    "a layer too many": (renamed("blk.0.", "blk.30."), "no tensor for the adapter's 'blk.30.attn_q.weight.lora_a'"),
    "a layer by another number": (renamed("blk.0.", "blk.00."), "no tensor for the adapter's 'blk.00"),
    "an unknown part": (renamed("attn_q", "attn_qkv"), "no tensor for the adapter's 'blk.0.attn_qkv"),
    "a norm": (
        {**ONE, "blk.0.attn_norm.weight": np.zeros(576, np.float32)},
        "no tensor for the adapter's 'blk.0.attn_norm",
    ),
    "no pair at all": ({"\0\n": ONE[A]}, r"no tensor for the adapter's '\\x00\\n'"),
    "of three dimensions": ({**ONE, A: np.zeros((1, 4, 576), np.float16)}, "made for another model"),
    "of one dimension": ({**ONE, A: np.zeros(576, np.float16)}, "made for another model"),
    "of no rank": (
        {A: np.zeros((0, 576), np.float16), B: np.zeros((576, 0), np.float16)},
        "a tensor cannot have the shape 576 x 0",
    ),
}


@pytest.mark.parametrize(("tensors", "reason"), WRONG_TENSORS.values(), ids=WRONG_TENSORS)
def test_what_an_adapter_may_not_change(tmp_path: Path, model: Path, tensors: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(AdapterRejected, match=reason):
        fitting(write(tmp_path / "a.gguf", ADAPTER, tensors), model)


WHOLE = packed(ADAPTER, ONE)
NAMED = WHOLE.index(A.encode()) + len(A)  # followed by dimensions, shape, type, offset
WRONG_BYTES = {
    "empty": (b"", "cut short"),
    "something else": (b"PK\3\4" + WHOLE[4:], "it is not a GGUF file"),
    "cut in its head": (WHOLE[:40], "cut short"),
    "cut in its keys": (WHOLE[:200], "cut short"),
    "cut in its weights": (WHOLE[:-5000], "cut short: .* bytes were written"),
    "more behind it": (WHOLE + bytes(64), "data follows its last tensor"),
    "another version": (WHOLE[:4] + struct.pack("<I", 9) + WHOLE[8:], "GGUF of version 9"),
    "another byte order": (WHOLE[:4] + struct.pack(">I", 3) + WHOLE[8:], "GGUF of version 50,331,648|GGUF of version"),
    "enormous counts": (WHOLE[:8] + struct.pack("<QQ", 1 << 62, 1 << 62) + WHOLE[24:], "it claims 4,611,686"),
    "numbers of an odd type": (
        WHOLE[: NAMED + 20] + struct.pack("<I", 24) + WHOLE[NAMED + 24 :],
        "of a type .ggml's 24. that is none of F32, F16, Q8_0, BF16",
    ),
    "many dimensions": (WHOLE[:NAMED] + struct.pack("<I", 1 << 30) + WHOLE[NAMED + 4 :], "dimensions"),
    "another place": (WHOLE[: NAMED + 24] + struct.pack("<Q", 64) + WHOLE[NAMED + 32 :], "is at a wrong offset"),
    "a key twice": (
        packed({**ADAPTER, "general.nome": "x"}, ONE).replace(b"nome", b"name"),
        "it has the key general.name twice",
    ),
    "a tensor twice": (WHOLE.replace(B.encode(), A.encode()), "the file has the tensor "),
}


@pytest.mark.parametrize(("data", "reason"), WRONG_BYTES.values(), ids=WRONG_BYTES)
def test_a_broken_file_is_rejected(tmp_path: Path, model: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    with pytest.raises(AdapterRejected, match=reason):
        fitting(path, model)


def test_what_cannot_be_read_at_all_is_rejected(tmp_path: Path, model: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    named = {
        "missing.gguf": "there is no such file",
        ".": "it is not a file",
        "pipe": "it is not a file",
        "a\0b": "null",
        "x" * 300: "cannot be read .File name too long",
    }
    for name, reason in named.items():
        with pytest.raises(AdapterRejected, match=reason) as caught:
            fitting(tmp_path / name, model)
        assert "Set model.adapter to another file, or to off." in str(caught.value)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (without(MODEL, "llama.embedding_length"), "the model's header lacks its embedding length"),
        ({**MODEL, "llama.attention.head_count": "many"}, "the model's header lacks its attention head count"),
        ({**MODEL, "x": (77, b"")}, "the model cannot be read"),
    ],
)
def test_a_model_that_does_not_tell_its_shape_takes_no_adapter(
    tmp_path: Path, values: Mapping[str, object], reason: str
) -> None:
    with pytest.raises(AdapterRejected, match=reason):
        fitting(write(tmp_path / "a.gguf"), write(tmp_path / "model.gguf", values, {}))


TOKENS = (9, struct.pack("<IQ", 8, 3) + struct.pack("<Qc", 1, b"x") * 3)


@pytest.mark.parametrize(
    ("tokens", "vocabulary", "reason"),
    [
        ({"tokenizer.ggml.tokens": TOKENS}, 3, ""),
        ({"tokenizer.ggml.tokens": TOKENS}, 4, "vocabulary of 4 tokens, not 3"),
        ({}, 4, "the model does not say how many tokens its vocabulary has"),
    ],
)
def test_a_model_that_does_not_tell_how_large_its_vocabulary_is_is_looked_into(
    tmp_path: Path, tokens: Mapping[str, object], vocabulary: int, reason: str
) -> None:
    model = write(tmp_path / "model.gguf", {**without(MODEL, "llama.vocab_size"), **tokens}, {})
    path = write(tmp_path / "a.gguf", {**ADAPTER, "llama.vocab_size": vocabulary})
    if not reason:
        assert fitting(path, model).rank == 4
        return
    with pytest.raises(AdapterRejected, match=reason):
        fitting(path, model)


@given(st.data())
def test_a_flipped_or_cut_head_is_taken_or_rejected_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, model: Path, data: st.DataObject
) -> None:
    head = len(WHOLE) - sum(pair.nbytes for pair in ONE.values())
    broken = bytearray(WHOLE)
    for place in data.draw(st.lists(st.integers(0, head - 1), max_size=4)):
        broken[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "broken.gguf"
    path.write_bytes(broken[: data.draw(st.integers(0, len(broken)) | st.just(len(broken)))])
    try:
        assert fitting(path, model).rank == 4
    except AdapterRejected as error:
        assert str(error).startswith(f"The adapter {path} is not used")
