"""A rate limit holds over any minute, whatever the times of the requests within it."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cloud_server.access.rate_limit import Bucket, Rate


def test_a_burst_is_free_and_then_the_rate_holds() -> None:
    bucket = Bucket.full(Rate(60, 3), 0.0)
    for _ in range(3):
        assert bucket.wait_s(0.0) == 0
        bucket = bucket.used(0.0)
    assert bucket.wait_s(0.0) == 1
    assert bucket.wait_s(0.75) == 0.25
    assert bucket.wait_s(1.0) == 0


def test_what_was_overdrawn_fills_up_first() -> None:
    bucket = Bucket.full(Rate(60, 10), 0.0).used(0.0, 70)
    assert bucket.wait_s(0.0) == 61
    assert bucket.filled(1e9).left == 10


def test_a_request_above_the_burst_waits_for_the_burst() -> None:
    assert Bucket.full(Rate(60, 10), 0.0).wait_s(0.0, 500) == 0


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket = Bucket.full(Rate(60, 1), 100.0).used(100.0)
    assert bucket.used(50.0, 0).at == 100.0
    assert bucket.wait_s(50.0) == 1


def test_a_rate_of_nothing_never_comes() -> None:
    assert Bucket.full(Rate(0, 0), 0.0).wait_s(5.0) == math.inf
    assert Bucket.full(Rate(0, 1), 0.0).used(0.0).wait_s(5.0) == math.inf


@given(
    st.floats(1, 600),
    st.floats(1, 20),
    st.lists(st.tuples(st.floats(0, 30), st.floats(0.1, 5)), max_size=60),
)
def test_over_any_time_no_more_is_used_than_the_burst_and_the_rate_allow(
    per_minute: float, burst: float, asked: list[tuple[float, float]]
) -> None:
    bucket, now, used = Bucket.full(Rate(per_minute, burst), 0.0), 0.0, 0.0
    for later, amount in asked:
        now += later
        if bucket.wait_s(now, amount) == 0:
            bucket = bucket.used(now, amount)
            used += amount
    largest = max((amount for _, amount in asked), default=0.0)
    assert used <= burst + largest + now * per_minute / 60 + 1e-6
