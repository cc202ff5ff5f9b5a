"""The buffer of tokens before they are shown: every token once and in order, at reading speed while held back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.token_buffer import TokenBuffer, needed


@pytest.mark.parametrize(("rate", "seconds", "tokens"), [(5, 1.0, 5), (5, 1.01, 6), (4.8, 0.5, 3), (5, 0, 1)])
def test_as_many_as_are_read_during_a_hand_over(rate: float, seconds: float, tokens: int) -> None:
    assert needed(rate, seconds) == tokens


def test_unpaced_tokens_are_given_at_once() -> None:
    buffer = TokenBuffer[str](rate=5)
    for index, token in enumerate("abc"):
        buffer.put(index, token)
    assert buffer.next_due() == float("-inf")
    assert buffer.due(0.0) == ["a", "b", "c"]
    assert buffer.next_due() is None


def test_paced_tokens_wait_for_the_reader() -> None:
    buffer = TokenBuffer[str](rate=5)
    buffer.paced = True
    for index, token in enumerate("abc"):
        buffer.put(index, token)
    assert buffer.due(0.0) == ["a"]
    assert buffer.due(0.1) == []
    assert buffer.next_due() == pytest.approx(0.2)
    assert buffer.due(0.2) == ["b"]
    assert buffer.waiting == 1
    buffer.paced = False
    assert buffer.due(0.21) == ["c"]


def test_a_late_token_is_given_when_it_comes_and_not_made_up_for() -> None:
    buffer = TokenBuffer[int](rate=5)
    buffer.paced = True
    buffer.put(0, 0)
    assert buffer.due(0.0) == [0]
    buffer.put(1, 1)
    buffer.put(2, 2)
    assert buffer.due(3.0) == [1]
    assert buffer.next_due() == pytest.approx(3.2)


@pytest.mark.parametrize("index", [0, 2, -1])
def test_a_token_that_is_not_the_next_is_refused(index: int) -> None:
    buffer = TokenBuffer[int](rate=5)
    buffer.put(0, 0)
    with pytest.raises(ValueError, match="next"):
        buffer.put(index, 9)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_reader_who_does_not_read_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="reading rate"):
        TokenBuffer[int](rate)


@given(st.lists(st.tuples(st.floats(0, 0.5), st.sampled_from(["put", "due", "pace", "free"])), max_size=80))
def test_none_is_lost_repeated_or_early(steps: list[tuple[float, str]]) -> None:
    buffer, now, given_ = TokenBuffer[int](rate=5), 0.0, list[tuple[int, float, bool]]()
    for wait, what in steps:
        now += wait
        if what == "put":
            buffer.put(buffer.count, buffer.count)
        buffer.paced = buffer.paced if what in ("put", "due") else what == "pace"
        got = buffer.due(now)
        assert len(got) <= 1 or not buffer.paced
        given_ += [(token, now, buffer.paced) for token in got]
        assert buffer.waiting == buffer.count - len(given_)
    assert [token for token, _, _ in given_] == list(range(len(given_)))
    # One wake-up may be late and the next in time again: two tokens are then closer, never three.
    for (_, before, _), (_, _, between), (_, at, paced) in zip(given_, given_[1:], given_[2:], strict=False):
        assert not (paced and between) or at - before >= 0.2 - 1e-9
