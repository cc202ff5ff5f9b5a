"""The limits on what background work may spend within any hour."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.settings import Daemon as Rules
from device_app.system.budget import HOUR_S, Ledger, Spent, estimated_joules, recent, spend, why_spent

RULES = replace(Rules(), tokens_per_hour=1000, joules_per_hour=50.0)


def test_the_papers_phone_spends_what_was_measured() -> None:
    # 51 times 485 tokens of a model of 3.2 billion parameters: a tenth of a battery of 30 Wh.
    assert estimated_joules(3_200_000_000, 51 * 485, 0.07) == pytest.approx(30 * 3600 / 10, rel=0.05)


@pytest.mark.parametrize(
    ("ledger", "why"),
    [
        ((), None),
        ((Spent(9_000, 999, 49.9),), None),
        ((Spent(9_000, 1000, 0.0),), "the limit of 1,000 tokens per hour is used up"),
        ((Spent(9_000, 500, 0.0), Spent(9_500, 500, 0.0)), "the limit of 1,000 tokens per hour is used up"),
        ((Spent(9_000, 1, 50.0),), "the limit of 50 joules per hour is used up"),
        ((Spent(10_000 - HOUR_S, 1000, 50.0),), None),
        ((Spent(10_001, 1000, 50.0),), None),  # from before the machine restarted
    ],
)
def test_which_budget_is_spent(ledger: Ledger, why: str | None) -> None:
    assert why_spent(ledger, 10_000, RULES) == why


def test_nothing_may_be_spent_where_the_budget_is_nothing() -> None:
    assert why_spent((), 0.0, replace(RULES, tokens_per_hour=0)) == "the limit of 0 tokens per hour is used up"


@given(st.lists(st.tuples(st.floats(0, 400), st.integers(0, 1000)), max_size=100))
def test_nothing_spent_within_the_hour_is_forgotten_and_little_is_kept(spending: list[tuple[float, int]]) -> None:
    now = 0.0
    ledger: Ledger = ()
    events: list[tuple[float, int]] = []
    for pause, tokens in spending:
        now += pause
        ledger = spend(ledger, now, tokens, 0.0)
        events.append((now, tokens))
        least = sum(tokens for at, tokens in events if at > now - HOUR_S)
        most = sum(tokens for at, tokens in events if at > now - HOUR_S - 60)
        assert least <= sum(conversation.tokens for conversation in recent(ledger, now)) <= most
        assert len(ledger) <= 61
