"""The costs of both sides by the device's situation: power, charge, heat and network (DiSCo §4.1). Pure.

`exchange_rate` returns λ, the money that a joule of this device costs; `over_network` adds the cost of the network.

DiSCo has a person set λ and says only that it varies with charge and charging; the formula is ours. On mains power,
energy costs nothing. On battery it costs the price of a joule on mains, times 1/charge, as a joule is a larger part of
the energy left in an emptier battery (at most `MOST_SCARCITY` times), times 2^(1 + (t - limit)/HEAT_STEP_C), from 1 to
`MOST_HEAT`, as heat wears and slows the device: t is the temperature of battery or processor, limit the setting above
which background work waits (`daemon.battery_temperature`, `daemon.temperature`), and the hotter of the two counts. If
no battery is known, λ is the price of a joule on mains.
"""

from dataclasses import dataclass, replace

from device_app.companion.dispatch.cost import ServerPrice
from device_app.system.conditions import Conditions

MOST_SCARCITY, MOST_HEAT = 20.0, 4.0

HEAT_STEP_C = 10.0
"""The rise in temperature, in °C, that doubles the cost of a joule."""

TOKEN_BYTES = 150
"""The bytes that cross the network for one token of the server.

They are a message of about 20, its frame's header (2), TLS (22), TCP and IP with their acknowledgement (about 105).
"""


@dataclass(frozen=True, slots=True)
class HeatLimits:
    """The temperatures of battery and processor, in °C, at which a joule costs twice as much as in a cool device."""

    battery_c: float = 40.0
    processor_c: float = 80.0


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """The exchange rate, money per joule of this device, and its reason as shown to the person."""

    per_joule: float
    reason: str


def exchange_rate(per_joule: float, conditions: Conditions, limits: HeatLimits) -> ExchangeRate:
    """Return what a joule of this device costs now, in money, with the reason.

    `per_joule` is the price of a joule on mains power, `limits` the heat limits.
    """
    if conditions.on_mains:
        return ExchangeRate(0.0, "nothing, as the device runs on mains power")
    if conditions.on_mains is None and conditions.battery_percent is None:
        return ExchangeRate(per_joule, "as set by link.price_kwh, as no battery is known")
    charge, heat = _scarcity(conditions.battery_percent), _heat(conditions, limits)
    level = "of unknown charge" if conditions.battery_percent is None else f"at {conditions.battery_percent:.0f}%"
    hot = f", which is warm ({heat:.1f} times)" if heat > 1 else ""
    return ExchangeRate(
        per_joule * charge * heat, f"{charge * heat:.1f} times link.price_kwh, on a battery {level}{hot}"
    )


def over_network(price: ServerPrice, per_megabyte: float) -> ServerPrice:
    """Return the server's prices plus the price of the network's traffic, in money per megabyte.

    The question and the passages are left out, as they cross the network whichever side writes.
    """
    return replace(price, decode=price.decode + TOKEN_BYTES * per_megabyte)  # bytes a token = megabytes a million


def _scarcity(percent: float | None) -> float:
    """Return the factor by which the battery's charge raises the price of a joule."""
    return 1.0 if percent is None else min(100 / max(percent, 1.0), MOST_SCARCITY)


def _heat(conditions: Conditions, limits: HeatLimits) -> float:
    """Return the factor by which heat raises the price of a joule; the hotter of the known temperatures counts."""
    above = (
        None if celsius is None else celsius - limit
        for celsius, limit in (
            (conditions.battery_temperature_c, limits.battery_c),
            (conditions.temperature_c, limits.processor_c),
        )
    )
    excess = max((degrees for degrees in above if degrees is not None), default=-HEAT_STEP_C)
    return min(max(2 ** (1 + excess / HEAT_STEP_C), 1.0), MOST_HEAT)
