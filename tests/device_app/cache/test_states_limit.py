"""The default limit on the disk space of cached KV states, which applies if the user has set none."""

from typing import Literal

import pytest

from device_app.cache.states.limit import LEAST, MOST, TIMES_TEXT, most_states, states_limit


@pytest.mark.parametrize(
    ("kv_mb", "text", "limit"),
    [
        (0.0, 10**9, 0),
        (0.5, 10**9, 500_000),
        (5000.0, 0, 5_000_000_000),
        ("auto", 0, LEAST),
        ("auto", LEAST // TIMES_TEXT - 1, LEAST),
        ("auto", 10_000_000, TIMES_TEXT * 10_000_000),
        ("auto", MOST, MOST),
    ],
)
def test_the_limit(kv_mb: float | Literal["auto"], text: int, limit: int) -> None:
    assert states_limit(kv_mb, lambda: text) == limit <= most_states(kv_mb)
