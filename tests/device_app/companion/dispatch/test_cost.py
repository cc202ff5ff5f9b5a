"""Costs in one currency, and the setting from 0 (save battery) to 1 (save money)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.cost import Budget, Costs, ModelShape, ServerPrice, budget, costs
from shared.side import Side

BOTH_COST = Costs(1.0, 1.0, 2.0, 2.0)
SMOL = ModelShape(parameters=135_000_000, layers=30, width=576)


def test_a_token_takes_two_operations_a_parameter_and_its_attention() -> None:
    assert SMOL.operations(0) == 2 * 135e6
    assert SMOL.operations(1_000) == 2 * 135e6 + 4 * 30 * 576 * 1_000
    assert SMOL.prompt_operations(1_000) == SMOL.operations(500)


@pytest.mark.parametrize(
    ("rate", "side"),
    [
        pytest.param(0.0, "server", id="energy is free"),
        pytest.param(1e-3, "device", id="energy is dear"),
    ],
)
def test_the_exchange_rate_decides_what_is_dear(rate: float, side: Side) -> None:
    prices = costs(ServerPrice(0.15, 0.60), SMOL, joules_per_gflop=0.1, rate=rate, prompt=100, answer=100)
    assert prices.constraint == side


@pytest.mark.parametrize(
    ("prices", "side"),
    [
        pytest.param((3, 4, 1, 2), "device", id="the device's least is above the server's most"),
        pytest.param((1, 4, 1, 2), "server", id="they overlap"),
        pytest.param((2, 2, 2, 2), "server", id="a tie"),
        pytest.param((0, 0, 0, 0), "server", id="nothing costs anything"),
    ],
)
def test_the_constraint_is_the_papers_test(prices: tuple[float, float, float, float], side: Side) -> None:
    assert Costs(*prices).constraint == side


@pytest.mark.parametrize(
    ("spare", "expected"),
    [
        pytest.param(0.0, Budget("device", 0.0), id="spare my battery"),
        pytest.param(0.25, Budget("device", 0.5), id="towards the battery"),
        pytest.param(0.5, Budget("server", 1.0), id="a tie is server-constrained"),
        pytest.param(0.75, Budget("server", 0.5), id="towards the money"),
        pytest.param(1.0, Budget("server", 0.0), id="spare my money"),
        pytest.param(None, Budget("server", 0.5), id="by the costs"),
    ],
)
def test_one_setting_gives_constraint_and_budget(spare: float | None, expected: Budget) -> None:
    assert budget(spare, BOTH_COST) == expected


@given(st.floats(0, 1))
def test_a_side_that_costs_nothing_is_not_spared(spare: float) -> None:
    own_server = budget(spare, Costs(1.0, 1.0, 0.0, 0.0))
    on_mains = budget(spare, Costs(0.0, 0.0, 1.0, 1.0))
    assert own_server.constraint == "device" or own_server.share == 1
    assert on_mains.constraint == "server" or on_mains.share == 1


@pytest.mark.parametrize("spare", [-0.1, 1.1, float("nan")])
def test_what_is_beyond_either_end_is_refused(spare: float) -> None:
    with pytest.raises(ValueError, match="save battery"):
        budget(spare, BOTH_COST)
