"""Enlarging a model's weights to another shape: the larger model writes the same text; a failure leaves no files."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gguf", reason="needs the research extra")

from models.catalog import Weights
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.quantize import requantise
from scripts.inflation import inflating
from scripts.inflation.__main__ import main
from scripts.inflation.inflating import inflate
from scripts.inflation.making import Type, make
from scripts.inflation.shapes import SHAPES, CannotInflate, Shape, places
from tests.tiny_model import VOCABULARY, tiny_model

SMALL = Shape(576, 9, 3, 1536, 30)
NOISE = 0.6
"""The largest difference of logits between two orders of rounding the same sums."""

TINY = Shape(64, 4, 2, 96, 6)
PROMPT = "<|im_start|>user\nName three rivers of Europe.<|im_end|>\n<|im_start|>assistant\n"


def compared(small: Path, large: Path, count: int) -> Iterator[tuple[float, bool]]:
    """Yield for each token of the small model's text its lead over the second likeliest, and whether the large model
    agrees.
    """
    engines = [LlamaCppEngine(LlamaModel(path), context=256, threads=1, kv_type="q8_0") for path in (small, large)]
    tokens = engines[0].tokenize(PROMPT, special=True)
    expected, logits = (engine.prefill(0, tokens) for engine in engines)
    for _ in range(count):
        token, (second, first) = int(expected.argmax()), np.partition(expected, -2)[-2:]
        yield float(first - second), token == int(logits.argmax())
        expected, logits = (engine.decode({0: token})[0] for engine in engines)
    for engine in engines:
        engine.close()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def no_progress(done: int, total: int) -> None:
    assert 0 < done <= total


@pytest.mark.parametrize("shape", SHAPES.values())
def test_heads_keep_their_key_head(shape: Shape) -> None:
    heads, key_heads = places(SMALL, shape)
    old_key = {new: old for old, new in key_heads}
    assert sorted(old for old, _ in heads) == list(range(SMALL.heads))
    assert len({new for _, new in heads}) == SMALL.heads
    for old, new in heads:
        assert old_key[new * shape.key_heads // shape.heads] == old * SMALL.key_heads // SMALL.heads
    assert max(old_key) < shape.key_heads


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        (Shape(512, 8, 8, 1536, 30), "larger shape"),
        (Shape(2048, 32, 32, 8192, 24), "larger shape"),
        (Shape(960, 15, 3, 1024, 32), "larger shape"),
        (Shape(2048, 16, 16, 8192, 30), "not equally wide"),
    ],
)
def test_a_shape_that_does_not_fit_is_refused(shape: Shape, reason: str) -> None:
    with pytest.raises(CannotInflate, match=reason):
        places(SMALL, shape)


@pytest.mark.parametrize(
    "shape",
    [
        TINY,
        Shape(256, 16, 4, 96, 7),
        Shape(256, 16, 16, 128, 6),  # each head gets a key head of its own
        Shape(96, 6, 3, 128, 7),
        Shape(160, 10, 2, 256, 9),
    ],
)
def test_a_larger_model_computes_the_same(tmp_path: Path, shape: Shape) -> None:
    small, large = tiny_model(tmp_path / "small.gguf", "llama", plain=True), tmp_path / "large.gguf"
    inflate(small, large, shape, "larger", no_progress)
    engines = [LlamaCppEngine(LlamaModel(path), context=64, threads=1) for path in (small, large)]
    expected, logits = (engine.prefill(0, [place * 37 % VOCABULARY for place in range(24)]) for engine in engines)
    for _ in range(16):
        np.testing.assert_allclose(logits, expected, rtol=0, atol=0.003)
        token = int(expected.argmax())
        expected, logits = (engine.decode({0: token})[0] for engine in engines)
    assert engines[1].info.parameters >= engines[0].info.parameters
    for engine in engines:
        engine.close()


def test_the_bytes_are_the_same_each_time_and_nothing_else_is_left(tmp_path: Path) -> None:
    small, room = tiny_model(tmp_path / "small.gguf", "llama", plain=True), tmp_path / "room"
    room.mkdir()
    for name in ("first.gguf", "second.gguf"):
        inflate(small, room / name, Shape(96, 6, 3, 128, 7), "larger", no_progress)
    assert digest(room / "first.gguf") == digest(room / "second.gguf")
    assert sorted(path.name for path in room.iterdir()) == ["first.gguf", "second.gguf"]


def test_tensors_that_cannot_be_inflated_are_named(tmp_path: Path) -> None:
    small = tiny_model(tmp_path / "small.gguf", "llama")
    with pytest.raises(CannotInflate, match=r"attn_q\.bias"):
        inflate(small, tmp_path / "large.gguf", TINY, "larger", no_progress)


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    small = tiny_model(tmp_path / "small.gguf", "gemma2")
    with pytest.raises(CannotInflate, match="not a Llama"):
        inflate(small, tmp_path / "large.gguf", TINY, "larger", no_progress)


def test_a_full_disk_is_named_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tiny_model(tmp_path / "small.gguf", "llama", plain=True)
    monkeypatch.setattr(inflating, "_ROOM", 1 << 60)
    with pytest.raises(CannotInflate, match="are needed"):
        inflate(small, tmp_path / "large.gguf", TINY, "larger", no_progress)
    assert not list(tmp_path.glob("*large*"))


def test_stopping_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    small = tiny_model(tmp_path / "small.gguf", "llama", plain=True)
    with pytest.raises(KeyboardInterrupt):
        inflate(small, tmp_path / "large.gguf", TINY, "larger", stop)
    assert not list(tmp_path.glob("*large*"))


def test_a_missing_folder_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "nowhere" / "large.gguf"), "--shape", "360m"])
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.weights
@pytest.mark.long
@pytest.mark.parametrize("kind", ["q8_0", "q4_1", "q4_0"])
def test_the_shape_of_360m_writes_what_the_default_model_writes(weights: Path, tmp_path: Path, kind: Type) -> None:
    """Except where two tokens are nearly equally likely, so that rounding decides, as between any two
    implementations.
    """
    small, large = weights / f"smollm2-135m-instruct.{kind}.gguf", tmp_path / "large.gguf"
    if kind == "q4_0":
        small = tmp_path / "small.gguf"
        requantise(weights / "smollm2-135m-instruct.q8_0.gguf", small, kind, threads=2)
    make(Weights(weights), large, "360m", kind, 2, no_progress)
    assert {path.name for path in tmp_path.iterdir()} <= {"large.gguf", "small.gguf"}
    differing = [margin for margin, is_same in compared(small, large, 64) if not is_same]
    assert len(differing) < 12  # by processor: 4 to 7
    assert max(differing, default=0.0) < NOISE


@pytest.mark.weights
@pytest.mark.long
def test_at_four_times_the_width_the_logits_are_the_same_to_the_bit(weights: Path, tmp_path: Path) -> None:
    small, large = weights / "smollm2-135m-instruct.q8_0.gguf", tmp_path / "large.gguf"
    inflate(small, large, Shape(2304, 36, 12, 1536, 30), "wide", no_progress)
    engines = [LlamaCppEngine(LlamaModel(path), context=256, threads=1, kv_type="q8_0") for path in (small, large)]
    tokens = engines[0].tokenize(PROMPT, special=True)
    expected, logits = (engine.prefill(0, tokens) for engine in engines)
    for _ in range(24):
        np.testing.assert_array_equal(logits, expected)
        expected, logits = (engine.decode({0: int(expected.argmax())})[0] for engine in engines)
    for engine in engines:
        engine.close()
