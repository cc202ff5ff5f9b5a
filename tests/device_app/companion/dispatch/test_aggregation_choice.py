"""Which side makes the tokens of a joint answer final (aggregation): by setting, rule, privacy, forecast and
measurement.
"""

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.aggregation_choice import (
    ONLY,
    WAYS,
    AggregationLimits,
    Kind,
    Pace,
    Ratio,
    choose_aggregation,
)
from device_app.companion.dispatch.profile import Profile
from device_app.question.options import Aggregation as Setting
from shared.aggregation.messages import Rule
from shared.aggregation.scheduler import OFFERED, Aggregation, Figures, Lead, token_s, waiting

FAR = Figures({"device": 0.13, "server": 0.04}, 0.3, {"device": 0.87, "server": 0.55})
"""The server is 300 ms away and its drafts are often rejected: an answer is faster if the server aggregates."""

FREE = AggregationLimits("algorithm1", open=True, offered=frozenset(OFFERED))


@pytest.mark.parametrize(
    ("setting", "way", "place"),
    [
        ("auto", "both", "both"),
        ("both", "both", "both"),
        ("device", "device", "device"),
        ("server", "server", "server"),
        ("scheduled", "scheduled", "server"),
    ],
)
def test_the_setting_decides_where_there_is_a_choice(setting: Setting, way: str, place: str) -> None:
    chosen = choose_aggregation(setting, FREE, Pace(FAR, {}))
    assert (chosen.way, chosen.place, chosen.is_free) == (way, place, True)
    assert f"link.aggregation = {setting}" in chosen.reason
    assert chosen.token_s == {each: token_s(FAR, each) for each in WAYS}


@pytest.mark.parametrize(
    ("rule", "open_", "way"),
    [
        ("greedy", True, "device"),
        ("greedy", False, "device"),
        ("coupled", False, "both"),
        ("algorithm1", False, "device"),
    ],
)
@pytest.mark.parametrize("setting", ["auto", "server", "scheduled"])
def test_where_one_way_is_left_nothing_is_chosen(setting: Setting, rule: Rule, open_: bool, way: Aggregation) -> None:
    own = way if rule == "algorithm1" else rule
    others: dict[Kind, Ratio] = {kind: Ratio(2.0) for kind in get_args(Kind) if kind != own}
    limits = AggregationLimits(rule, open_, frozenset(OFFERED))
    chosen = choose_aggregation(setting, limits, Pace(FAR, others))
    assert (chosen.way, chosen.place, chosen.reason) == (way, *[ONLY[rule][index] for index in (0, 1)])
    assert "nothing to choose" in chosen.reason
    assert chosen.token_s == {way: token_s(FAR, way)}, "what another rule took corrects nothing"
    slower = Pace(FAR, others).observed(rule, way, 1.5 * token_s(FAR, way))
    corrected = choose_aggregation(setting, limits, Pace(FAR, slower))
    assert corrected.token_s == {way: pytest.approx((1 + 0.5 / 1.95) * token_s(FAR, way))}
    assert corrected.answers == 1


def test_a_head_start_shortens_a_forecast_but_not_that_of_coupled_drafts() -> None:
    pace = Pace(FAR, {}, Lead("device", 3.0, 8, 20))
    rules: tuple[Rule, ...] = ("greedy", "algorithm1", "coupled")
    sooner = [
        choose_aggregation("auto", AggregationLimits(rule), pace).token_s
        != choose_aggregation("auto", AggregationLimits(rule), replace(pace, lead=None)).token_s
        for rule in rules
    ]
    assert sooner == [True, True, False]


@pytest.mark.parametrize("offered", [frozenset(), frozenset({"device"}), frozenset({"rotating"})])
def test_with_an_older_server_both_sides_settle(offered: frozenset[str]) -> None:
    chosen = choose_aggregation("scheduled", replace(FREE, offered=offered), Pace(FAR, {}))
    assert (chosen.way, chosen.is_free) == ("both", False)
    assert "the server's version" in chosen.reason
    kept_here = choose_aggregation("device", replace(FREE, offered=offered), Pace(FAR, {}))
    assert (kept_here.way, kept_here.place) == ("device", "device"), "no server may make the distributions leave"


def test_what_is_not_known_of_a_server_is_taken_as_offered() -> None:
    assert choose_aggregation("server", replace(FREE, offered=None), Pace(FAR, {})).way == "server"


def test_equation_7_is_of_the_side_that_is_chosen_and_9_stands_beside_it() -> None:
    chosen = choose_aggregation("server", FREE, Pace(FAR, {}))
    assert chosen.token_s["server"] == pytest.approx(0.87 * 0.13 + 0.13 * 0.43) == waiting(FAR, "server")
    assert chosen.speedup == pytest.approx(0.43 / waiting(FAR, "server"))


def test_auto_takes_what_measured_fastest() -> None:
    ratios: dict[Any, Ratio] = {}
    for _ in range(8):
        ratios = dict(Pace(FAR, ratios).observed("algorithm1", "both", 1.5 * token_s(FAR, "both")))
    chosen = choose_aggregation("auto", FREE, Pace(FAR, ratios))
    assert chosen.way == "scheduled"
    for _ in range(8):
        ratios = dict(Pace(FAR, ratios).observed("algorithm1", "scheduled", 2 * token_s(FAR, "scheduled")))
    chosen = choose_aggregation("auto", FREE, Pace(FAR, ratios))
    assert (chosen.way, chosen.answers) == ("server", 0), "of the same forecast, and not measured slower"
    near = Figures({"device": 0.13, "server": 0.04}, 0.0, FAR.acceptance)
    assert choose_aggregation("auto", FREE, Pace(near, {})).way == "both", "of equals the first"


times = st.floats(0, 1e6)


@given(st.lists(st.tuples(st.sampled_from(WAYS), times, times), max_size=30))
def test_what_was_measured_stays_in_bounds_and_comes_back(measured: list[tuple[Aggregation, float, float]]) -> None:
    profile = replace(Profile(), offered=frozenset(OFFERED))
    for way, token, rtt in measured:
        profile = profile.timed("algorithm1", way, token, replace(FAR, rtt=rtt), None)
    assert all(ratio.is_valid for ratio in profile.ratios.values())
    assert Profile.from_json(json.loads(json.dumps(profile.as_json()))) == profile
    assert choose_aggregation("auto", FREE, Pace(FAR, profile.ratios)).way in WAYS


@pytest.mark.parametrize(
    "change",
    [
        {"ratios": {"both": {"mean": 0.0, "weight": 1.0, "answers": 1}}},
        {"ratios": {"both": {"mean": float("nan"), "weight": 1.0, "answers": 1}}},
        {"ratios": {"both": {"mean": 1.0, "weight": 1e9, "answers": 1}}},
        {"offered": "both"},
    ],
)
def test_what_was_damaged_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the stored profile"):
        Profile.from_json(Profile().as_json() | change)


def test_a_file_of_an_older_version_knows_nothing_of_it() -> None:
    kept = Profile().as_json()
    del kept["ratios"], kept["offered"]
    assert Profile.from_json(kept) == Profile()
