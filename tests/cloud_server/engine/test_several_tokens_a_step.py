"""Steps that draw several drafted tokens of an answer: its end, a stop text, the limit or the credit may come within a
step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Broken, Done, EngineEvent, Job, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.engine import Engine, Logits
from models.fake import END, VOCABULARY, FakeEngine
from models.sampling import SamplingSettings
from models.speculative.costs import DraftCosts, PassCosts
from models.speculative.draft_model import DraftModel
from models.speculative.drafting import Drafting
from models.speculative.network_drafter import NetworkDrafter
from models.speculative.small_model import SmallModel
from tests.models.speculative.networks import Featured, Knowing, small_shape
from tests.scripted import Scripted
from tests.writing import FREE, job

PLAIN = "It is blue."
REPEATED = "It is very blue. It is very blue. It is green."
USER_TURN = "It is blue.\nQuestion: And why is it?"
CIRCLE = "no " * 30


def drafting(count: int) -> Drafting:
    """Return settings under which drafts are verified in passes of up to `count` tokens; with 1, nothing is drafted."""
    costs = PassCosts(((1, 1.0), (count, 1.0 + count / 1e6), (count + 1, 1e6)), is_exact=True) if count > 1 else None
    return Drafting("lookup", costs=costs)


def asked(text: str, max_tokens: int = 200) -> Job:
    """Return a job whose passage is the given text, which the fake engine then repeats as the answer."""
    return job("Head.\n", f"{text}\n", max_tokens=max_tokens)


def written(text: str, count: int, credits: Sequence[int], max_tokens: int = 200) -> tuple[list[EngineEvent], int]:
    """Generate an answer; return all its events and the number of tokens charged for it.

    The device allows the tokens below each index in `credits` in turn, whenever the answer is paused, and at last all
    tokens.
    """
    engine = Scripted({"Question": text})
    batch = Batch(engine, PrefixCache(0), drafting=drafting(count))
    first, *more = [*credits, FREE]
    batch.join(1, asked(text, max_tokens), first, "phone")
    events: list[EngineEvent] = []
    for upto in (first, *more):
        batch.allow(1, upto)
        while len(batch) and not batch.idle:
            events += batch.step()
            assert all(event.index < upto for event in events if isinstance(event, Token))
    assert not any(engine.length(sequence) for sequence in range(engine.info.sequences))
    return events, batch.take_spent()["phone"]


@pytest.mark.parametrize("count", [2, 3, 7, 100])
@pytest.mark.parametrize("text", [PLAIN, REPEATED, USER_TURN, CIRCLE])
@pytest.mark.parametrize("max_tokens", [1, 4, 8, 200])
def test_the_step_ends_where_single_tokens_would_end(text: str, count: int, max_tokens: int) -> None:
    assert written(text, count, [], max_tokens) == written(text, 1, [], max_tokens)


@given(
    text=st.sampled_from([PLAIN, REPEATED, USER_TURN, CIRCLE]) | st.text("ab .\n", max_size=40),
    count=st.integers(2, 12),
    credits=st.lists(st.integers(0, 60), max_size=5).map(sorted),
    max_tokens=st.integers(1, 50),
)
def test_whatever_is_allowed_the_tokens_and_what_they_cost_are_those_of_single_ones(
    text: str, count: int, credits: list[int], max_tokens: int
) -> None:
    assert written(text, count, credits, max_tokens) == written(text, 1, credits, max_tokens)


def test_tokens_behind_the_end_are_neither_sent_nor_charged() -> None:
    events, spent = written(PLAIN, 100, [])
    *tokens, done = events
    assert "".join(event.text for event in tokens if isinstance(event, Token)) == PLAIN
    assert isinstance(done, Done)
    assert not done.cut
    assert spent == len(PLAIN) + done.prefilled


def test_a_step_ends_at_the_credit_and_goes_on_behind_it() -> None:
    batch = Batch(Scripted({"Question": PLAIN}), PrefixCache(0), drafting=drafting(4))
    batch.join(1, asked(PLAIN), 7)
    said = [[event.index for event in batch.step() if isinstance(event, Token)] for _ in range(5)]
    assert [*chain(*said)] == [0, 1, 2, 3, 4, 5, 6]
    assert max(map(len, said)) > 1
    assert said[-1] == []
    batch.allow(1, 9)
    said = [[event.index for event in batch.step() if isinstance(event, Token)] for _ in range(3)]
    assert [*chain(*said)] == [7, 8]


@pytest.mark.parametrize("answers", [1, 2])
def test_a_model_drafts_for_an_answer_that_is_alone(answers: int) -> None:
    text = "Mud box frog."
    small = Scripted({"Question": text})
    drafts = replace(
        drafting(4), model=DraftModel("small", "small", partial(SmallModel, small), small.close, DraftCosts(0.05, 1e-4))
    )
    batch = Batch(Scripted({"Question": text}), PrefixCache(0), drafting=drafts)
    for key in range(answers):
        batch.join(key, job("Head.\n", "What is in there?\n"), FREE)
    said = [event for _ in range(60) for event in batch.step()]
    for key in range(answers):
        assert "".join(event.text for event in said if isinstance(event, Token) and event.key == key) == text
    assert (batch.accepted > len(text) / 2) is (answers == 1)


def test_a_network_drafts_from_the_features_of_the_batchs_passes() -> None:
    class FeaturedScripted(Featured, Scripted):
        pass

    text, asked_for = "Mud box frog.", job("Head.\n", "What is in there?\n")
    engine, shape = FeaturedScripted({"Question": text}), small_shape(tokens=VOCABULARY)
    network = Knowing(shape, [*[0] * asked_for.read_tokens, *text.encode()])
    start = partial(NetworkDrafter, network, engine, {END})
    model = DraftModel("network", "network", start, lambda: None, DraftCosts(0.05, 1e-6))
    batch = Batch(engine, PrefixCache(0), drafting=replace(drafting(4), model=model))
    batch.join(0, asked_for, FREE)
    said = [event for _ in range(60) for event in batch.step()]
    assert "".join(event.text for event in said if isinstance(event, Token)) == text
    assert batch.accepted > len(text) / 3


def test_an_answer_that_breaks_inside_a_step_breaks_no_other() -> None:
    class Breaking(Scripted):
        def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
            logits = super().verify(tokens)
            last = self.info.sequences - 1  # the first answer's
            return logits | {last: [row * np.nan for row in logits[last]]} if last in logits else logits

    batch = Batch(Breaking({"Question": PLAIN}), PrefixCache(0), drafting=drafting(4))
    batch.join(1, asked(PLAIN), FREE)
    batch.join(2, asked(PLAIN), FREE)
    events = [event for _ in range(40) for event in batch.step()]
    assert [event.key for event in events if isinstance(event, Broken)] == [1]
    assert [event.key for event in events if isinstance(event, Done)] == [2]


def all_written(batch: Batch, jobs: Sequence[Job]) -> dict[int, list[EngineEvent]]:
    """Generate several answers in one batch; return the events of each."""
    for key, each in enumerate(jobs):
        batch.join(key, each, FREE)
    events = [event for _ in range(300) for event in batch.step()]
    assert len(batch) == 0
    return {key: [event for event in events if event.key == key] for key in range(len(jobs))}


texts = st.sampled_from([PLAIN, REPEATED, CIRCLE, "a b a b a c", "Nobody knows."])


@given(
    passages=st.lists(texts, min_size=1, max_size=4),
    temperature=st.sampled_from([0.0, 0.8]),
    seed=st.integers(0, 9),
    count=st.integers(2, 12),
)
def test_answers_written_together_with_drafts_are_those_without(
    passages: list[str], temperature: float, seed: int, count: int
) -> None:
    sampling = SamplingSettings(temperature=temperature, seed=seed)
    jobs = [replace(asked(text, max_tokens=40), sampling=sampling) for text in passages]

    def said(drafts: Drafting) -> dict[int, list[EngineEvent]]:
        return all_written(Batch(FakeEngine(), PrefixCache(0), drafting=drafts), jobs)

    assert said(drafting(count)) == said(Drafting())


def test_drafts_take_fewer_passes_and_only_the_cheap_places_of_one() -> None:
    passes: list[int] = []

    class Counting(FakeEngine):
        def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
            passes.append(len(tokens))
            return super().decode(tokens)

        def verify(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
            logits = super().verify(tokens)
            del passes[-sum(map(len, tokens.values())) :]  # the fake computes them one by one
            passes.append(sum(map(len, tokens.values())))
            return logits

    def batch() -> Batch:
        engine: Engine = Counting(sequences=8)
        costs = PassCosts(((1, 1.0), (8, 1.2), (9, 9.0), (16, 16.0)), is_exact=True)
        return Batch(engine, PrefixCache(0), drafting=Drafting("lookup", costs=costs))

    alone = batch()
    all_written(alone, [asked(REPEATED)])
    assert len(passes) < len(REPEATED) / 2
    assert max(passes) == 8
    assert 0 < alone.accepted <= alone.drafted
    passes.clear()
    all_written(batch(), [asked(REPEATED)] * 8)
    assert max(passes) == 8
    assert passes.count(8) > len(REPEATED) / 2


def test_where_the_text_has_to_stay_the_same_one_answer_alone_is_drafted() -> None:
    costs = PassCosts(((1, 1.0), (16, 1.2)), is_exact=True)
    batch = Batch(FakeEngine(), PrefixCache(0), drafting=Drafting("auto", costs=costs))
    all_written(batch, [asked(REPEATED)])
    assert batch.accepted > len(REPEATED) / 2
    batch.join(8, asked(CIRCLE), 1)  # it rests, and holds a sequence
    while batch.underway().rows:
        batch.step()
    drafted = batch.drafted
    batch.join(9, asked(REPEATED), FREE)
    events = [event for _ in range(200) for event in batch.step()]
    assert isinstance(events[-1], Done)
    assert batch.drafted == drafted
