"""What a joule of the device costs, by power supply, charge and heat: the table of weights (λ) of energy
against money.
"""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.companion.dispatch.cost import Budget, ModelShape, ServerPrice, budget, costs
from device_app.companion.dispatch.situation import (
    MOST_HEAT,
    MOST_SCARCITY,
    TOKEN_BYTES,
    HeatLimits,
    exchange_rate,
    over_network,
)
from device_app.system.conditions import Conditions
from shared.protocol import codec
from shared.protocol import messages as m

LIMITS = HeatLimits(battery_c=40, processor_c=80)
BATTERY = Conditions(on_mains=False, battery_percent=100)


@pytest.mark.parametrize(
    ("conditions", "times", "reason"),
    [
        pytest.param(Conditions(), 1, "as no battery is known", id="nothing is known"),
        pytest.param(Conditions(temperature_c=95), 1, "as no battery is known", id="a hot computer without a battery"),
        pytest.param(Conditions(on_mains=True), 0, "on mains power", id="mains"),
        pytest.param(
            Conditions(on_mains=True, battery_percent=3, battery_temperature_c=55), 0, "on mains power", id="charging"
        ),
        pytest.param(Conditions(on_mains=False), 1, "of unknown charge", id="a battery that does not say its charge"),
        pytest.param(BATTERY, 1, "at 100%", id="full"),
        pytest.param(replace(BATTERY, battery_percent=50), 2, "2.0 times link.price_kwh", id="half"),
        pytest.param(replace(BATTERY, battery_percent=20), 5, "at 20%", id="a fifth"),
        pytest.param(replace(BATTERY, battery_percent=5), 20, "at 5%", id="a twentieth"),
        pytest.param(replace(BATTERY, battery_percent=0), 20, "at 0%", id="empty, and running"),
        pytest.param(replace(BATTERY, on_mains=None, battery_percent=50), 2, "at 50%", id="perhaps plugged in"),
        pytest.param(replace(BATTERY, battery_temperature_c=30), 1, "at 100%", id="a cool battery"),
        pytest.param(replace(BATTERY, battery_temperature_c=40), 2, "warm (2.0 times)", id="a hot battery"),
        pytest.param(replace(BATTERY, battery_temperature_c=60), 4, "which is warm", id="a battery that burns"),
        pytest.param(replace(BATTERY, battery_temperature_c=-20), 1, "at 100%", id="a frozen battery"),
        pytest.param(replace(BATTERY, temperature_c=80), 2, "which is warm", id="a hot processor"),
        pytest.param(
            replace(BATTERY, temperature_c=50, battery_temperature_c=50), 4, "which is warm", id="the hotter of the two"
        ),
        pytest.param(replace(BATTERY, battery_percent=10, battery_temperature_c=40), 20, "warm (2.0 times)", id="both"),
    ],
)
def test_what_a_joule_costs(conditions: Conditions, times: float, reason: str) -> None:
    rate = exchange_rate(0.3 / 3.6e6, conditions, LIMITS)
    assert rate.per_joule == pytest.approx(times * 0.3 / 3.6e6)
    assert reason in rate.reason


known = st.none() | st.floats(0, 100)
batteries = st.builds(
    Conditions,
    on_mains=st.just(value=False),
    battery_percent=known,
    temperature_c=st.none() | st.floats(-40, 150),
    battery_temperature_c=known,
)


@given(batteries, st.floats(0, 1e6))
def test_on_battery_a_joule_costs_at_least_its_price_and_a_bounded_multiple_of_it(
    conditions: Conditions, price: float
) -> None:
    per_joule = exchange_rate(price, conditions, LIMITS).per_joule
    assert price <= per_joule * (1 + 1e-9)
    assert per_joule <= price * MOST_SCARCITY * MOST_HEAT * (1 + 1e-9)
    assert math.isfinite(per_joule)


@given(batteries, known, st.floats(0, 40))
def test_an_emptier_or_hotter_device_never_costs_less(
    conditions: Conditions, percent: float | None, hotter: float
) -> None:
    now = exchange_rate(1, conditions, LIMITS).per_joule
    if percent is not None and conditions.battery_percent is not None and percent <= conditions.battery_percent:
        assert exchange_rate(1, replace(conditions, battery_percent=percent), LIMITS).per_joule >= now * (1 - 1e-9)
    if conditions.battery_temperature_c is not None:
        hot = replace(conditions, battery_temperature_c=conditions.battery_temperature_c + hotter)
        assert exchange_rate(1, hot, LIMITS).per_joule >= now * (1 - 1e-9)


def test_a_metered_network_adds_its_traffic_to_what_the_server_writes() -> None:
    assert over_network(ServerPrice(0.15, 0.60), 0.005) == ServerPrice(0.15, 0.60 + TOKEN_BYTES * 0.005)
    assert over_network(ServerPrice(0.15, 0.60), 0.0) == ServerPrice(0.15, 0.60)
    token = codec.server_frame(m.Numbered(60_000, m.Tokens(60_000, 4_000, (49_151,))))
    assert len(token) <= 20, "the rest is what WebSocket, TLS, TCP and IP add"


def test_mains_spares_a_paid_server_and_an_empty_battery_spares_the_device() -> None:
    """A model of 1.7B parameters beside a server at a usual price: the situation alone decides which side is spared."""
    shape, price = ModelShape(1_700_000_000, layers=24, width=2048), ServerPrice(0.15, 0.60)

    def decided(conditions: Conditions) -> Budget:
        rate = exchange_rate(0.3 / 3.6e6, conditions, LIMITS).per_joule
        return budget(None, costs(price, shape, 0.1, rate, prompt=200, answer=200))

    assert decided(Conditions(on_mains=True)) == Budget("server", 0.5)
    assert decided(BATTERY) == Budget("server", 0.5)
    assert decided(replace(BATTERY, battery_percent=5, battery_temperature_c=45)) == Budget("device", 0.5)
    free = costs(ServerPrice(0, 0), shape, 0.1, 0.0, prompt=200, answer=200)
    assert budget(None, free) == Budget("server", 1.0), "on mains, one's own server and the device both cost nothing"
