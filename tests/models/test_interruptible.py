"""An engine that can be interrupted: within a prefill, with its sequences unchanged, and otherwise with the same
results.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.engine import KVType, Logits
from models.fake import FakeEngine
from models.interruptible import interruptible
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import ContextFull, EngineError, GaveWay

PART = 128
BEFORE = (7, 8, 9)


class Counting(FakeEngine):
    """Notes the length of every prefill."""

    def __init__(self, *, context: int = 8192) -> None:
        super().__init__(context=context)
        self.parts: list[int] = []

    def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
        self.parts.append(len(tokens))
        return super().prefill(sequence, tokens)


def after(calls: int) -> Callable[[], bool]:
    """Return a function that says whether to give way: False for the first `calls` calls, then True."""
    left = iter([False] * calls)
    return lambda: next(left, True)


def engine(**options: int) -> Counting:
    inner = Counting(**options)
    inner.prefill(0, BEFORE)
    inner.parts.clear()
    return inner


@given(count=st.integers(1, 5 * PART), looks=st.integers(0, 6))
def test_it_gives_way_within_a_part_or_not_at_all(count: int, looks: int) -> None:
    inner, tokens = engine(), [number % 250 for number in range(count)]
    parts = -(-count // PART)
    if looks >= parts:
        expected = engine().prefill(0, tokens)
        assert np.array_equal(interruptible(inner, after(looks)).prefill(0, tokens), expected)
        assert inner.tokens(0) == (*BEFORE, *tokens)
    else:
        with pytest.raises(GaveWay, match="continues when"):
            interruptible(inner, after(looks)).prefill(0, tokens)
        assert inner.tokens(0) == BEFORE
    assert len(inner.parts) == min(looks, parts)
    assert max(inner.parts, default=0) <= PART


def test_decoding_gives_way_before_each_token() -> None:
    inner = engine()
    wrapped = interruptible(inner, after(2))
    wrapped.decode({0: 1})
    wrapped.decode({0: 2})
    with pytest.raises(GaveWay):
        wrapped.decode({0: 3})
    assert inner.tokens(0) == (*BEFORE, 1, 2)


def test_after_giving_way_the_same_work_comes_to_the_same_end() -> None:
    inner, tokens = engine(), list(range(200)) * 2
    expected = engine().prefill(0, tokens)
    with pytest.raises(GaveWay):
        interruptible(inner, after(2)).prefill(0, tokens)
    assert np.array_equal(interruptible(inner, after(9)).prefill(0, tokens), expected)


def test_what_was_computed_before_it_gave_way_can_be_kept() -> None:
    inner, tokens = engine(), list(range(200)) * 2
    expected = engine().prefill(0, tokens)
    with pytest.raises(GaveWay):
        interruptible(inner, after(2), keeps=True).prefill(0, tokens)
    assert inner.tokens(0) == (*BEFORE, *tokens[: 2 * PART])
    assert np.array_equal(inner.prefill(0, tokens[2 * PART :]), expected)


def test_a_fault_leaves_the_sequence_as_before_also_where_what_was_computed_is_kept() -> None:
    inner = engine(context=300)
    with pytest.raises(ContextFull):
        interruptible(inner, after(9), keeps=True).prefill(0, [1] * 298)
    assert inner.tokens(0) == BEFORE


def test_what_does_not_fit_leaves_the_sequence_as_before() -> None:
    inner = engine(context=300)
    with pytest.raises(ContextFull):
        interruptible(inner, after(9)).prefill(0, [1] * 298)
    assert inner.tokens(0) == BEFORE


def test_a_wrong_call_is_refused_as_without() -> None:
    with pytest.raises(EngineError):
        interruptible(engine(), after(9)).prefill(0, [])


def test_the_rest_is_the_engines_own() -> None:
    inner = engine()
    wrapped = interruptible(inner, after(0))
    assert wrapped.info == inner.info
    assert wrapped.tokens(0) == BEFORE
    wrapped.join(1, [wrapped.slice(0, 0, 3)])
    assert inner.tokens(1) == BEFORE


@pytest.mark.long
@pytest.mark.weights
@pytest.mark.parametrize("kv_type", [pytest.param("f16", marks=pytest.mark.long), "q8_0"])
def test_real_logits_are_the_same_to_the_bit(weights: Path, kv_type: KVType) -> None:
    model = LlamaModel(weights / "smollm2-135m-instruct.q4_1.gguf")
    inner = LlamaCppEngine(model, context=512, sequences=1, threads=2, kv_type=kv_type)
    tokens = [(7919 * number) % 40_000 + 300 for number in range(300)]
    wrapped = interruptible(inner, lambda: False)
    expected = [inner.prefill(0, tokens), inner.decode({0: 100})[0]]
    inner.clear(0)
    assert all(map(np.array_equal, [wrapped.prefill(0, tokens), wrapped.decode({0: 100})[0]], expected))
    # Also after it gave way in the midst of it.
    inner.clear(0)
    with pytest.raises(GaveWay):
        interruptible(inner, after(2)).prefill(0, tokens)
    assert inner.length(0) == 0
    assert np.array_equal(wrapped.prefill(0, tokens), expected[0])
    inner.close()
