"""The embedder with its real weights: similar texts get similar vectors, and unusual texts get valid ones."""

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.embedder import OnnxEmbedder, _batches
from shared.errors import WeightsDamaged, WeightsMissing

TEXTS = (
    "The heat pump is installed on the 14th of May.",
    "Grandmother's lemon cake needs four eggs.",
    "",
    "Ein Satz auf Deutsch, mit Umlauten: süß, groß, über.",
    "猫は静かに眠っている。",
    "A long one. " + "The council met again and decided nothing at all. " * 60,
    "def embed(texts): return [model(text) for text in texts]  # code",
)
FILES = ("model.onnx", "weights.bin", "tokenizer.json")


@pytest.fixture(scope="session")
def folder(weights: Path) -> Path:
    return weights / "all-minilm-l6-v2"


@pytest.fixture(scope="session")
def embedder(folder: Path) -> OnnxEmbedder:
    return OnnxEmbedder(folder, threads=1)


@pytest.mark.weights
def test_vectors_have_unit_length_and_the_order_of_their_texts(embedder: OnnxEmbedder) -> None:
    together = embedder.embed(TEXTS)
    assert together.shape == (len(TEXTS), embedder.dimensions)
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(TEXTS, together, strict=True):
        assert float(embedder.embed([text])[0] @ vector) > 0.99999


@pytest.mark.long
@pytest.mark.weights
def test_a_vector_does_not_depend_on_its_company(embedder: OnnxEmbedder) -> None:
    many = [f"{text} {number}" for number in range(40) for text in TEXTS]
    one_at_a_time = np.concatenate([embedder.embed([text]) for text in many[:30]])
    assert (embedder.embed(many)[:30] * one_at_a_time).sum(axis=1).min() > 0.99999


@pytest.mark.weights
def test_all_threads_share_one_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = OnnxEmbedder._session

    def slowly(embedder: OnnxEmbedder, threads: int) -> Any:
        made.append(threads)
        time.sleep(0.1)
        return real(embedder, threads)

    monkeypatch.setattr(OnnxEmbedder, "_session", slowly)
    embedder = OnnxEmbedder(folder, threads=3)
    many = [f"{text} {number}" for number in range(10) for text in TEXTS]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(embedder.embed, [many, many]))
    assert made == [1]


@pytest.mark.weights
def test_near_meanings_are_nearer(embedder: OnnxEmbedder) -> None:
    cat, kitten, tax = embedder.embed(["A cat sleeps.", "The kitten is napping.", "Income tax is due in May."])
    assert cat @ kitten > 0.5 > cat @ tax


@pytest.mark.weights
def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


@pytest.mark.weights
@pytest.mark.parametrize("text", ["\ud800 alone", "\x00", " \n\t", "[SEP] [CLS] [PAD]", "x" * 50_000, "wo " * 50_000])
def test_odd_texts_have_vectors_too(embedder: OnnxEmbedder, text: str) -> None:
    assert float(np.linalg.norm(embedder.embed([text])[0])) == pytest.approx(1, abs=1e-5)


@pytest.mark.weights
def test_what_exceeds_the_limit_is_not_read(embedder: OnnxEmbedder) -> None:
    start = "word " * 300
    np.testing.assert_array_equal(embedder.embed([start]), embedder.embed([f"{start} and a wholly different end"]))


@pytest.mark.weights
@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_names_the_command_that_fetches_it(folder: Path, tmp_path: Path, name: str) -> None:
    for other in set(FILES) - {name}:
        (tmp_path / other).symlink_to(folder / other)
    with pytest.raises(WeightsMissing, match=rf"{name}.*jackdaw models pull"):
        OnnxEmbedder(tmp_path, threads=1).embed(["x"])


@pytest.mark.weights
@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    for other in set(FILES) - {name}:
        shutil.copyfile(folder / other, tmp_path / other)
    content = (folder / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(WeightsDamaged, match="jackdaw models pull"):
        OnnxEmbedder(tmp_path, threads=1).embed(["x"])


@given(st.lists(st.integers(0, 400)), st.integers(1, 1024))
def test_batches_hold_every_row_once_within_the_budget(lengths: Sequence[int], budget: int) -> None:
    batches = list(_batches(lengths, budget))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget


def test_importing_the_embedder_loads_no_runtime() -> None:
    code = "import sys, models.embedder; print([n for n in ('onnxruntime', 'tokenizers', 'onnx') if n in sys.modules])"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=True).stdout == b"[]\n"


@pytest.mark.weights
@pytest.mark.torch
@pytest.mark.filterwarnings("default")  # torch and its company warn about themselves
def test_vectors_are_those_of_sentence_transformers(embedder: OnnxEmbedder, sentence_model: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers", reason="needs the research extra")
    reference = sentence_transformers.SentenceTransformer(str(sentence_model), device="cpu")
    expected = reference.encode(list(TEXTS), normalize_embeddings=True)
    assert (embedder.embed(TEXTS) * expected).sum(axis=1).min() >= 0.9999
