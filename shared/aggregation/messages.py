"""The messages of a joint answer between the two sides, the events of a side, and the commands that result.

A position is a token's absolute index in the answer, from 0. An epoch names a chain of drafts by its first position:
all tokens before it are final, and each draft follows the previous one. Each rejection ends a chain and starts one with
a higher epoch.
"""

from dataclasses import dataclass
from typing import Literal

from shared.aggregation.distribution import Distribution, Top

Rule = Literal["coupled", "algorithm1", "greedy"]
Place = Literal["device", "server", "both"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A token that a side drew as a draft, and the distribution it was drawn from, if the rule needs it."""

    epoch: int
    token: int
    distribution: Distribution | None


# Messages between the sides. Each may arrive late, twice or out of order, but arrives, unless the other side is lost.


@dataclass(frozen=True, slots=True)
class Weight:
    """The message with the log weight of the sender's passages, log h, sent once; -inf without passages. h is the sum
    of exp(score / temperature) over the passages.

    With `every` above 0, the device computes its weight in the mixture again after every `every` tokens (`Reweight`).
    """

    log_h: float
    every: int = 0


@dataclass(frozen=True, slots=True)
class Reweight:
    """The device's message with its weight η in the mixture from `position` on, as the log odds log(η / (1 - η)).

    On the device, it is the event that this weight was computed.
    """

    position: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class Drafts:
    """The message with the sender's drafts of chain `epoch` from `position` on.

    It includes the drafts' distributions if the rule needs them.
    """

    epoch: int
    position: int
    tokens: tuple[int, ...]
    distributions: tuple[Distribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Targets:
    """The message with final tokens that the aggregating side decided, from `position` on. They accept, reject and
    acknowledge drafts.
    """

    position: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """The message that requests the `count` likeliest tokens of the distribution at `position`."""

    position: int
    count: int


@dataclass(frozen=True, slots=True)
class Rest:
    """The message with the likeliest tokens of the distribution at `position`, in reply to a Fetch."""

    position: int
    distribution: Top


@dataclass(frozen=True, slots=True)
class Switch:
    """The message that hands the aggregation over: the receiver decides the tokens from `position` on.

    `mine` is the epoch (the first position) of the sender's chain of drafts, whose drafts from `position` on follow;
    `yours` is the epoch of the receiver's chain, as far as the sender knows.
    """

    position: int
    mine: int
    yours: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The message that the sender stops contributing: the answer was cancelled, or the sender cannot continue."""


Message = Weight | Reweight | Drafts | Targets | Fetch | Rest | Switch | Stop


# Events on this side.


@dataclass(frozen=True, slots=True)
class Weighed:
    """The event that this side's passages were retrieved; `log_h` is their log weight, `every` as in `Weight`."""

    log_h: float
    every: int = 0


@dataclass(frozen=True, slots=True)
class Drafted:
    """The event that this side's decoder drew a draft token; `epoch` is the position at which the decoder continued
    after its last rollback.
    """

    epoch: int
    position: int
    token: int
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True)
class Supplied:
    """The event with the likeliest tokens of this side's distribution at `position`, in reply to a Supply command."""

    position: int
    distribution: Top


@dataclass(frozen=True, slots=True)
class HandOver:
    """The event that the scheduler chose the other side to aggregate, that is, to decide the final tokens."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The event that the answer was cancelled."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The event that the other side is gone, broke the protocol, or exceeded its time limit."""

    reason: str


Event = Message | Weighed | Drafted | Supplied | HandOver | Cancelled | Lost


# Commands for this side.


@dataclass(frozen=True, slots=True)
class Emit:
    """The command to show the final token at `position`."""

    position: int
    token: int


@dataclass(frozen=True, slots=True)
class Send:
    """The command to send a message to the other side."""

    message: Message


@dataclass(frozen=True, slots=True)
class RollBack:
    """The command to keep the KV state of the answer's first `keep` tokens, prefill `tokens`, and draft on after them
    in a new chain.

    `epoch`, the position of the new chain's first draft, is `keep` + len(tokens). Without a rejection nothing is
    discarded: the decoder only catches up.
    """

    keep: int
    tokens: tuple[int, ...]
    epoch: int


@dataclass(frozen=True, slots=True)
class Supply:
    """The command to return the `count` likeliest tokens of this side's distribution, by a Supplied event."""

    position: int
    count: int


@dataclass(frozen=True, slots=True)
class GoAlone:
    """The command to write the answer on the device alone from `position` on, and to tell the user the reason."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The command to end the answer: end token, token limit, cancelled, or (on the server) device lost."""

    reason: Literal["end", "length", "cancelled", "lost"]


Command = Emit | Send | RollBack | Supply | GoAlone | Finish
