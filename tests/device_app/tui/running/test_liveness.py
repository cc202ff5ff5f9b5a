"""When a silent part counts as frozen: checks answered in time, parts that wait, and parts that loop for ever."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.tui.running.liveness import GRACE_LOOKS, LATE_S, SLOW_GRACE_LOOKS, Grace, Silence


def _frozen_after(most: int, **look: float) -> int | None:
    silence = Silence(most)
    return next((number for number in range(1, 100) if silence.look(answered=False, late_s=0.0, **look)), None)


@pytest.mark.parametrize(
    ("busy", "frozen"), [(0.0, True), (0.01, True), (0.05, False), (0.4, False), (0.9, True), (1.0, True)]
)
def test_a_loop_that_waits_or_spins_is_stuck_and_one_that_gets_little_of_a_core_works(
    busy: float, frozen: bool
) -> None:
    assert _frozen_after(30, busy=busy) == (30 if frozen else None)


def test_where_the_processor_time_is_unknown_looks_alone_count() -> None:
    assert _frozen_after(30) == 30


def test_an_answer_begins_the_count_anew() -> None:
    silence = Silence(3)
    seen = [silence.look(answered=answered, late_s=0.0) for answered in (False, False, True, False, False, False)]
    assert seen == [False] * 5 + [True]


@given(st.lists(st.floats(LATE_S, 1e6), max_size=60))
def test_a_machine_that_was_asleep_or_is_loaded_is_no_fault(late: list[float]) -> None:
    silence = Silence(2)
    silence.look(answered=False, late_s=0.0)
    assert not any(silence.look(answered=False, late_s=decision) for decision in late)


@pytest.mark.parametrize(
    ("look", "looks"),
    [
        ({}, GRACE_LOOKS),
        ({"busy": 0.0}, GRACE_LOOKS),
        ({"busy": 1.0}, GRACE_LOOKS),
        ({"busy": 0.2}, SLOW_GRACE_LOOKS),
        ({"busy": 0.0, "reads_disk": True}, SLOW_GRACE_LOOKS),
    ],
)
def test_an_app_that_ends_slowly_has_longer_than_one_that_is_stuck(look: dict[str, Any], looks: int) -> None:
    grace = Grace()
    assert [grace.look(late_s=0.0, **look) for _ in range(looks)] == [False] * (looks - 1) + [True]


@given(st.lists(st.floats(LATE_S, 1e6), max_size=60))
def test_time_in_which_the_process_was_stopped_is_no_part_of_the_grace(late: list[float]) -> None:
    grace = Grace()
    assert not any(grace.look(late_s=seconds) for seconds in late)
