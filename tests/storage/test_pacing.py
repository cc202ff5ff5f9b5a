"""The limits of reading ahead always hold, and the disk's measured throughput counts overlapping reads once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.pacing import AheadPace, Throughput, TokenBucket

RATE, BURST = 1000.0, 100.0


@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 0.5)), min_size=1, max_size=40))
def test_never_more_than_the_rate_and_one_burst(steps: list[tuple[int, float]]) -> None:
    bucket, now, granted = TokenBucket(RATE, BURST), 0.0, 0
    for size, idle in steps:
        now += idle
        while wait := bucket.take(size, now):
            assert wait > 0
            now += wait
        granted += size
        assert granted <= now * RATE * (1 + 1e-9) + BURST + max(size - BURST, 0) + 1


def test_what_is_left_alone_fills_up_to_one_burst_and_no_more() -> None:
    bucket = TokenBucket(RATE, BURST)
    assert bucket.take(100, 0.0) == 0
    assert bucket.take(100, 60.0) == 0
    assert bucket.take(1, 60.0) == pytest.approx(0.1)


def test_once_too_little_is_left_the_wait_is_for_a_full_bucket() -> None:
    bucket = TokenBucket(RATE, BURST)
    assert bucket.take(60, 0.0) == 0
    assert bucket.take(50, 0.0) == pytest.approx(0.06)
    assert bucket.take(50, 0.06) == 0
    assert bucket.take(50, 0.06) == 0
    assert bucket.take(50, 0.06) == pytest.approx(0.1)


def test_more_than_the_burst_is_owed_afterwards() -> None:
    bucket = TokenBucket(RATE, BURST)
    assert bucket.take(300, 0.0) == 0
    assert bucket.take(100, 0.0) == pytest.approx(0.3)


SHARE, SECONDS = 0.1, 0.01


@given(st.lists(st.tuples(st.floats(0, 0.02), st.floats(0, 0.5)), min_size=1, max_size=40))
def test_while_no_processor_is_idle_never_more_than_the_share_of_one_and_one_burst(
    steps: list[tuple[float, float]],
) -> None:
    pace, now, spent = AheadPace(1e12, 1e12, SHARE, SECONDS), 0.0, 0.0
    for seconds, pause in steps:
        now += pause
        while wait := pace.take(1, now, is_processor_idle=False):
            assert wait > 0
            now += wait
        assert spent <= now * SHARE + SECONDS + 1e-6
        pace.spend(1, seconds)
        spent += seconds


def test_an_idle_processor_is_free_and_leaves_no_debt() -> None:
    pace = AheadPace(RATE, BURST, SHARE, SECONDS)
    assert pace.take(50, 0.0, is_processor_idle=True) == 0
    pace.spend(50, 60.0)
    assert pace.rate == RATE
    assert pace.take(50, 0.0, is_processor_idle=False) == 0
    pace.spend(50, 0.03)
    assert pace.take(1, 60.0, is_processor_idle=True) == 0


def test_what_is_owed_of_a_processor_is_waited_for_before_any_bytes_are_taken() -> None:
    pace = AheadPace(RATE, BURST, SHARE, SECONDS)
    assert pace.take(50, 0.0, is_processor_idle=False) == 0
    pace.spend(50, 0.03)
    assert pace.take(50, 0.0, is_processor_idle=False) == pytest.approx(0.03 / SHARE)
    assert pace.take(50, 0.0, is_processor_idle=True) == 0


def test_the_expected_rate_is_the_lesser_limits() -> None:
    pace = AheadPace(RATE, BURST, SHARE, SECONDS)
    assert pace.rate == RATE
    pace.take(10, 0.0, is_processor_idle=False)
    pace.spend(10, 0.02)
    assert pace.rate == pytest.approx(SHARE * 10 / 0.02)
    pace.take(10, 60.0, is_processor_idle=True)
    assert pace.rate == RATE


def test_the_expected_rate_forgets_dear_reads_of_long_ago() -> None:
    pace = AheadPace(1e12, BURST, SHARE, SECONDS)
    pace.take(1, 0.0, is_processor_idle=False)
    for _ in range(10):
        pace.spend(1, 1.0)
    for _ in range(1000):
        pace.spend(10, 0.1)
    assert pace.rate == pytest.approx(SHARE * 10 / 0.1, rel=0.01)


def test_reads_side_by_side_are_one_stretch_of_time() -> None:
    throughput = Throughput()
    assert throughput.rate is None
    throughput.begin(0.0)
    throughput.begin(0.1)
    throughput.end(100, 0.2)
    throughput.end(100, 0.4)
    throughput.begin(5.0)  # nobody read meanwhile
    throughput.end(0, 5.1)
    assert throughput.rate == pytest.approx(200 / 0.5)


def test_what_was_long_ago_counts_less() -> None:
    throughput = Throughput()
    for second in range(100):
        throughput.begin(second)
        throughput.end(1000 if second < 50 else 10, second + 1)
    assert throughput.rate == pytest.approx(10, rel=0.01)
