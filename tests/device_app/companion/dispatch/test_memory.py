"""What was learned of device and server is stored in a file and read again; damaged parts of the file are ignored."""

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.aggregation_choice import Ratio
from device_app.companion.dispatch.memory import PRIOR_RATES, Held, Memory
from device_app.companion.dispatch.profile import Profile
from shared.aggregation.profiler import Acceptance

seconds = st.floats(0, 100)


@given(
    st.lists(st.tuples(st.integers(0, 4000), seconds, st.integers(0, 500), seconds, st.floats(0, 8000)), max_size=40)
)
def test_a_profile_comes_back_as_it_was(answers: list[tuple[int, float, int, float, float]]) -> None:
    profile = Profile()
    for answer in answers:
        profile = profile.wrote(*answer).searched(answer[1], answer[3])
    assert Profile.from_json(json.loads(json.dumps(profile.as_json()))) == profile
    known = profile.known(500, 0.3, 0.02, None)
    assert 0 < known.read_s <= 1
    assert known.figures.rtt <= known.search_s


def test_what_was_measured_moves_what_is_known() -> None:
    profile = Profile()
    for _ in range(30):
        profile = profile.wrote(500, 0.7, 50, 0.35, 550).searched(0.34, 0.3)
    known = profile.known(550, 0.6, 0.02, None)
    assert known.read_s == pytest.approx(0.0014, rel=0.1)
    assert known.figures.decode["device"] == pytest.approx(0.007, rel=0.1)
    assert known.figures.decode["server"] == 0.02
    assert known.search_s == pytest.approx(0.34, rel=0.05)
    assert known.search_s + known.start_s == pytest.approx(0.6)
    assert profile.known(550, 0.6, 0.02, 0.05).figures.rtt == 0.05


def test_the_first_answer_of_a_side_replaces_what_was_assumed_and_a_slower_model_is_soon_known() -> None:
    held = Held().at_rates({"server": 2.0})
    assert held.rates == {**PRIOR_RATES, "server": 2.0}
    fast = Held().at_rates({"server": 50.0})
    assert fast.at_rates({"server": 2.0}).rates["server"] < 10
    assert fast.at_rates({"server": 50.0}).rates["server"] == pytest.approx(50.0)


@pytest.mark.parametrize("said", [1e-9, 1e12])
def test_a_pace_that_no_server_can_have_is_held_within_limits(tmp_path: Path, said: float) -> None:
    held = Held().at_rates({"server": said})
    Memory(tmp_path / "dispatch.json").hold(held)
    assert 0.1 <= held.rates["server"] <= 1e5
    assert Memory(tmp_path / "dispatch.json").held.rates == held.rates


def test_what_is_held_is_there_after_a_restart(tmp_path: Path) -> None:
    held = Held(profile=replace(Profile(), device_accepted=Acceptance(3.0, 4.0))).at_rates({"device": 100.0})
    Memory(tmp_path / "dispatch.json").hold(held)
    again = Memory(tmp_path / "dispatch.json").held
    assert (again.profile, again.rates) == (held.profile, held.rates)
    assert again.knowledge.as_json() == held.knowledge.as_json()


def test_nothing_is_known_at_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert Memory(tmp_path / "none.json").held.rates == PRIOR_RATES
    assert not caplog.records


def test_only_an_unknown_way_of_aggregation_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    profile = replace(Profile(), read=0.02, ratios={"server": Ratio(), "device": Ratio()})
    kept = Held(profile=profile).as_json()
    kept["together"]["ratios"]["by a vote"] = {"of": ["a later version"]}
    (tmp_path / "dispatch.json").write_text(json.dumps(kept))
    assert Memory(tmp_path / "dispatch.json").held.profile == profile
    assert not caplog.records


def damaged(change: dict[str, Any]) -> str:
    """Return the file's content with changed values in its profile of joint answers."""
    kept = Held().at_rates({"device": 100.0}).as_json()
    kept["together"] |= change
    return json.dumps(kept)


@pytest.mark.parametrize(
    "change",
    [
        {"read": "fast"},
        {"read": float("nan")},
        {"read": -1.0},
        {"device": {"b": 1e300}},
        {"trip": None},
        {"server_accepted": {"accepted": 1.0, "drafts": 0.0}},
        {"device_accepted": {"accepted": 9.0, "drafts": 3.0}},
    ],
)
def test_a_damaged_profile_is_begun_anew_and_the_rest_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[str, Any]
) -> None:
    file = tmp_path / "dispatch.json"
    file.write_text(damaged(change))
    with caplog.at_level(logging.WARNING):
        held = Memory(file).held
    assert held.profile == Profile()
    assert held.rates["device"] > PRIOR_RATES["device"]
    assert "start again" in caplog.text


@pytest.mark.parametrize(
    "text", ["", "[", "null", "[1]", '{"knowledge": 3}', "[" * 100_000, '"' + "x" * 1_100_000 + '"']
)
def test_a_damaged_file_is_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str) -> None:
    file = tmp_path / "dispatch.json"
    file.write_text(text)
    with caplog.at_level(logging.WARNING):
        held = Memory(file).held
    assert (held.rates, held.profile) == (PRIOR_RATES, Profile())
    assert "start again" in caplog.text


def test_what_an_older_version_kept_is_taken_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = Held().at_rates({"device": 100.0}).as_json()
    del kept["together"]
    (tmp_path / "dispatch.json").write_text(json.dumps(kept))
    held = Memory(tmp_path / "dispatch.json").held
    assert (held.profile, held.rates["device"] > PRIOR_RATES["device"]) == (Profile(), True)
    assert not caplog.records
