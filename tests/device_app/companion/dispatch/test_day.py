"""A day's budgets: what is used up, what is left, and a file that outlives the program, the day and damage."""

import logging
import os
import signal
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch import day
from device_app.companion.dispatch.day import DayLimits, Days, DaySpent, within_limits
from shared.side import Side
from storage.private import private_lock

MONDAY, TUESDAY = date(2026, 3, 2), date(2026, 3, 3)


@pytest.mark.parametrize(
    ("limits", "spent", "used_up", "starts"),
    [
        pytest.param((0, 0), (1e9, 1e9), set(), None, id="no limits"),
        pytest.param((100, 1), (0, 0), set(), None, id="nothing is spent"),
        pytest.param((100, 1), (99.9, 0.99), set(), None, id="a little is left"),
        pytest.param((100, 1), (100, 0), {"device"}, (None, 0.0), id="the joules"),
        pytest.param((100, 0), (250, 9), {"device"}, (None, 0.0), id="the joules, without a limit for money"),
        pytest.param((100, 1), (0, 1), {"server"}, (0.0, None), id="the money"),
        pytest.param((100, 1), (100, 1), {"device", "server"}, (0.0, None), id="both"),
    ],
)
def test_a_side_whose_budget_is_used_up_is_not_asked(
    limits: tuple[float, float],
    spent: tuple[float, float],
    used_up: set[Side],
    starts: tuple[float | None, float | None] | None,
) -> None:
    reasons = DayLimits(*limits).used_up(DaySpent("2026-03-02", *spent))
    decision = within_limits(reasons)
    assert set(reasons) == used_up
    assert (decision and (decision.device_after_s, decision.server_after_s)) == starts
    if decision:
        assert any(reason in decision.reason for reason in reasons.values())


amounts = st.floats(0, 1e12)


@given(amounts, amounts, amounts, amounts)
def test_a_budget_is_used_up_when_nothing_is_left(joules: float, money: float, used: float, paid: float) -> None:
    limits, spent = DayLimits(joules, money), DaySpent("2026-03-02", used, paid)
    left_joules, left_money = limits.left(spent)
    assert ("device" in limits.used_up(spent)) == (left_joules == 0)
    assert ("server" in limits.used_up(spent)) == (left_money == 0)


def test_what_is_spent_adds_up_across_programs_until_the_day_ends(tmp_path: Path) -> None:
    today = MONDAY
    first, second = (Days(tmp_path / "spent.json", lambda: today) for _ in range(2))
    first.add(100, 0.5)
    second.add(20, 0.25)
    assert first.spent() == DaySpent("2026-03-02", 120, 0.75)
    today = TUESDAY
    assert first.spent() == DaySpent("2026-03-03")
    second.add(7, 0)
    assert first.spent() == DaySpent("2026-03-03", 7)
    assert (tmp_path / "spent.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[1]",
        '{"date": "2026-03-02", "joules": -1}',
        '{"date": "2026-03-02", "joules": NaN}',
        '{"date": "2026-03-02", "money": 1e999}',
        '{"date": "2026-03-02", "money": "5"}',
        '{"joules": 5}',
        '{"a": ' + "[" * 100_000,
        "[" * 100_000,
    ],
)
def test_a_damaged_file_starts_at_nothing_and_says_so(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "spent.json"
    file.write_text(text)
    days = Days(file, lambda: MONDAY)
    with caplog.at_level(logging.WARNING):
        assert days.spent() == DaySpent("2026-03-02")
    assert "starts at 0" in caplog.text
    days.add(5, 0)
    assert days.spent().joules == 5


def test_programs_that_add_at_the_same_time_and_one_that_is_killed_lose_nothing(tmp_path: Path) -> None:
    """Three processes add one joule at a time and report each; one of them is killed on the way."""
    file = tmp_path / "spent.json"
    reading, writing = os.pipe()
    adding = [_adding(file, writing) for _ in range(3)]
    os.close(writing)
    counted = 0
    while counted < 20:
        counted += len(os.read(reading, 1))
    os.kill(adding[0], signal.SIGKILL)
    os.waitpid(adding[0], 0)
    while part := os.read(reading, 1_000):
        counted += len(part)
    assert [os.waitpid(child, 0)[1] for child in adding[1:]] == [0, 0]
    spent = Days(file, lambda: MONDAY).spent()
    assert counted <= spent.joules <= counted + 1, "the one that was killed may have added before it reported"
    assert spent.money == spent.joules / 4
    assert {path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077} == set()


def _adding(file: Path, writing: int) -> int:
    if child := os.fork():
        return child
    try:
        days = Days(file, lambda: MONDAY)
        for _ in range(40):
            days.add(1, 0.25)
            os.write(writing, b".")
    finally:
        os._exit(0)


def test_a_program_that_does_not_give_the_lock_back_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(day, "LOCK_S", 0.05)
    days, other = (Days(tmp_path / "spent.json", lambda: MONDAY) for _ in range(2))
    other.add(1, 0)
    with private_lock(tmp_path / "spent.lock"):
        days.add(2, 0)
    assert (days.spent().joules, other.spent().joules) == (3, 1)
    other.add(4, 0)
    days.add(8, 0)
    assert (days.spent().joules, other.spent().joules) == (15, 15), "what was not written before is written now"


def test_what_cannot_be_written_counts_until_the_program_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "spent.json").mkdir()
    days = Days(tmp_path / "spent.json", lambda: MONDAY)
    with caplog.at_level(logging.WARNING):
        days.add(5, 1)
        days.add(5, 1)
    assert days.spent() == DaySpent("2026-03-02", 10, 2)
    assert "spent.json" in caplog.text


def test_without_a_file_it_counts_until_the_program_ends() -> None:
    days = Days(today=lambda: MONDAY)
    days.add(5, 1)
    assert days.spent() == DaySpent("2026-03-02", 5, 1)
