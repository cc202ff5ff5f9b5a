"""A draft network drafts from the answering model's features: it reads those of each pass, and no others."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.fake import END, VOCABULARY
from models.features import Features
from models.sampling import SamplingSettings
from models.speculative.costs import DraftCosts, measured_drafts
from models.speculative.draft_model import DraftModel
from models.speculative.drafter import Draft
from models.speculative.drafting import Drafting
from models.speculative.network import DraftNetwork, Floats, Held
from models.speculative.network_drafter import NetworkDrafter
from shared.errors import EngineError
from tests.models.speculative.answers import CHEAP, NEW, Fresh, asked, written
from tests.models.speculative.networks import WIDTH, Featured, Knowing, feature, small_shape, tensors

SHAPE = small_shape(width=WIDTH, tokens=VOCABULARY, drafted=40)


def network(vocabulary: Sequence[int] = range(40)) -> DraftNetwork:
    return DraftNetwork(SHAPE, tensors(SHAPE) | {"vocabulary": np.array(vocabulary, np.int32)})


class FreshFeatured(Featured, Fresh):
    """An engine with features whose text is nowhere in the prompt."""


def expected(own: DraftNetwork, text: Sequence[int], first: int, count: int) -> list[int]:
    """The tokens that the network drafts after it has read the features from `first` on in one step."""
    last = len(text) - 1
    held, drafted = Held(SHAPE), list[int]()
    before = np.stack([feature(place, text[place]) for place in range(first, last)])
    features, logits = own.step(held, before, list(text[first + 1 :]), np.arange(first + 1, last + 1))
    while True:
        drafted.append(int(own.vocabulary[logits[-1].argmax()]))
        if len(drafted) == count:
            return drafted
        features, logits = own.step(held, features[-1:], drafted[-1:], [last + len(drafted)])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1, max_size=8))
def test_drafts_are_those_of_all_features_read_at_once(passes: list[tuple[int, int, bool]]) -> None:
    """Whatever is drafted, accepted and rejected in between, and whether or not it drafted before each pass."""
    own, engine, prompt = network(), FreshFeatured(), [1, 2, 3]
    engine.prefill(0, prompt)
    drafter, text = NetworkDrafter(own, engine, {END}, prompt), [*prompt]
    draw = np.random.default_rng(0)
    for drafted, accepted, asks in passes:
        token = int(draw.integers(40))
        drafter.append(token)
        text.append(token)
        if asks:
            drafter.draft(2)
        guessed = [int(each) for each in draw.integers(40, size=drafted)]
        engine.verify({0: [token, *guessed]})
        drafter.passed(0)
        for right in guessed[:accepted]:
            drafter.append(right)
            text.append(right)
        engine.rollback(0, max(0, drafted - accepted))
    drafter.append(5)
    text.append(5)
    draft = drafter.draft(3)
    assert list(draft.tokens) == expected(own, text, len(prompt), 3)
    assert all(value <= 0 for value in draft.log_probabilities)


def test_without_features_nothing_is_drafted_and_after_a_gap_reading_begins_again() -> None:
    own, engine = network(), FreshFeatured()
    engine.prefill(0, [1, 2, 3])
    drafter, text = NetworkDrafter(own, engine, {END}, [1, 2, 3]), [1, 2, 3, 4]
    drafter.append(4)
    assert drafter.draft(3) == Draft()
    engine.decode({0: 4})
    drafter.passed(0)
    assert drafter.draft(3) == Draft()  # the features of a token serve to draft behind the token after it
    for token in (5, 6, 7):  # computed in passes of which the drafter was not told
        drafter.append(token)
        text.append(token)
        engine.decode({0: token})
    assert drafter.draft(3) == Draft()
    drafter.passed(0)
    drafter.append(8)
    assert list(drafter.draft(2).tokens) == expected(own, [*text, 8], 6, 2)


def test_a_token_that_ends_the_answer_is_not_drafted_and_unlikely_ones_stop_it() -> None:
    ends, engine = network([END] * 40), FreshFeatured()
    for own, least, count in ((ends, 0.0, 0), (network(), 1.0, 1), (network(), 0.0, 4)):
        engine.clear(0)
        engine.prefill(0, [1])
        drafter = NetworkDrafter(own, engine, {END}, [1])
        drafter.append(2)
        engine.decode({0: 2})
        drafter.passed(0)
        drafter.append(3)
        assert len(drafter.draft(4, least).tokens) == count
    assert drafter.draft(0) == Draft()


def test_an_engine_without_features_is_an_error() -> None:
    drafter = NetworkDrafter(network(), FreshFeatured(), {END}, [1])
    drafter.append(2)
    with pytest.raises(EngineError):
        drafter.passed(1)


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_the_text_is_that_of_no_drafting(temperature: float) -> None:
    plain, engine, prompt = FreshFeatured(), FreshFeatured(), asked(NEW).joined()
    sampling = SamplingSettings(temperature=temperature, seed=1)
    expected_tokens, _ = written(plain, Drafting(), prompt, sampling)
    start = partial(NetworkDrafter, Knowing(SHAPE, plain.tokens(0)), engine, {END})
    model = DraftModel("network", "network", start, lambda: None, DraftCosts(0.05, 1e-6))
    tokens, trace = written(engine, Drafting("auto", costs=CHEAP, model=model), prompt, sampling)
    assert tokens == expected_tokens
    assert engine.tokens(0) == plain.tokens(0)
    assert trace.drafts.model_drafted > trace.drafts.model_accepted > len(tokens) / 3


def test_a_network_whose_features_fail_is_dropped_and_the_answer_goes_on() -> None:
    plain, engine, prompt = FreshFeatured(), FreshFeatured(), asked(NEW).joined()
    expected_tokens, _ = written(plain, Drafting(), prompt, SamplingSettings())
    left = 4

    def features(sequence: int) -> Features:
        nonlocal left
        left -= 1
        if left < 0:
            raise EngineError("the GPU is gone")
        return FreshFeatured.features(engine, sequence)

    engine.features = features  # type: ignore[method-assign]
    start = partial(NetworkDrafter, Knowing(SHAPE, plain.tokens(0)), engine, {END})
    model = DraftModel("network", "network", start, lambda: None, DraftCosts(0.05, 1e-6))
    tokens, trace = written(engine, Drafting("auto", costs=CHEAP, model=model), prompt, SamplingSettings())
    assert tokens == expected_tokens
    assert trace.drafts.model_accepted > 0
    assert trace.drafts.model_failed == (
        "network no longer drafts tokens, so answers are written without it: the GPU is gone"
    )


def test_features_that_are_not_numbers_are_an_error() -> None:
    engine = FreshFeatured()
    engine.features = lambda sequence: np.full((1, WIDTH), np.nan, np.float32)  # type: ignore[method-assign]
    engine.prefill(0, [1])
    drafter = NetworkDrafter(network(), engine, {END}, [1])
    drafter.append(2)
    engine.decode({0: 2})
    drafter.passed(0)
    drafter.append(3)
    with pytest.raises(EngineError, match="no usable logits"):
        drafter.draft(1)


def test_what_a_step_takes_is_measured_with_features() -> None:
    steps = list[int]()

    class Counting(Knowing):
        def step(self, held: Held, features: Floats, *rest: Any, **named: Any) -> tuple[Floats, Floats]:
            steps.append(len(features))
            return super().step(held, features, *rest, **named)

    engine = FreshFeatured()
    measured_drafts(engine, partial(NetworkDrafter, Counting(SHAPE, [0] * 300), engine, {END}), {})
    assert steps == [1] * 5
