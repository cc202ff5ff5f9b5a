"""Slices of KV states joined at another position than they were cut from: marked as inexact, never cut again, harmless
to others.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.engine import Engine, KVSlice, Logits
from models.fake import FakeEngine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import ContextFull, EngineError, SliceRejected

CONTEXT, SEQUENCES = 640, 3
HEAD = "Answer the question from the passages, in one short sentence.\n"
FIRST = "The house\nPetra lives in the red house by the quay, and the ferry leaves from there at nine every morning.\n"
SECOND = "The drill\nShe has borrowed the blue drill, the long ladder and two lamps; she brings them back on Friday.\n"
TAIL = "Question: When does she bring the ladder back?\n"


@pytest.fixture(
    scope="module",
    params=[
        "fake",
        pytest.param("f16", marks=[pytest.mark.weights, pytest.mark.long]),
        pytest.param("q8_0", marks=pytest.mark.weights),
    ],
)
def loaded(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine: Engine
    if request.param == "fake":
        engine = FakeEngine(context=CONTEXT, sequences=SEQUENCES)
    else:
        weights: Path = request.getfixturevalue("weights")
        model = LlamaModel(weights / "smollm2-135m-instruct.q4_1.gguf")
        engine = LlamaCppEngine(model, context=CONTEXT, sequences=SEQUENCES, threads=1, kv_type=request.param)
    yield engine
    engine.close()


@pytest.fixture
def engine(loaded: Engine) -> Engine:
    for sequence in range(SEQUENCES):
        loaded.clear(sequence)
    return loaded


def tokens(engine: Engine, *texts: str) -> list[int]:
    return [token for text in texts for token in engine.tokenize(text)]


def cut(engine: Engine, before: str, text: str) -> KVSlice:
    """Return the slice of `text` as computed after `before`; no sequence holds it afterwards."""
    engine.clear(2)
    engine.prefill(2, tokens(engine, before, text))
    kv_slice = engine.slice(2, len(engine.tokenize(before)), engine.length(2))
    engine.clear(2)
    return kv_slice


def blended(engine: Engine, kv_slice: KVSlice, skip: int) -> Logits:
    """Return the logits after the texts HEAD, FIRST, SECOND and TAIL.

    The states of SECOND come from a slice that was computed elsewhere, except those of its first `skip` tokens.
    """
    engine.clear(0)
    engine.prefill(0, [*tokens(engine, HEAD, FIRST), *kv_slice.tokens[:skip]])
    engine.join_moved(0, kv_slice, skip)
    return engine.prefill(0, tokens(engine, TAIL))


def divergence(right: Logits, other: Logits) -> float:
    """Return the Kullback-Leibler divergence between two next-token distributions."""
    logs = [values - np.logaddexp.reduce(values) for values in (right.astype(np.float64), other.astype(np.float64))]
    return float((np.exp(logs[0]) * (logs[0] - logs[1])).sum())


def test_in_the_place_where_it_was_cut_it_is_exact_to_the_bit(engine: Engine) -> None:
    expected = engine.prefill(0, tokens(engine, HEAD, SECOND, TAIL))
    engine.clear(0)
    kv_slice = cut(engine, HEAD, SECOND)
    engine.prefill(0, tokens(engine, HEAD))
    engine.join_moved(0, kv_slice)
    assert np.array_equal(engine.prefill(0, tokens(engine, TAIL)), expected)


def test_there_less_its_first_tokens_it_is_exact_but_for_rounding(engine: Engine) -> None:
    expected = engine.prefill(0, tokens(engine, HEAD, SECOND, TAIL))
    engine.clear(0)
    kv_slice = cut(engine, HEAD, SECOND)
    engine.prefill(0, [*tokens(engine, HEAD), *kv_slice.tokens[:7]])
    engine.join_moved(0, kv_slice, 7)
    # The tokens left out leave their cells to what comes next, and sums round by where a cell lies.
    assert divergence(expected, engine.prefill(0, tokens(engine, TAIL))) < 0.02


def test_elsewhere_it_stands_at_the_end_with_what_it_read_where_it_was_cut(engine: Engine) -> None:
    expected = engine.prefill(0, tokens(engine, HEAD, FIRST, SECOND, TAIL))
    logits = blended(engine, cut(engine, HEAD, SECOND), 5)
    assert engine.tokens(0) == tuple(tokens(engine, HEAD, FIRST, SECOND, TAIL))
    assert not np.array_equal(logits, expected)
    assert not np.array_equal(logits, blended(engine, cut(engine, HEAD + HEAD, SECOND), 5))


def test_what_stands_behind_it_is_marked_and_never_cut(engine: Engine) -> None:
    kv_slice = cut(engine, HEAD, SECOND)
    border = len(tokens(engine, HEAD, FIRST)) + 5
    blended(engine, kv_slice, 5)
    engine.fork(0, 1)
    for sequence in (0, 1):
        assert engine.exact(sequence) == border < engine.length(sequence)
        assert engine.slice(sequence, 3, border).stop == border
        for stop in (border + 1, engine.length(sequence)):
            with pytest.raises(EngineError, match="moved"):
                engine.slice(sequence, border - 1, stop)
    engine.rollback(0, engine.length(0) - border)
    engine.prefill(0, tokens(engine, TAIL))
    assert engine.exact(0) == engine.length(0)
    assert engine.exact(1) == border


def test_decoding_goes_on_and_what_is_cut_back_leaves_no_trace(engine: Engine) -> None:
    expected = engine.prefill(0, tokens(engine, HEAD, FIRST, SECOND, TAIL))
    border = len(tokens(engine, HEAD, FIRST))
    logits = blended(engine, cut(engine, HEAD, SECOND), 0)
    for _ in range(3):
        token = int(logits.argmax())
        logits = engine.decode({0: token})[0]
        assert engine.tokens(0)[-1] == token
        assert np.isfinite(logits).all()
    engine.rollback(0, engine.length(0) - border)
    assert np.array_equal(engine.prefill(0, tokens(engine, SECOND, TAIL)), expected)


def test_other_sequences_and_what_they_share_stay_to_the_bit(engine: Engine) -> None:
    expected = engine.prefill(0, tokens(engine, HEAD, FIRST, TAIL))
    engine.clear(0)
    kv_slice = cut(engine, HEAD, SECOND)
    engine.prefill(0, tokens(engine, HEAD, FIRST))
    engine.fork(0, 1)
    engine.join_moved(1, kv_slice)
    engine.prefill(1, tokens(engine, TAIL))
    engine.clear(1)
    assert np.array_equal(engine.prefill(0, tokens(engine, TAIL)), expected)


def test_a_slice_can_be_kept_and_joined_while_a_moved_one_waits_to_be_turned(engine: Engine) -> None:
    expected = engine.prefill(0, tokens(engine, HEAD, FIRST, TAIL))
    engine.clear(0)
    kv_slice, first = cut(engine, HEAD, SECOND), cut(engine, HEAD, FIRST)
    engine.prefill(0, tokens(engine, HEAD))
    engine.fork(0, 1)
    engine.join_moved(1, kv_slice, 3)
    again = engine.slice(0, 0, engine.length(0))
    engine.clear(0)
    engine.clear(1)
    engine.join(0, [again, first])
    assert np.array_equal(engine.prefill(0, tokens(engine, TAIL)), expected)


def test_the_more_is_computed_again_the_nearer_it_comes(engine: Engine) -> None:
    if isinstance(engine, FakeEngine):
        pytest.skip("a running hash comes no nearer")
    expected = engine.prefill(0, tokens(engine, HEAD, FIRST, SECOND, TAIL))
    kv_slice = cut(engine, HEAD, SECOND)
    far, half, near = (
        divergence(expected, blended(engine, kv_slice, len(kv_slice.tokens) * part // 10)) for part in (0, 5, 9)
    )
    assert far > half > near > 0


def altered(kv_slice: KVSlice, what: str) -> KVSlice:
    """Return the slice with a changed byte, a changed token or another key."""
    changes: dict[str, Any] = {
        "data": {"data": bytes(kv_slice.data)[:-1] + bytes([bytes(kv_slice.data)[-1] ^ 1])},
        "tokens": {"tokens": (*kv_slice.tokens[:-1], 1)},
        "key": {"kv_key": "other"},
    }
    return dataclasses.replace(kv_slice, **changes[what])


@pytest.mark.parametrize("what", ["data", "tokens", "key"])
def test_a_wrong_slice_is_rejected_and_the_sequence_is_as_before(engine: Engine, what: str) -> None:
    kv_slice = cut(engine, HEAD, SECOND)
    expected = engine.prefill(0, tokens(engine, HEAD, TAIL))
    engine.rollback(0, len(tokens(engine, TAIL)))
    with pytest.raises(SliceRejected):
        engine.join_moved(0, altered(kv_slice, what))
    assert engine.exact(0) == engine.length(0) == len(tokens(engine, HEAD))
    assert np.array_equal(engine.prefill(0, tokens(engine, TAIL)), expected)


def test_a_wrong_call_is_refused(engine: Engine) -> None:
    kv_slice = cut(engine, HEAD, SECOND)
    for sequence, skip in ((0, -1), (0, len(kv_slice.tokens)), (SEQUENCES, 0)):
        with pytest.raises(EngineError):
            engine.join_moved(sequence, kv_slice, skip)
    left = engine.info.context - 10
    for sequence in range(1, SEQUENCES):
        engine.prefill(sequence, [5] * min(left, engine.info.prompt_room - 1))
        left -= min(left, engine.info.prompt_room - 1)
        if not left:
            break
    with pytest.raises(ContextFull):
        engine.join_moved(0, kv_slice)
    assert engine.length(0) == 0
