"""What a token costs on either side, in one currency (DiSCo §4.1, appendix E), and which side is to be spared.

Prices are money per token; `rate` (λ) is money per joule. Knows no policy. A battery tells its percent at most, see
`joules_drawn`.
"""

from dataclasses import dataclass
from typing import Literal

Side = Literal["device", "server"]

MILLION = 1e6


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """Money per million tokens; both 0 for a server of one's own."""

    prompt: float
    decode: float


@dataclass(frozen=True, slots=True)
class ModelShape:
    """What of a model decides its operations: parameters, blocks, width of the hidden state."""

    parameters: int
    layers: int
    width: int

    def operations(self, context: float) -> float:
        """Floating-point operations for one token that attends to `context` others.

        2 per parameter, and 4·width for each position attended to in each block: Q·K and the sum over V.
        (Appendix E.1 divides the latter by the heads and squares the context; a token attends to each position once.)
        """
        return 2.0 * self.parameters + 4.0 * self.layers * self.width * context

    def prompt_operations(self, length: int) -> float:
        """Per token of a prompt of this length: on average half of it lies before each."""
        return self.operations(length / 2)


@dataclass(frozen=True, slots=True)
class Costs:
    """Money per token, the energy already turned into money by λ."""

    device_prompt: float
    device_decode: float
    server_prompt: float
    server_decode: float

    @property
    def constraint(self) -> Side:
        """The side whose tokens dominate the bill (algorithm 1); a tie is server-constrained."""
        cheapest_device = min(self.device_prompt, self.device_decode)
        return "device" if cheapest_device > max(self.server_prompt, self.server_decode) else "server"

    def prompt(self, side: Side) -> float:
        """Of a token prefilled there."""
        return self.device_prompt if side == "device" else self.server_prompt

    def decode(self, side: Side) -> float:
        """Of a token written there."""
        return self.device_decode if side == "device" else self.server_decode


def costs(
    price: ServerPrice, shape: ModelShape, joules_per_gflop: float, rate: float, *, prompt: int, answer: int
) -> Costs:
    """Both sides' for a usual prompt and answer of these lengths; `rate` (λ) is money per joule.

    λ is applied first: everything behind this compares money with money.
    """
    per_operation = joules_per_gflop / 1e9 * rate
    return Costs(
        device_prompt=shape.prompt_operations(prompt) * per_operation,
        device_decode=shape.operations(prompt + answer / 2) * per_operation,
        server_prompt=price.prompt / MILLION,
        server_decode=price.decode / MILLION,
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """The share `b` (0..1) of all prompt tokens that the constrained side may prefill."""

    constraint: Side
    share: float


def budget(spare: float | None, costs: Costs) -> Budget:
    """The one setting, from 0 "spare my battery" to 1 "spare my money", as a constraint and its b.

    Below .5 the device is constrained and b = 2·spare, from .5 on the server is and b = 2·(1 - spare): at 0 the device
    never starts beside a server that answers, at 1 the server is never asked, at .5 both start at once. Between, the
    nearer to an end the more is spared; the two halves meet in the same behaviour. None leaves the side to the test of
    the costs (algorithm 1), with b = .5. A side whose tokens cost nothing (mains power, a server of one's own) has
    nothing to spare: b = 1. Raises ValueError where `spare` is not within 0..1.
    """
    if spare is None:
        found = Budget(costs.constraint, 0.5)
    elif 0 <= spare <= 1:
        found = Budget("device", 2 * spare) if spare < 0.5 else Budget("server", 2 * (1 - spare))
    else:
        raise ValueError(f"from 0 (spare my battery) to 1 (spare my money), not {spare}")
    free = not (costs.prompt(found.constraint) or costs.decode(found.constraint))
    return Budget(found.constraint, 1.0) if free else found


@dataclass(frozen=True, slots=True)
class BatteryReading:
    """A battery at one moment. `joules` where the system tells the energy left (Linux: energy_now, in µWh), else None.

    `psutil.sensors_battery()` gives percent and plug alone.
    """

    at_s: float
    percent: float
    on_mains: bool
    joules: float | None = None


LEAST_PERCENT = 3.0
"""A battery counts whole percents: over less than three of them its reading is mostly rounding."""


def joules_drawn(
    before: BatteryReading, after: BatteryReading, *, idle_watts: float, capacity_joules: float | None = None
) -> float | None:
    """What computing took of the battery between two readings, beyond `idle_watts`; None where that cannot be told.

    It cannot on mains, over too short a time, or in percents without the battery's capacity. One answer takes far less
    than a percent, so this measures an hour's work, never an answer: scale `joules_per_gflop` by it, by the hour.
    """
    seconds = after.at_s - before.at_s
    if before.on_mains or after.on_mains or seconds <= 0:
        return None
    if before.joules is not None and after.joules is not None:
        drawn = before.joules - after.joules
    elif capacity_joules is not None and before.percent - after.percent >= LEAST_PERCENT:
        drawn = (before.percent - after.percent) / 100 * capacity_joules
    else:
        return None
    return max(drawn - idle_watts * seconds, 0.0)


def corrected(joules_per_gflop: float, drawn: float, operations: float) -> float:
    """The estimate moved halfway to what the battery says of so many operations, by at most twice or half of it."""
    if operations <= 0 or drawn <= 0:
        return joules_per_gflop
    measured = drawn / (operations / 1e9)
    return float(joules_per_gflop * min(max(measured / joules_per_gflop, 0.25), 4.0) ** 0.5)
