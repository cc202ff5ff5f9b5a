"""The choice between a joint answer, an answer from fetched passages and one by the device alone: the soonest, if it is
allowed.
"""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.aggregating import (
    WORTH,
    Choice,
    Limits,
    Plan,
    SideTimes,
    Work,
    choose,
    forecasts,
    lead,
)
from device_app.companion.dispatch.aggregation_choice import (
    AggregationChoice,
    AggregationLimits,
    Pace,
    choose_aggregation,
)
from shared.aggregation.scheduler import Figures

READING = 8.0
"""The rate at which the user reads, in tokens a second (the setting `link.reading_rate`)."""

AGREED = Limits(agreed=True)


def decided(sides: SideTimes, work: Work, reading_rate: float, limits: Limits) -> Choice:
    """Choose a plan under the greedy rule, by which the device makes the tokens of a joint answer final."""
    return choose(sides, work, reading_rate, limits, greedily(sides))


def greedily(sides: SideTimes) -> AggregationChoice:
    return choose_aggregation("auto", AggregationLimits("greedy"), Pace(sides.figures, {}))


def known(read_rate: float, device_ms: float, server_ms: float, rtt_ms: float, accepted: float = 0.87) -> SideTimes:
    """Return the times of two sides: a search takes 20 ms, and the server's first token another 300 ms."""
    decode = {"device": device_ms / 1000, "server": server_ms / 1000}
    figures = Figures(decode, rtt_ms / 1000, {"device": accepted, "server": accepted})  # type: ignore[arg-type]
    return SideTimes(1 / read_rate, rtt_ms / 1000 + 0.02, 0.3, figures)


NATIVE = {"read_rate": 700, "device_ms": 7, "server_ms": 5}
"""The default model on four cores."""

PHONE = {"read_rate": 60, "device_ms": 130, "server_ms": 40}
"""A model of 1.3 billion parameters on a phone, and on a server."""


@pytest.mark.parametrize(
    ("sides", "rtt_ms", "work", "plan"),
    [
        (NATIVE, 0, Work(40, 140, 50), "fetch"),
        (NATIVE, 300, Work(40, 140, 50), "fetch"),
        (NATIVE, 300, Work(40, 420, 50), "fetch"),
        (NATIVE, 300, Work(40, 140, 200), "fetch"),
        (PHONE, 0, Work(40, 140, 50), "together"),
        (PHONE, 300, Work(40, 140, 50), "together"),
        (PHONE, 300, Work(40, 420, 50), "together"),
        (PHONE, 300, Work(40, 140, 200), "fetch"),  # of a long answer, reading the passages is a small part
        (PHONE, 3000, Work(40, 140, 50), "fetch"),
        ({**PHONE, "accepted": 0.3}, 300, Work(40, 140, 50), "fetch"),
        ({**PHONE, "read_rate": 600}, 300, Work(40, 140, 50), "fetch"),
    ],
)
def test_together_where_it_is_sooner_for_the_reader(
    sides: dict[str, float], rtt_ms: float, work: Work, plan: Plan
) -> None:
    assert decided(known(rtt_ms=rtt_ms, **sides), work, READING, AGREED).plan == plan


SOONER = known(rtt_ms=300, **PHONE)
SHORT = Work(40, 140, 50)


@pytest.mark.parametrize(
    ("limits", "plan", "why"),
    [
        (AGREED, "together", "a joint answer is read"),
        (Limits(), "fetch", "which needs the setting "),
        (replace(AGREED, incompatible="it has another vocabulary"), "fetch", "another vocabulary"),
        (replace(AGREED, spared=True), "fetch", "link.spare"),
        (replace(AGREED, used_up="today's money is used up"), "fetch", "but today's money is used up"),
        (replace(AGREED, fits=False, used_up="today's money is used up"), "alone", "do not fit"),
        (replace(AGREED, fits=False), "together", "do not fit"),
        (Limits(fits=False), "alone", "do not fit"),
        (replace(AGREED, fits=False, incompatible="no"), "alone", "do not fit"),
        (replace(AGREED, fits=False, spared=True), "alone", "do not fit"),
    ],
)
def test_what_forbids_it_goes_before(limits: Limits, plan: Plan, why: str) -> None:
    choice = decided(SOONER, SHORT, READING, limits)
    assert choice.plan == plan
    assert why in choice.reason


def test_where_it_does_not_pay_nobody_is_asked_to_agree() -> None:
    choice = decided(known(rtt_ms=300, **NATIVE), SHORT, READING, Limits())
    assert choice.plan == "fetch"
    assert choice.reason.endswith(": no gain")


def test_the_first_token_of_what_is_fetched_waits_for_what_is_read() -> None:
    forecast = forecasts(SOONER, SHORT, greedily(SOONER))
    assert forecast["alone"].first == pytest.approx(40 / 60)
    assert forecast["fetch"].first == pytest.approx(0.32 + 180 / 60)
    assert forecast["together"].first == pytest.approx(40 / 60)
    ahead = [forecasts(SOONER, Work(own, 140, 50, reads_ahead=True), greedily(SOONER)) for own in (6, 40)]
    assert [forecast["fetch"].first for forecast in ahead] == pytest.approx([0.32 + 140 / 60, 180 / 60])
    assert forecast["alone"].token == forecast["fetch"].token == 0.13
    assert 0.13 < forecast["together"].token < 0.17


@pytest.mark.parametrize(
    ("own", "side", "seconds"),
    [(40, "device", 300.62 - 40 / 60), (60 * 301, "server", 301 - 300.62)],
)
def test_the_side_that_has_read_first_drafts_first(own: float, side: str, seconds: float) -> None:
    slow = replace(SOONER, start_s=300.3)
    early = lead(slow, replace(SHORT, own=own), 8)
    assert (early.side, early.most, early.answer) == (side, 8, SHORT.answer)
    assert early.seconds == pytest.approx(seconds)


rates = st.floats(1e-4, 1.0)


@given(rates, rates, rates, st.floats(0, 3), st.floats(0, 1), st.floats(0, 3000), st.floats(1, 1000), st.floats(1, 100))
def test_it_is_never_later_than_what_it_is_taken_instead_of(
    read: float, device: float, server: float, rtt: float, accepted: float, public: float, answer: float, rate: float
) -> None:
    figures = Figures({"device": device, "server": server}, rtt, {"device": accepted, "server": accepted})
    rates, work = SideTimes(read, rtt, 0.1, figures), Work(50, public, answer)
    forecast = forecasts(rates, work, greedily(rates))
    assert all(math.isfinite(each.whole(answer, rate)) for each in forecast.values())
    choice = decided(rates, work, rate, AGREED)
    assert isinstance(choice, Choice)
    together, fetch = (forecast[plan].whole(answer, rate) for plan in ("together", "fetch"))
    assert (choice.plan == "together") == (together < WORTH * fetch)
