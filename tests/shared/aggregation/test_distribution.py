"""Next-token distributions of joint answers: their quantised form and its encoding."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.aggregation.distribution import MOST_ENTRIES, TOTAL, Quantised, Top, decode, encode, quantise, top
from shared.errors import ProtocolError

weights = st.lists(st.floats(0, 1e6), min_size=1, max_size=80).filter(lambda some: sum(some) > 0)


@given(weights, st.integers(0, 100_000))
def test_quantised_it_sums_to_one_and_moves_nothing_by_more_than_a_step(some: list[float], first: int) -> None:
    ids = np.arange(first, first + len(some))
    held = quantise(ids, some)
    assert held.counts.sum() == TOTAL
    assert held.counts.min() > 0
    exact = np.array(some) / sum(some) * TOTAL
    assert all(abs(held.count(int(token)) - value) <= 1.001 for token, value in zip(ids, exact, strict=True))


@given(weights, st.integers(0, 100_000))
def test_a_round_trip_changes_nothing(some: list[float], first: int) -> None:
    held = quantise(np.arange(first, first + len(some)), some)
    back = decode(encode(held), first + len(some))
    assert isinstance(back, Quantised)
    assert np.array_equal(back.ids, held.ids)
    assert np.array_equal(back.counts, held.counts)


@given(weights, st.integers(1, 100))
def test_a_round_trip_of_the_likeliest_is_exact(some: list[float], count: int) -> None:
    whole = (np.array(some) / sum(some)).astype(np.float32)
    held = top(whole, count)
    back = decode(encode(held), len(some))
    assert isinstance(back, Top)
    assert back.whole == (count >= len(some))
    assert np.array_equal(back.ids, held.ids)
    assert np.array_equal(back.probabilities, held.probabilities)
    assert np.delete(whole, held.ids).max(initial=0) <= held.bound or held.whole


def test_sizes() -> None:
    assert len(encode(quantise(np.arange(64), np.ones(64)))) == 5 + 64 * 4
    assert len(encode(top(np.full(1000, 0.001, np.float32), 16))) == 5 + 16 * 6
    assert len(encode(top(np.full(1000, 0.001, np.float32), 1000))) == 5 + 1000 * 4, "without its ids"
    assert len(quantise(np.arange(50_000), np.ones(50_000)).ids) == MOST_ENTRIES


@pytest.mark.parametrize("some", [[], [0.0, 0.0], [float("nan"), 1.0], [-1.0, 2.0], [float("inf")]])
def test_what_is_no_distribution_is_refused(some: list[float]) -> None:
    with pytest.raises(ValueError, match="not a distribution"):
        quantise(np.arange(len(some)), some)


def written(kind: int, ids: list[int], values: list[float], count: int | None = None) -> bytes:
    form = f"<BI{len(ids)}{'I' if kind & 1 else 'H'}{len(values)}{'f' if kind & 2 else 'H'}"
    exact = values if kind & 2 else [int(value) for value in values]
    return struct.pack(form, kind, len(ids) if count is None else count, *ids, *exact)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(written(0, [], []), id="no token"),
        pytest.param(written(0, [1], [TOTAL], count=2), id="too short"),
        pytest.param(written(0, [1], [TOTAL]) + b"\0", id="too long"),
        pytest.param(written(0, [1], [TOTAL], count=2**31), id="a length beyond all bounds"),
        pytest.param(written(8, [1], [TOTAL]), id="an unknown kind"),
        pytest.param(written(0, [100], [TOTAL]), id="beyond the vocabulary"),
        pytest.param(written(1, [2**31], [TOTAL]), id="far beyond"),
        pytest.param(written(0, [2, 1], [1, TOTAL - 1]), id="falling"),
        pytest.param(written(0, [1, 1], [1, TOTAL - 1]), id="twice"),
        pytest.param(written(0, [1, 2], [0, TOTAL]), id="a zero"),
        pytest.param(written(0, [1, 2], [1, TOTAL]), id="above one"),
        pytest.param(written(0, [1, 2], [1, 1]), id="not normalised"),
        pytest.param(written(4, [1], [TOTAL]), id="quantised and whole"),
        pytest.param(written(2, [1, 2], [0.5, float("nan")]), id="a NaN"),
        pytest.param(written(2, [1], [float("inf")]), id="infinite"),
        pytest.param(written(2, [1, 2], [-0.1, 0.5]), id="negative"),
        pytest.param(written(2, [1, 2], [0.9, 0.9]), id="sums to more than one"),
        pytest.param(written(2, [1, 2], [0.5, 0.001]), id="leaves out more than it may"),
        pytest.param(written(6, [1, 2], [0.5, 0.5]), id="said to be whole"),
        pytest.param(written(6, [], [0.01] * 99), id="said to be whole, and short"),
        pytest.param(written(6, [], [0.001] * 100), id="whole, and sums to a tenth"),
        pytest.param(written(2, [*range(100)], [0.01] * 100), id="whole, and does not say so"),
    ],
)
def test_forged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(data, 100)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_distribution_or_refused(data: bytes) -> None:
    try:
        held = decode(data, 1000)
    except ProtocolError:
        return
    assert encode(held)[5:] == data[5:] or held.ids[-1] < 2**16  # written narrower than it came
