"""A batch whose steps settle several tokens of an answer: end, stop words, limit and credit may fall inside a step."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_server.engine.answer import Choose
from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Broken, Done, EngineEvent, Token
from cloud_server.engine.prefix_cache import PrefixCache
from models.engine import Logits
from models.fake import END, VOCABULARY, FakeEngine
from models.sampling import SamplingSettings
from tests.writing import FREE, job

PLAIN = "It is blue."
REPEATED = "It is very blue. It is very blue. It is green."
USER_TURN = "It is blue.\nQuestion: And why is it?"
CIRCLE = "no " * 30


def writes(text: str, count: int) -> Choose:
    """The tokens of this text, then ends of it, `count` in one step."""

    def choose(_mixture: Logits, _sampling: SamplingSettings, before: Sequence[int]) -> list[int]:
        return [*text.encode()[len(before) :], *[END] * count][:count]

    return choose


def written(text: str, count: int, credits: Sequence[int], max_tokens: int = 200) -> tuple[list[EngineEvent], int]:
    """All events of an answer for which the device allows so much, one credit each time it rests, then the rest; and
    the tokens charged for it.
    """
    batch = Batch(FakeEngine(), PrefixCache(0), choose=writes(text, count))
    first, *more = [*credits, FREE]
    batch.join(1, job("Head.\n", max_tokens=max_tokens), first, "phone")
    events: list[EngineEvent] = []
    for upto in (first, *more):
        batch.allow(1, upto)
        while len(batch) and not batch.idle:
            events += batch.step()
            assert all(event.index < upto for event in events if isinstance(event, Token))
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
    batch = Batch(FakeEngine(), PrefixCache(0), choose=writes(PLAIN, 4))
    batch.join(1, job("Head.\n"), 6)
    said = [[event.index for event in batch.step() if isinstance(event, Token)] for _ in range(3)]
    assert said == [[0, 1, 2, 3], [4, 5], []]
    batch.allow(1, 9)
    said = [[event.index for event in batch.step() if isinstance(event, Token)] for _ in range(2)]
    assert said == [[6, 7, 8], []]


def test_steps_of_many_tokens_break_no_other_answer() -> None:
    def choose(_mixture: Logits, _sampling: SamplingSettings, before: Sequence[int]) -> list[int]:
        return [*PLAIN.encode()[len(before) :][:2], VOCABULARY] if before else [0x49]

    batch = Batch(FakeEngine(), PrefixCache(0), choose=choose)
    batch.join(1, job("Head.\n"), FREE)
    batch.join(2, job("Head.\n"), 1)
    events = [event for _ in range(4) for event in batch.step()]
    assert [event.key for event in events if isinstance(event, Broken)] == [1]
    assert len(batch) == 1
