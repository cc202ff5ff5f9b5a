"""The torch engine with real weights: its three ways to reuse states give the same results, and its slices contain
queries, keys and values.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from models import kv_file
from models.chat_template import parse
from models.engine import Engine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from shared.errors import EngineError, SliceRejected
from shared.prompt import build
from shared.trace import Trace
from shared.types import StoredPassage
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices

pytestmark = [pytest.mark.torch, pytest.mark.weights]

WAYS = ("prefix", "projections", "none")
TEXT = (
    "The heron stood still by the cold river. Nobody on the quay remembered who had called the ferry, nor when it "
    "would come. At noon the fog lifted, and the boat lay at the other bank, empty, with its rope in the water."
)
ROUNDING = 0.2
"""The difference of logits that rounding may cause; the logits have a spread of 3.5, and differences up to 0.04 were
seen.

A sum that is rounded otherwise may change a state by one float16 step.
"""


@pytest.fixture(scope="module")
def engines(torch_engine: Callable[..., Engine]) -> Iterator[dict[str, Engine]]:
    engines = {way: torch_engine(context=256, sequences=2, reuse=way) for way in WAYS}
    yield engines
    for engine in engines.values():
        engine.close()


@settings(max_examples=5)
@given(data=st.data())
def test_any_cached_prefix_gives_the_same_logits_in_all_three_ways(
    engines: dict[str, Engine], data: st.DataObject
) -> None:
    first = engines["none"]
    tokens = first.tokenize(TEXT)
    first.clear(0)
    whole = first.prefill(0, tokens)
    border = data.draw(st.integers(1, len(tokens) - 1))
    kept = [first.slice(0, 0, border)]
    for engine in engines.values():
        engine.clear(1)
        engine.join(1, kept)
        logits = engine.prefill(1, tokens[border:])
        assert np.abs(logits - whole).max() <= ROUNDING
        assert np.argmax(logits) == np.argmax(whole)
        assert engine.tokens(1) == tuple(tokens)
        following = int(np.argmax(whole))
        assert np.abs(engine.decode({1: following})[1] - first.decode({0: following})[0]).max() <= ROUNDING
        first.rollback(0, 1)


def test_the_file_of_a_slice_names_its_planes(engines: dict[str, Engine]) -> None:
    engine, other = engines["projections"], engines["prefix"]
    tokens = engine.tokenize(TEXT)
    engine.clear(0)
    whole = engine.prefill(0, tokens)
    kv_slice = kv_file.unpack(b"".join(kv_file.pack(engine.slice(0, 0, 20))))
    # 30 layers, heads of 64 numbers in float16: 9 of queries, 3 of keys, 3 of values.
    assert kv_slice.planes == tuple((name, 30 * heads * 20 * 64 * 2) for name, heads in (("q", 9), ("k", 3), ("v", 3)))
    assert len(kv_slice.data) == 20 * engine.info.kv_bytes_per_token
    other.clear(0)
    other.join(0, [kv_slice])
    assert np.abs(other.prefill(0, tokens[20:]) - whole).max() <= ROUNDING


def test_the_tree_keeps_and_joins_its_slices(engines: dict[str, Engine], tmp_path: Path) -> None:
    engine = engines["projections"]
    source = LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
    database = Database(tmp_path / "jackdaw.db")
    tree = QKVTree(KVSlices(database), Blobs(tmp_path / "kv"), Counters(database), 10**9, "lfu")
    passage = StoredPassage(1, TEXT, 0, None, None, 1, "The ferry", "note", None, (), "/note")
    prompt = build("Where was the boat?", [passage], source.template)

    def answer(trace: Trace, tree: QKVTree | None) -> list[int]:
        return [
            piece.token for piece in source.stream(prompt, SamplingSettings(), max_tokens=4, trace=trace, tree=tree)
        ]

    uncached = answer(Trace(), None)
    source.keep(prompt, tree)
    trace = Trace()
    assert answer(trace, tree) == uncached
    assert trace.segments_cached == 2
    assert tree.damaged() == []
    database.close()


def test_slices_of_llama_cpp_and_of_torch_are_not_exchanged(engines: dict[str, Engine], weights: Path) -> None:
    path = weights / "smollm2-135m-instruct.q8_0.gguf"
    ours, theirs = engines["prefix"], LlamaCppEngine(LlamaModel(path), context=256, threads=1)
    tokens = ours.tokenize(TEXT)
    assert ours.vocabulary_hash() == theirs.vocabulary_hash()
    ours.clear(0)
    for source, other in ((ours, theirs), (theirs, ours)):
        source.prefill(0, tokens)
        with pytest.raises(SliceRejected):
            other.join(1, [source.slice(0, 0, 9)])
    theirs.close()


def test_the_likeliest_token_is_llama_cpps(engines: dict[str, Engine], weights: Path) -> None:
    """In at least 90% of the positions: llama.cpp also rounds to Q8_0 what it multiplies with Q8_0 weights."""
    path = weights / "smollm2-135m-instruct.q8_0.gguf"
    ours, theirs = engines["prefix"], LlamaCppEngine(LlamaModel(path), context=256, threads=1)
    tokens = ours.tokenize(TEXT)
    ours.clear(0)
    agree = [np.argmax(ours.decode({0: token})[0]) == np.argmax(theirs.decode({0: token})[0]) for token in tokens]
    theirs.close()
    assert np.mean(agree) > 0.9


def test_a_closed_engine_says_so(torch_engine: Callable[..., Engine]) -> None:
    engine = torch_engine(context=16, sequences=1)
    engine.close()
    engine.close()
    for call in (lambda: engine.prefill(0, [1]), lambda: engine.tokenize("a"), lambda: engine.length(0)):
        with pytest.raises(EngineError, match="closed"):
            call()
