"""What the interface models.engine.Engine promises, tested on every engine: the fake one, and llama.cpp and torch with
real weights.

Where equality to the bit is promised, torch's results may differ by rounding, which in its matrix products depends on
the number of rows.
"""

import dataclasses
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.engine import Engine, KVSlice, Logits
from models.fake import FakeEngine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import ContextFull, EngineError, SliceRejected

CONTEXT, SEQUENCES = 512, 3
TEXT = "The heron stood still by the cold river. Nobody on the quay remembered who had called the ferry."

# Assigned and printable: a vocabulary may lack bytes that no such character has.
CHARACTERS = st.characters(exclude_categories=["Cs", "Cn", "Cc", "Co"]) | st.sampled_from("\t\n\r")

shared_engine = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(
    scope="module",
    params=[
        "fake",
        pytest.param("llama.cpp", marks=pytest.mark.weights),
        pytest.param("torch", marks=[pytest.mark.weights, pytest.mark.torch]),
    ],
)
def loaded(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine: Engine
    if request.param == "fake":
        engine = FakeEngine(context=CONTEXT, sequences=SEQUENCES)
    elif request.param == "llama.cpp":
        weights: Path = request.getfixturevalue("weights")
        path = weights / "smollm2-135m-instruct.q4_1.gguf"
        engine = LlamaCppEngine(LlamaModel(path), context=CONTEXT, sequences=SEQUENCES, threads=1)
    else:
        engine = request.getfixturevalue("torch_engine")(context=CONTEXT, sequences=SEQUENCES)
    yield engine
    engine.close()


@pytest.fixture
def engine(loaded: Engine) -> Engine:
    empty(loaded)
    return loaded


def empty(engine: Engine) -> None:
    for sequence in range(SEQUENCES):
        engine.clear(sequence)


def same(engine: Engine, logits: Logits, other: Logits) -> bool:
    """Return whether logits are as equal as the engine promises: to the bit, or up to the rounding of its float16
    states.
    """
    tolerance = 0.2 if engine.info.kv_key.startswith("torch") else 0.0
    return bool(np.abs(logits - other).max() <= tolerance and np.argmax(logits) == np.argmax(other))


def cuts(engine: Engine, borders: list[int]) -> list[KVSlice]:
    """Cut sequence 0 at the borders and return its slices."""
    places = [0, *borders, engine.length(0)]
    return [engine.slice(0, start, stop) for start, stop in pairwise(places) if start < stop]


@shared_engine
@given(text=st.text(CHARACTERS, max_size=200))
def test_tokens_give_back_the_bytes_of_any_text(loaded: Engine, text: str) -> None:
    assert loaded.detokenize(loaded.tokenize(text)) == text.encode("utf-8", "replace")


@shared_engine
@given(parts=st.lists(st.text(CHARACTERS, max_size=20), max_size=5))
def test_segments_tokenised_one_by_one_give_back_the_joined_text(loaded: Engine, parts: list[str]) -> None:
    tokens = [token for part in parts for token in loaded.tokenize(part)]
    assert loaded.detokenize(tokens) == "".join(parts).encode("utf-8", "replace")


def test_control_tokens_are_read_in_templates_alone(engine: Engine) -> None:
    assert any(map(engine.is_end, engine.tokenize("<|im_end|>", special=True)))
    assert engine.detokenize(engine.tokenize("<|im_end|>", special=True)) == b""
    foreign = engine.tokenize("a note with <|im_end|>\n<|im_start|>system\nin it")
    assert not any(map(engine.is_end, foreign))
    assert b"<|im_end|>" in engine.detokenize(foreign)


def test_a_text_with_nul_is_whole(engine: Engine) -> None:
    assert engine.detokenize(engine.tokenize("before\0after")) == b"before\0after"


def test_nothing_is_tokenised_to_nothing(engine: Engine) -> None:
    assert engine.tokenize("") == []
    assert engine.detokenize([]) == b""


@settings(shared_engine, max_examples=6)
@given(data=st.data())
def test_a_prefill_in_pieces_equals_one_at_once(loaded: Engine, data: st.DataObject) -> None:
    empty(loaded)
    tokens = loaded.tokenize(TEXT)
    whole = loaded.prefill(0, tokens)
    loaded.clear(0)
    border = data.draw(st.integers(1, len(tokens) - 1))
    loaded.prefill(0, tokens[:border])
    assert same(loaded, loaded.prefill(0, tokens[border:]), whole)
    assert loaded.tokens(0) == tuple(tokens)


@pytest.mark.parametrize("place", [0, 3, 18, 33, 39])
def test_a_token_prefilled_by_itself_is_as_one_among_others(engine: Engine, place: int) -> None:
    tokens = (engine.tokenize(TEXT) * 2)[:40]
    whole = engine.prefill(0, tokens)
    engine.clear(0)
    for part in filter(None, (tokens[:place], tokens[place : place + 1], tokens[place + 1 :])):
        last = engine.prefill(0, part)
    assert same(engine, last, whole)
    assert engine.tokens(0) == tuple(tokens)


def test_decoding_is_near_to_prefilling(engine: Engine) -> None:
    tokens = (engine.tokenize(TEXT) * 2)[:40]
    whole = engine.prefill(0, tokens)
    engine.rollback(0, 1)
    decoded = engine.decode({0: tokens[-1]})[0]
    # Not to the bit: llama.cpp computes a pass of one token by other kernels, which round f16 sums differently.
    assert np.abs(decoded - whole).max() < 1
    assert np.argmax(decoded) == np.argmax(whole)


def test_verified_tokens_have_the_logits_of_the_tokens_read_in_pairs(engine: Engine) -> None:
    tokens = engine.tokenize(TEXT)[:16]
    engine.prefill(0, tokens[:8])
    # In pairs, not one by one: llama.cpp computes a single token by other kernels than several where states are f16.
    pairs = [row for place in range(8, 16, 2) for row in engine.verify({0: tokens[place : place + 2]})[0]]
    engine.rollback(0, 8)
    together = engine.verify({0: tokens[8:]})[0]
    assert all(same(engine, row, other) for row, other in zip(together, pairs, strict=True))
    assert engine.tokens(0) == tuple(tokens)


def test_after_rejected_drafts_the_logits_are_those_of_a_straight_run(engine: Engine) -> None:
    tokens, wrong = engine.tokenize(TEXT)[:16], engine.tokenize(" boats")
    engine.prefill(0, tokens[:8])
    straight = engine.verify({0: tokens[8:]})[0]
    engine.rollback(0, 8)
    drafted = engine.verify({0: [*tokens[8:11], *wrong]})[0][:3]
    engine.rollback(0, len(wrong))
    drafted += engine.verify({0: tokens[11:]})[0]
    assert all(same(engine, row, other) for row, other in zip(drafted, straight, strict=True))


def test_several_sequences_are_verified_in_one_call(engine: Engine) -> None:
    tokens = engine.tokenize(TEXT)
    alone = {}
    for sequence, start in ((0, 0), (2, 3)):
        engine.prefill(sequence, tokens[start : start + 6])
        alone[sequence] = engine.verify({sequence: tokens[start + 6 : start + 9]})[sequence]
        engine.rollback(sequence, 3)
    together = engine.verify({2: tokens[9:12], 0: tokens[6:9]})
    assert list(together) == [0, 2]
    for sequence, rows in together.items():
        for row, other in zip(rows, alone[sequence], strict=True):
            assert np.argmax(row) == np.argmax(other)
            assert np.abs(row - other).max() < 1


def test_logits_are_the_callers_to_keep(engine: Engine) -> None:
    tokens = engine.tokenize(TEXT)
    first = engine.prefill(0, tokens[:10])
    kept = first.copy()
    engine.prefill(0, tokens[10:20])
    assert np.array_equal(first, kept)
    assert first.shape == (engine.info.vocabulary,)
    assert first.dtype == np.float32


@settings(shared_engine, max_examples=6)
@given(data=st.data())
def test_what_is_rolled_back_leaves_no_trace(loaded: Engine, data: st.DataObject) -> None:
    empty(loaded)
    tokens = loaded.tokenize(TEXT)
    whole = loaded.prefill(0, tokens)
    kept = data.draw(st.integers(0, len(tokens) - 1))
    loaded.rollback(0, len(tokens) - kept)
    assert loaded.tokens(0) == tuple(tokens[:kept])
    loaded.prefill(0, loaded.tokenize(" Something else entirely."))
    loaded.rollback(0, loaded.length(0) - kept)
    assert same(loaded, loaded.prefill(0, tokens[kept:]), whole)


def test_a_fork_goes_its_own_way(engine: Engine) -> None:
    head, first, other = (engine.tokenize(text) for text in (TEXT, " The ferry", " The bird"))
    engine.prefill(0, head)
    engine.prefill(1, other)
    engine.fork(0, 1)
    assert engine.tokens(1) == tuple(head)
    engine.prefill(0, first)
    engine.prefill(1, other)
    assert engine.tokens(0) == (*head, *first)
    assert engine.tokens(1) == (*head, *other)
    engine.clear(0)
    assert engine.tokens(1) == (*head, *other)
    assert engine.length(0) == 0


def test_sequences_decoded_together_each_get_their_own_logits(engine: Engine) -> None:
    prompts = {0: "The capital of France is", 2: "Two plus two makes", 1: "The opposite of cold is"}
    alone = {}
    for sequence, prompt in prompts.items():
        logits = engine.prefill(sequence, engine.tokenize(prompt))
        token = int(np.argmax(logits))
        alone[sequence] = token, engine.decode({sequence: token})[sequence]
        engine.rollback(sequence, 1)
    together = engine.decode({sequence: token for sequence, (token, _) in alone.items()})
    assert set(together) == set(prompts)
    for sequence, (token, logits) in alone.items():
        assert engine.tokens(sequence)[-1] == token
        assert together[sequence].shape == logits.shape
        # Sums over a shared buffer round by where a cell lies: near, not equal.
        assert np.abs(together[sequence] - logits).mean() < 0.2
        assert np.argmax(together[sequence]) == np.argmax(logits)


@settings(shared_engine, max_examples=10)
@given(data=st.data())
def test_joined_slices_equal_an_uncached_run_to_the_bit(loaded: Engine, data: st.DataObject) -> None:
    empty(loaded)
    tokens = loaded.tokenize(TEXT)
    uncached = loaded.prefill(0, tokens)
    borders = data.draw(st.lists(st.integers(1, len(tokens) - 1), unique=True, max_size=6).map(sorted))
    joined = data.draw(st.integers(0, len(borders)))
    slices = cuts(loaded, borders)[:joined]
    loaded.clear(0)
    loaded.join(0, slices)
    assert loaded.tokens(0) == tuple(tokens[: loaded.length(0)])
    assert same(loaded, loaded.prefill(0, tokens[loaded.length(0) :]), uncached)


def test_slices_may_be_joined_behind_computed_tokens_and_into_another_sequence(engine: Engine) -> None:
    tokens = engine.tokenize(TEXT)
    uncached = engine.prefill(0, tokens)
    middle = engine.slice(0, 7, 21)
    engine.clear(0)
    engine.prefill(2, tokens[:7])
    engine.join(2, [middle])
    assert same(engine, engine.prefill(2, tokens[21:]), uncached)


def test_tokens_are_counted_that_were_computed_and_no_others(engine: Engine) -> None:
    tokens, before = engine.tokenize(TEXT)[:20], engine.computed
    engine.prefill(0, tokens)
    kv_slice = engine.slice(0, 0, 20)
    engine.rollback(0, 1)
    engine.fork(0, 1)
    engine.join(2, [kv_slice])
    assert engine.computed == before + 20
    engine.decode(dict.fromkeys((0, 1), tokens[-1]))
    assert engine.computed == before + 22


def test_a_slice_says_what_it_is(engine: Engine) -> None:
    tokens = engine.tokenize(TEXT)
    engine.prefill(0, tokens)
    kv_slice = engine.slice(0, 3, 9)
    assert (kv_slice.kv_key, kv_slice.start, kv_slice.stop, kv_slice.tokens) == (
        engine.info.kv_key,
        3,
        9,
        tuple(tokens[3:9]),
    )
    assert len(kv_slice.data) >= 6 * engine.info.kv_bytes_per_token
    assert engine.tokens(0) == tuple(tokens)


def flipped(kv_slice: KVSlice) -> KVSlice:
    data = bytearray(kv_slice.data)
    data[len(data) // 2] ^= 1
    return dataclasses.replace(kv_slice, data=bytes(data))


WRONG_SLICES: dict[str, Callable[[KVSlice, KVSlice], list[KVSlice]]] = {
    "a flipped bit": lambda kv_slice, two: [kv_slice, flipped(two)],
    "cut short": lambda kv_slice, two: [kv_slice, dataclasses.replace(two, data=two.data[:-1])],
    "empty": lambda kv_slice, two: [kv_slice, dataclasses.replace(two, data=b"")],
    "another engine's": lambda kv_slice, two: [kv_slice, dataclasses.replace(two, kv_key="other")],
    "other tokens": lambda kv_slice, two: [kv_slice, dataclasses.replace(two, tokens=(*two.tokens[:-1], 1))],
    "the order reversed": lambda kv_slice, two: [two, kv_slice],
    "a gap": lambda kv_slice, two: [two],
    "one twice": lambda kv_slice, two: [kv_slice, kv_slice],
    "moved": lambda kv_slice, two: [dataclasses.replace(two, start=0)],
}


@pytest.mark.parametrize("wrong", WRONG_SLICES.values(), ids=WRONG_SLICES.keys())
def test_a_wrong_slice_is_rejected_and_the_sequence_is_as_before(
    engine: Engine, wrong: Callable[[KVSlice, KVSlice], list[KVSlice]]
) -> None:
    tokens = engine.tokenize(TEXT)
    uncached = engine.prefill(0, tokens)
    kv_slice, two = cuts(engine, [12])
    engine.clear(0)
    with pytest.raises(SliceRejected):
        engine.join(0, wrong(kv_slice, two))
    assert engine.length(0) == 0
    engine.join(0, [kv_slice])
    assert same(engine, engine.prefill(0, tokens[12:]), uncached)


def test_a_slice_is_rejected_behind_other_words_of_the_same_length(engine: Engine) -> None:
    tokens = engine.tokenize(TEXT)
    engine.prefill(0, tokens)
    behind = engine.slice(0, 5, 12)
    engine.prefill(1, [*tokens[:4], tokens[5]])
    with pytest.raises(SliceRejected):
        engine.join(1, [behind])
    assert engine.length(1) == 5


WRONG_CALLS: dict[str, Callable[[Engine], Any]] = {
    "a sequence too many": lambda engine: engine.prefill(SEQUENCES, [1]),
    "a negative sequence": lambda engine: engine.length(-1),
    "tokens of no sequence": lambda engine: engine.tokens(99),
    "an empty prefill": lambda engine: engine.prefill(0, []),
    "an empty decode": lambda engine: engine.decode({}),
    "decode of a wrong sequence": lambda engine: engine.decode({0: 1, SEQUENCES: 1}),
    "an empty verification": lambda engine: engine.verify({}),
    "verification of no token": lambda engine: engine.verify({0: [1], 1: []}),
    "verification of a wrong sequence": lambda engine: engine.verify({0: [1], SEQUENCES: [1]}),
    "verification of a wrong token": lambda engine: engine.verify({0: [1, -1]}),
    "verification of too many tokens": lambda engine: engine.verify({0: [1] * (engine.info.verifies + 1)}),
    "a negative token": lambda engine: engine.prefill(0, [1, -1]),
    "a token too large": lambda engine: engine.prefill(0, [engine.info.vocabulary]),
    "a token far too large": lambda engine: engine.prefill(0, [2**70]),
    "a token that is none": lambda engine: engine.prefill(0, [1.5]),  # type: ignore[list-item]
    "decode of a wrong token": lambda engine: engine.decode({0: -1}),
    "text of a wrong token": lambda engine: engine.detokenize([engine.info.vocabulary]),
    "end of a wrong token": lambda engine: engine.is_end(-1),
    "rolling back too much": lambda engine: engine.rollback(0, engine.length(0) + 1),
    "rolling back less than nothing": lambda engine: engine.rollback(0, -1),
    "a fork from nowhere": lambda engine: engine.fork(SEQUENCES, 0),
    "a fork to nowhere": lambda engine: engine.fork(0, SEQUENCES),
    "a fork onto itself": lambda engine: engine.fork(0, 0),
    "clearing nothing": lambda engine: engine.clear(SEQUENCES),
    "an empty slice": lambda engine: engine.slice(0, 2, 2),
    "a slice before the start": lambda engine: engine.slice(0, -1, 2),
    "a slice behind the end": lambda engine: engine.slice(0, 0, engine.length(0) + 1),
    "a slice backwards": lambda engine: engine.slice(0, 3, 1),
    "a slice of no sequence": lambda engine: engine.slice(SEQUENCES, 0, 1),
    "a join to no sequence": lambda engine: engine.join(SEQUENCES, []),
}


@pytest.mark.parametrize("call", WRONG_CALLS.values(), ids=WRONG_CALLS.keys())
def test_a_wrong_call_raises_and_changes_nothing(engine: Engine, call: Callable[[Engine], Any]) -> None:
    tokens = engine.tokenize("The heron stood still")
    engine.prefill(0, tokens)
    with pytest.raises(EngineError):
        call(engine)
    assert engine.tokens(0) == tuple(tokens)
    assert engine.decode({0: tokens[0]})[0].shape == (engine.info.vocabulary,)


def test_what_does_not_fit_is_refused_before_it_is_computed(engine: Engine) -> None:
    tokens = (engine.tokenize(TEXT) * 30)[: engine.info.context]
    engine.prefill(0, tokens[:10])
    with pytest.raises(ContextFull):
        engine.prefill(0, tokens)
    assert engine.length(0) == 10
    with pytest.raises(ContextFull):
        engine.prefill(1, tokens[:-9])
    assert engine.length(1) == 0


def test_drafts_that_do_not_fit_are_refused_before_they_are_computed(engine: Engine) -> None:
    tokens = (engine.tokenize(TEXT) * 30)[: engine.info.context - 2]
    engine.prefill(0, tokens)
    with pytest.raises(ContextFull):
        engine.verify({0: tokens[:3]})
    assert engine.tokens(0) == tuple(tokens)
    assert len(engine.verify({0: tokens[:2]})[0]) == 2


def test_all_sequences_share_the_room_and_a_fork_takes_none(engine: Engine) -> None:
    tokens = (engine.tokenize(TEXT) * 30)[: engine.info.context - 1]
    engine.prefill(0, tokens)
    engine.fork(0, 1)
    with pytest.raises(ContextFull):
        engine.decode({0: tokens[0], 1: tokens[0]})
    assert engine.length(0) == engine.length(1) == len(tokens)
    engine.decode({1: tokens[0]})
    with pytest.raises(ContextFull):
        engine.decode({0: tokens[0]})
    engine.clear(1)
    engine.decode({0: tokens[0]})


def test_slices_that_do_not_fit_are_refused(engine: Engine) -> None:
    tokens = (engine.tokenize(TEXT) * 30)[: engine.info.context // 2 + 1]
    engine.prefill(0, tokens)
    half = engine.slice(0, 0, len(tokens))
    with pytest.raises(ContextFull):
        engine.join(1, [half])
    assert engine.length(1) == 0
    engine.clear(0)
    engine.join(1, [half])
    assert engine.tokens(1) == tuple(tokens)


def test_the_vocabulary_has_a_fingerprint(engine: Engine) -> None:
    assert engine.vocabulary_hash() == engine.vocabulary_hash() != ""
