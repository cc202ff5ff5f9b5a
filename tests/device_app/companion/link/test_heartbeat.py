"""After how long a silence of the server the connection counts as lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.link.heartbeat import (
    IDLE_PING_S,
    IDLE_SILENT_S,
    MOST_PINGED,
    PING_S,
    SILENT_S,
    WELCOME_S,
    Heartbeat,
)


@pytest.mark.parametrize(
    ("busy", "welcomed", "silence_s"), [(True, True, SILENT_S), (False, True, IDLE_SILENT_S), (True, False, WELCOME_S)]
)
def test_a_ping_that_nothing_follows_is_a_lost_way(busy: bool, welcomed: bool, silence_s: float) -> None:
    heartbeat = Heartbeat()
    heartbeat.restart(0.0)
    heartbeat.ping(0.0)
    assert not heartbeat.is_lost(0.99 * silence_s, busy=busy, welcomed=welcomed)
    assert heartbeat.is_lost(silence_s, busy=busy, welcomed=welcomed)
    heartbeat.received_at = silence_s
    assert not heartbeat.is_lost(silence_s, busy=busy, welcomed=welcomed)


@pytest.mark.parametrize(("busy", "pause_s"), [(True, PING_S), (False, IDLE_PING_S)])
def test_the_way_is_measured_in_steps(busy: bool, pause_s: float) -> None:
    heartbeat = Heartbeat()
    heartbeat.restart(0.0)
    assert not heartbeat.due(0.99 * pause_s, busy=busy)
    assert heartbeat.due(pause_s, busy=busy)
    heartbeat.ping(pause_s)
    assert not heartbeat.due(1.99 * pause_s, busy=busy)


def test_a_round_trip_is_a_running_mean_and_a_pong_counts_once() -> None:
    heartbeat = Heartbeat()
    first, second = heartbeat.ping(0.0), heartbeat.ping(1.0)
    assert heartbeat.pong(first, 0.5)
    assert heartbeat.round_trip_s == 0.5
    assert heartbeat.pong(second, 2.0)
    assert heartbeat.round_trip_s == pytest.approx(0.6)
    assert not heartbeat.pong(second, 9.0)
    assert not heartbeat.pong(77, 9.0)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=200))
def test_what_is_remembered_is_bounded_and_the_oldest_ping_decides(pauses: list[float]) -> None:
    heartbeat, now = Heartbeat(), 0.0
    heartbeat.restart(now)
    for pause in pauses:
        now += pause
        heartbeat.ping(now)
    assert len(heartbeat._pending) == min(len(pauses), MOST_PINGED)
    assert heartbeat.is_lost(pauses[0] + 1.01 * SILENT_S, busy=True, welcomed=True)
