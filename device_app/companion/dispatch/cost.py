"""The cost of a token on either side, in one currency (DiSCo §4.1, appendix E), and which side's tokens to save.

Prices are money per token; `rate` (λ, see `situation`) is money per joule.
"""

from dataclasses import dataclass

from shared.side import Side

MILLION = 1e6


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """The server's prices for reading a `prompt` and for writing an answer (`decode`), in money per million tokens.

    Both are 0 for one's own server.
    """

    prompt: float
    decode: float

    def of(self, prompt: float, decode: float) -> float:
        """Return the price of `prompt` tokens of prompts and `decode` tokens of answers."""
        return (self.prompt * prompt + self.decode * decode) / MILLION


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The sizes of a model that determine its operations per token: parameters, blocks, width of the hidden state."""

    parameters: int
    layers: int
    width: int

    def operations(self, context: float) -> float:
        """Return the floating-point operations for one token that attends to `context` others.

        These are 2 per parameter, and 4·width for each position attended to in each block: Q·K and the sum over V.
        (Appendix E.1 divides the latter by the heads and squares the context; a token attends to each position once.)
        """
        return 2.0 * self.parameters + 4.0 * self.layers * self.width * context

    def prompt_operations(self, length: int) -> float:
        """Return the mean operations per token of a prompt of this length: on average, half of it precedes a token."""
        return self.operations(length / 2)


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of prompt and answer tokens on both sides, in money per token, with energy converted to money."""

    device_prompt: float
    device_decode: float
    server_prompt: float
    server_decode: float

    @property
    def constraint(self) -> Side:
        """The side whose tokens are to be saved (algorithm 1).

        It is the device if its cheaper kind of token costs more than the server's dearer kind, else the server.
        """
        cheapest_device = min(self.device_prompt, self.device_decode)
        return "device" if cheapest_device > max(self.server_prompt, self.server_decode) else "server"

    def prompt(self, side: Side) -> float:
        """Return the cost of prefilling a token on this side."""
        return self.device_prompt if side == "device" else self.server_prompt

    def decode(self, side: Side) -> float:
        """Return the cost of decoding a token on this side."""
        return self.device_decode if side == "device" else self.server_decode


def costs(
    price: ServerPrice, shape: ModelShape, joules_per_gflop: float, rate: float, *, prompt: int, answer: int
) -> Costs:
    """Return both sides' costs for a prompt and an answer of these lengths; `rate` (λ) is money per joule.

    All later comparisons are of money, as λ is applied in this function.
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
    """Turn the setting, from 0 "spare my battery" to 1 "spare my money", into the constrained side and its budget b.

    Below .5 the device is constrained and b = 2·spare; from .5 on, the server is, and b = 2·(1 - spare). At 0 the
    device never starts while the server answers, at 1 the server is never asked, at .5 both start at once; in between,
    the nearer to an end, the more is saved. With None, the costs decide the side (algorithm 1), and b = .5. A side
    whose tokens cost nothing (mains power, one's own server) is not limited: b = 1. Raises ValueError if `spare` is not
    within 0 to 1.
    """
    if spare is None:
        budget = Budget(costs.constraint, 0.5)
    elif 0 <= spare <= 1:
        budget = Budget("device", 2 * spare) if spare < 0.5 else Budget("server", 2 * (1 - spare))
    else:
        raise ValueError(f"`spare` goes from 0 (save battery) to 1 (save money), not {spare}")
    free = not (costs.prompt(budget.constraint) or costs.decode(budget.constraint))
    return Budget(budget.constraint, 1.0) if free else budget
