"""The estimates before a public question is answered: the possible decisions, their costs, and when the answer would
migrate.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.cost import Budget, Costs
from device_app.companion.dispatch.dispatcher import Estimates, Outcome
from device_app.companion.dispatch.energy import Estimate
from device_app.companion.dispatch.situation import ExchangeRate
from device_app.companion.dispatch.weighed import Weighed
from shared.side import Side

DEAR_SERVER, DEAR_DEVICE, EVEN = Costs(0, 0, 1e-6, 1e-3), Costs(1e-6, 1e-3, 0, 0), Costs(1, 1, 1, 1)

HALF = Budget("device", 0.5)


def weighed(costs: Costs = EVEN, budget: Budget = HALF, rate: float = 40.0, prompt: float = 100.0) -> Weighed:
    known = Estimates()
    for at in range(20):
        known = known.after(
            Outcome(100 + at, device_started=True, server_started=True, device_s=1.0, server_s=0.3, answer=100), budget
        )
    rates: dict[Side, float] = {"device": rate, "server": rate}
    energy, exchange = Estimate(0.1), ExchangeRate(0.3 / 3.6e6, "as set")
    return Weighed(known, costs, budget, prompt, 200, rates, reading_rate=8.0, energy=energy, exchange=exchange)


@given(st.sampled_from(["device", "server"]), st.floats(0, 1), st.floats(0, 0.999), st.floats(1, 5_000))
def test_what_is_decided_was_told(side: Side, share: float, coin: float, prompt: float) -> None:
    decision = weighed(budget=Budget(side, share), prompt=prompt)
    decisions = decision.decisions()
    assert 1 <= len(decisions) <= 2
    assert decision.decide(coin) in decisions


def test_a_first_token_is_expected_as_it_came_before() -> None:
    decision = weighed()
    (device, device_late), (server, server_late) = decision.first_token_s("device"), decision.first_token_s("server")
    assert device == pytest.approx(1.0, rel=0.05)
    assert server == pytest.approx(0.3, rel=0.1)
    assert (device <= device_late, server < server_late) == (True, True)


def test_an_answer_costs_its_prompt_and_its_usual_length() -> None:
    decision = weighed(DEAR_SERVER)
    assert decision.bill("device") == 0
    assert decision.bill("server") == pytest.approx(100 * 1e-6 + 100 * 1e-3, rel=0.1)


@pytest.mark.parametrize(
    ("costs", "rate", "source", "pays"),
    [
        pytest.param(DEAR_SERVER, 40.0, "server", True, id="the device writes for less"),
        pytest.param(DEAR_SERVER, 40.0, "device", False, id="it is there already"),
        pytest.param(DEAR_DEVICE, 40.0, "device", True, id="the server writes for less"),
        pytest.param(EVEN, 40.0, "device", False, id="nobody writes for less"),
        pytest.param(DEAR_SERVER, 8.0, "server", False, id="nothing gets ahead of the reader"),
    ],
)
def test_an_answer_moves_where_that_pays_once_enough_is_ahead(
    costs: Costs, rate: float, source: Side, pays: bool
) -> None:
    move = weighed(costs, rate=rate).move(source)
    assert isinstance(move, tuple) == pays
    if isinstance(move, tuple):
        after, plan = move
        assert plan.target != source
        assert plan.saving > 0
        assert after * (1 - 8.0 / rate) >= plan.buffer
    else:
        assert move
