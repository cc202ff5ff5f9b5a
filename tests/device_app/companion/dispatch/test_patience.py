"""How long the device waits for a server."""

import pytest

from device_app.companion.dispatch.patience import MOST_PROMISED_S, PACE_S, ServerPatience


def test_silence_ends_it() -> None:
    assert ServerPatience(5.0, 100.0).until == 105.0


def test_words_that_trickle_buy_less_than_they_take() -> None:
    patience, now = ServerPatience(5.0, 0.0), 0.0
    while now < patience.until:
        now += 4.0
        patience.received(now)
    assert now <= 8.0


def test_words_that_come_as_they_should_buy_all_of_it() -> None:
    patience = ServerPatience(5.0, 0.0)
    for now in range(1, 100):
        patience.received(now * PACE_S)
    assert patience.until == 99 * PACE_S + 5.0


@pytest.mark.parametrize(
    ("promises", "until"),
    [
        ([(0.0, 10.0)], 15.0),
        ([(1.0, MOST_PROMISED_S)], 1.0),
        ([(0.0, 2.0**31 / 1000)], 0.0),
        ([(0.0, 15.0), (14.0, 15.0)], 14.0),
    ],
)
def test_what_is_promised_is_believed_within_limits(promises: list[tuple[float, float]], until: float) -> None:
    patience = ServerPatience(5.0, 0.0)
    for now, seconds in promises:
        patience.promised(now, seconds)
    assert patience.until == until


def test_only_the_first_message_is_waited_for_longer() -> None:
    patience = ServerPatience(30.0, 0.0, 5.0)
    assert patience.until == 30.0
    patience.received(20.0)
    assert patience.until == 25.0
    patience.received(20.5)
    assert patience.until == 25.5


def test_a_promised_start_is_no_worse_than_silence() -> None:
    patience = ServerPatience(30.0, 0.0, 5.0)
    patience.promised(1.0, 28.0)
    assert patience.until == 59.0
    patience.promised(2.0, 29.0)
    assert patience.until == 2.0


def test_a_reader_who_takes_his_time_is_no_fault_of_the_server() -> None:
    patience = ServerPatience(5.0, 0.0)
    patience.paused(60.0)
    assert patience.until == 65.0


def test_a_round_of_retrieval_buys_all_of_it_again_for_as_long_as_may_be_promised() -> None:
    patience, now = ServerPatience(5.0, 0.0), 0.0
    while now < patience.until:
        now += 4.0
        patience.worked(now)
    assert patience.until == MOST_PROMISED_S + 5.0
