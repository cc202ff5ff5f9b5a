"""Answers over several rows (prompts): the mixture of their distributions, drafting ahead and rolling back; exact with
real weights.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from models.decoder import Decoder, mix
from models.engine import Engine, Logits
from models.fake import VOCABULARY, FakeEngine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import ContextFull, EngineError

TEXTS = [
    "The heron stood by the river.",
    "Nobody in the village had seen such a winter, said the ferryman.",
    "Two eggs, flour, a pinch of salt.",
    "The train leaves at noon.",
]
AHEAD = 5

tokens_of_fake = st.integers(0, VOCABULARY - 1)


def log_weights(rows: int) -> Logits:
    shares = np.arange(1, rows + 1, dtype=np.float32)
    logarithms: Logits = np.log(shares / shares.sum())
    return logarithms


def started(engine: Engine, rows: int, ahead: int = 0, question: str = "So") -> Decoder:
    """Return a decoder that has read a prompt in each of `rows` rows."""
    for sequence in range(engine.info.sequences):
        engine.clear(sequence)
    engine.prefill(0, engine.tokenize("System."))
    for row in range(1, rows):
        engine.fork(0, row)
    behind = {row: engine.prefill(row, engine.tokenize(TEXTS[row] + question)) for row in range(rows)}
    return Decoder(engine, behind, log_weights(rows), ahead=ahead)


def probabilities(logits: Logits) -> Any:
    weights = np.exp(logits.astype(np.float64) - logits.max())
    return weights / weights.sum()


def logs(logits: Logits) -> Any:
    exact = logits.astype(np.float64)
    return exact - np.logaddexp.reduce(exact)


@given(
    st.lists(st.lists(st.floats(-300, 300, width=32), min_size=5, max_size=5), min_size=2, max_size=4),
    st.lists(st.floats(-100, 0, width=32), min_size=4, max_size=4),
)
def test_the_mixture_is_the_weighted_sum_of_distributions_however_unlikely(
    rows: list[list[float]], weights: list[float]
) -> None:
    chosen = np.array(weights[: len(rows)], np.float32)
    chosen -= np.logaddexp.reduce(chosen)
    arrays = [np.array(row, np.float32) for row in rows]
    mixed = mix(arrays, chosen)
    exact = np.logaddexp.reduce([logs(row) + weight for row, weight in zip(arrays, chosen, strict=True)])
    assert mixed.dtype == np.float32
    assert np.allclose(mixed, exact, rtol=1e-6, atol=1e-5)


def test_of_tokens_that_no_row_allows_the_mixture_is_nothing() -> None:
    never = np.array([0, -np.inf, -np.inf], np.float32)
    mixed = mix([never, np.array([0, 0, -np.inf], np.float32)], log_weights(2))
    assert np.isneginf(mixed).tolist() == [False, False, True]


def test_of_one_row_the_mixture_is_that_row() -> None:
    row = np.array([1, 2, 3], np.float32)
    assert mix([row], np.zeros(1, np.float32)) is row


def test_logits_that_are_no_numbers_stay_so() -> None:
    broken = np.array([0, np.nan, 1], np.float32)
    assert np.isnan(mix([broken, np.zeros(3, np.float32)], log_weights(2))).all()


class Drafting(RuleBasedStateMachine):
    """Makes random calls to a decoder, which always equals a new decoder that has read the remaining tokens."""

    @initialize(rows=st.integers(1, 4))
    def start(self, rows: int) -> None:
        self.rows = rows
        self.decoder = started(FakeEngine(), rows, AHEAD)
        self.read: list[int] = []
        self.oldest = 0  # position of the first mixture that has to be kept

    @rule(token=tokens_of_fake)
    def append(self, token: int) -> None:
        self.decoder.append(token)
        self.read.append(token)
        self.oldest = max(self.oldest, len(self.read) - AHEAD)

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        position = data.draw(st.integers(self.oldest, len(self.read)))
        mixture = self.decoder.roll_back(position)
        assert mixture is self.decoder.mixture
        del self.read[position:]

    @rule(data=st.data(), tokens=st.lists(tokens_of_fake, min_size=1, max_size=6))
    def set_right(self, data: st.DataObject, tokens: list[int]) -> None:
        position = data.draw(st.integers(0, len(self.read)))
        self.decoder.roll_back(position, tokens)
        self.read[position:] = tokens
        self.oldest = len(self.read)

    @rule(data=st.data())
    def ask_what_is_not_kept(self, data: st.DataObject) -> None:
        position = data.draw(st.integers(-3, self.oldest - 1) | st.integers(len(self.read) + 1, len(self.read) + 3))
        for call in (self.decoder.mixture_at, self.decoder.roll_back):
            with pytest.raises(EngineError):
                call(position)

    @invariant()
    def as_a_fresh_one(self) -> None:
        assert self.decoder.position == len(self.read)
        fresh = started(FakeEngine(), self.rows)
        for position in range(len(self.read) + 1):
            if position >= self.oldest:
                assert np.array_equal(self.decoder.mixture_at(position), fresh.mixture)
            if position < len(self.read):
                fresh.append(self.read[position])


def test_whatever_is_drafted_and_rolled_back_a_fresh_decoder_has_the_same_mixtures() -> None:
    run_state_machine_as_test(Drafting, settings=settings(max_examples=40, stateful_step_count=20))


def test_no_more_mixtures_are_kept_than_allowed() -> None:
    for ahead in (0, 3):
        decoder = started(FakeEngine(), 2, ahead)
        for token in range(50):
            decoder.append(token)
        kept = [position for position in range(60) if position in decoder._mixtures]
        assert kept == list(range(50 - ahead, 51))


def test_what_was_written_before_counts() -> None:
    engine = FakeEngine()
    started = {0: engine.prefill(0, [*engine.tokenize("Prompt"), 7, 8])}
    decoder = Decoder(engine, started, log_weights(1), written=2)
    assert decoder.position == 2
    mixture = decoder.append(9)
    assert np.array_equal(decoder.roll_back(1, [8, 9]), mixture)
    assert engine.tokens(0) == (*b"Prompt", 7, 8, 9)


def test_answers_decoded_in_one_batch_are_as_each_alone() -> None:
    def first(engine: Engine) -> Decoder:
        rows = {row: engine.prefill(row, engine.tokenize(TEXTS[row])) for row in (0, 2)}
        return Decoder(engine, rows, log_weights(2))

    engine, other = FakeEngine(), FakeEngine()
    decoder, alone = first(engine), first(other)
    two = Decoder(engine, {1: engine.prefill(1, [5])}, log_weights(1))
    logits = engine.decode({0: 66, 2: 66, 1: 77})
    assert np.array_equal(decoder.take(logits), alone.append(66))
    two.take(logits)
    assert (decoder.sequences, two.sequences, decoder.position, two.position) == ((0, 2), (1,), 1, 1)


def test_a_full_context_leaves_the_answer_as_it_was() -> None:
    engine = FakeEngine(context=40, sequences=2)
    rows = {row: engine.prefill(row, [row] * 10) for row in range(2)}
    decoder = Decoder(engine, rows, log_weights(2), ahead=20)
    while engine.length(0) < 20:
        decoder.append(65)
    mixture = decoder.mixture
    with pytest.raises(ContextFull):
        decoder.append(65)
    assert (decoder.position, decoder.mixture is mixture, engine.length(1)) == (10, True, 20)
    with pytest.raises(ContextFull):
        decoder.roll_back(7, [65] * 4)  # the first row has room for them, the second has not
    assert (decoder.position, engine.length(0), engine.length(1)) == (7, 17, 17)
    assert np.array_equal(decoder.append(65), decoder.mixture_at(8))


@pytest.mark.parametrize("token", [-1, VOCABULARY])
def test_a_token_beyond_the_vocabulary_is_refused_and_changes_nothing(token: int) -> None:
    decoder = started(FakeEngine(), 2, AHEAD)
    mixture = decoder.append(65)
    with pytest.raises(EngineError):
        decoder.append(token)
    with pytest.raises(EngineError):
        decoder.roll_back(1, [token])
    assert (decoder.position, decoder.mixture is mixture) == (1, True)


@pytest.fixture(scope="module", params=["q8_0-q8_0", pytest.param("q4_1-f16", marks=pytest.mark.long)])
def engine(request: pytest.FixtureRequest, weights: Path) -> Iterator[LlamaCppEngine]:
    model, state = request.param.split("-")
    path = weights / f"smollm2-135m-instruct.{model}.gguf"
    engine = LlamaCppEngine(LlamaModel(path), context=1024, sequences=4, threads=1, kv_type=state)
    yield engine
    engine.close()


def drafted(engine: Engine, decoder: Decoder, right: Sequence[int], wrong: Sequence[int]) -> list[Logits]:
    """Return the mixed logits after each token of `right`.

    Before each, a varying number of tokens of `wrong` is drafted and rolled back.
    """
    mixtures = [decoder.mixture]
    for position, token in enumerate(right):
        for count, draft in enumerate(wrong[: position * 3 % (AHEAD + 1)]):
            assert decoder.position == position + count
            decoder.append(draft)
        assert np.array_equal(decoder.roll_back(position), mixtures[-1])
        mixtures.append(decoder.append(token))
    return mixtures


@pytest.mark.weights
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_after_wrong_drafts_the_mixtures_are_those_of_a_straight_run_to_the_bit(
    engine: LlamaCppEngine, rows: int
) -> None:
    right, wrong = engine.tokenize(" the old man went on towards the inn"), engine.tokenize(" I do not know it at all")
    straight = started(engine, rows)
    expected = [straight.mixture, *(straight.append(token) for token in right)]
    got = drafted(engine, started(engine, rows, AHEAD), right, wrong)
    assert all(np.array_equal(decoder, other) for decoder, other in zip(got, expected, strict=True))


@pytest.mark.long
@pytest.mark.weights
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_tokens_read_at_once_are_as_those_read_one_by_one(engine: LlamaCppEngine, rows: int) -> None:
    right, wrong = engine.tokenize(" the old man went on towards the inn"), engine.tokenize(" I do not know")
    straight = started(engine, rows)
    all_expected = [straight.append(token) for token in right]
    for count in (1, 3, 8):
        expected = all_expected[count - 1 :]
        decoder = started(engine, rows, AHEAD)
        for draft in wrong:
            decoder.append(draft)
        got = [decoder.roll_back(0, right[:count]), *(decoder.append(token) for token in right[count:])]
        if engine.info.kv_type == "q8_0":
            assert all(np.array_equal(decoder, other) for decoder, other in zip(got, expected, strict=True))
        else:  # sums round otherwise by how many tokens are computed at once
            assert all(
                np.abs(logs(decoder) - logs(other)).max() < 1.5 for decoder, other in zip(got, expected, strict=True)
            )


@pytest.mark.weights
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_straight_run_is_as_one_pass_over_prompt_and_answer(engine: LlamaCppEngine, rows: int) -> None:
    right = engine.tokenize(" the old man went on towards")
    decoder = started(engine, rows)
    for token in right:
        decoder.append(token)
    passes = []
    for row in range(rows):
        engine.clear(0)
        prompt = [*engine.tokenize("System."), *engine.tokenize(TEXTS[row] + "So")]
        passes.append(engine.prefill(0, [*prompt, *right]))
    expected = mix(passes, log_weights(rows))
    if engine.info.kv_type == "q8_0":
        assert np.array_equal(decoder.mixture, expected)
    else:
        assert np.abs(logs(decoder.mixture) - logs(expected)).max() < 1.5


@pytest.mark.long
@pytest.mark.weights
def test_the_likeliest_text_is_that_of_the_rows_each_computed_alone(engine: LlamaCppEngine) -> None:
    if engine.info.kv_type != "q8_0":
        pytest.skip("f16 sums round otherwise where rows are decoded together")
    rows = 2
    for word in ("Who", "It", "Snow", "My dog", "Noon", "She", "Now", "Bread", "He", "No"):
        decoder, text = started(engine, rows, question=f"\n{word} is"), []
        prompts = [engine.tokens(row) for row in range(rows)]
        for _ in range(5):
            text.append(int(decoder.mixture.argmax()))
            decoder.append(text[-1])
        mixture: Any = 0
        for prompt, weight in zip(prompts, np.exp(log_weights(rows)), strict=True):
            engine.clear(0)
            alone = [engine.prefill(0, prompt), *(engine.decode({0: token})[0] for token in text[:-1])]
            mixture += weight * np.stack([probabilities(logits) for logits in alone])
        assert mixture.argmax(axis=1).tolist() == text
