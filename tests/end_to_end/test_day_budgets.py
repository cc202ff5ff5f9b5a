"""The daily budgets: what answers cost is counted, and a side that has used up its budget is not used any more that
day.
"""

from contextlib import closing
from dataclasses import replace
from datetime import date

import pytest

from device_app.companion.dispatch.cost import ServerPrice
from device_app.companion.dispatch.day import DayLimits
from device_app.companion.dispatch.public import Prices
from device_app.question.answer import Wrote
from device_app.system.conditions import Conditions
from tests.faults import DANUBE
from tests.household import DEVICE_FREE, OPTIONS, SERVER_FREE, Home, home
from tests.racing import TEXT

__all__ = ["home"]

DRILL = "Who has borrowed the blue drill?"
PAID = replace(SERVER_FREE, server=ServerPrice(1.0, 2.0), spare=0.5)
"""Prices at which device and server both start at once, and both cost something."""


def limited(home: Home, prices: Prices, *, joules: float = 0.0, money: float = 0.0) -> None:
    home.public.prices = replace(prices, day=DayLimits(joules, money))


def test_what_both_sides_took_is_counted(home: Home) -> None:
    limited(home, replace(PAID, spare=0.0))  # the server alone
    assert home.ask().text == TEXT
    spent = home.public.days.spent()
    assert (spent.date, spent.joules) == (date.today().isoformat(), 0)
    assert spent.money >= (1.0 + 2.0) * len(TEXT) / 1e6, "a fake model's token is a byte"
    home.ask(DRILL)
    after = home.public.days.spent()
    assert after.joules > 0
    assert after.money == spent.money


def test_a_server_whose_money_is_used_up_is_not_asked_to_write_until_tomorrow(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(home, PAID, money=1e-9)
    assert not any("used up" in reason for reason in home.ask().decided)
    answer = home.ask(fresh=True)
    assert (answer.text, answer.origin) == (TEXT, "device")
    assert answer.decided == ("the device alone: today's 1e-09 in your currency (link.day_money) is used up",)
    monkeypatch.setattr(home.public.days, "today", lambda: date(2999, 1, 1))
    assert not any("used up" in reason for reason in home.ask(fresh=True).decided)


def test_a_device_whose_joules_are_used_up_writes_only_what_the_server_cannot(home: Home) -> None:
    limited(home, DEVICE_FREE, joules=1e-12)
    home.ask(DRILL)
    assert "device" in home.public.weighed(DANUBE, 100).used_up
    answer = home.ask(fresh=True)
    assert (answer.text, answer.origin) == (TEXT, "cloud")
    assert answer.decided == ("the server alone: today's 0 joules (link.day_joules) are used up",)
    assert home.ask(DRILL, fresh=True).origin == "device", "nobody else may answer from the files"


def test_on_mains_power_no_joules_are_counted_and_no_limit_of_them_holds(home: Home) -> None:
    limited(home, PAID, joules=1e-12)
    home.public.conditions = lambda: Conditions(on_mains=True)
    home.ask(DRILL)
    assert home.public.days.spent().joules == 0
    home.public.conditions = lambda: Conditions(on_mains=False, battery_percent=34)
    home.ask(DRILL, fresh=True)
    assert home.public.days.spent().joules > 0
    assert set(home.public.weighed(DANUBE, 100).used_up) == {"device"}
    home.public.conditions = lambda: Conditions(on_mains=True)
    assert home.public.weighed(DANUBE, 100).used_up == {}


def test_an_answer_keeps_what_decided_on_it(home: Home) -> None:
    limited(home, replace(PAID, spare=0.25, policy="paper", per_joule=1e-6))
    home.public.conditions = lambda: Conditions(on_mains=False, battery_percent=34)
    basis = home.ask().as_json()["trace"]["dispatch"]
    assert (basis["policy"]["name"], set(basis["policy"]["figures"])) == (
        "paper",
        {"at_once_below_tokens", "tail_wait_s"},
    )
    assert "on a battery at 34%" in basis["exchange_rate"]["reason"]
    assert "dispatch" not in home.ask(DRILL).as_json()["trace"], "the files answer it"


def test_what_an_answer_that_was_dropped_took_is_counted(home: Home) -> None:
    limited(home, replace(PAID, spare=0.0))
    with closing(home.assistant.ask(DANUBE, OPTIONS)) as events:  # type: ignore[type-var]  # it is a generator
        while not isinstance(next(events), Wrote):
            pass
    assert home.public.days.spent().money > 0
