"""What the two sides say to one another, what happens on a side, and what is to be done about it.

A position is a token's absolute index in the answer, from 0. An epoch names a chain of drafts by the position that it
starts at: all before is settled, each draft follows the one before it. It rises at each rejection, since a chain ends
where it was wrong.
"""

from dataclasses import dataclass
from typing import Literal

from shared.aggregation.distribution import Distribution, Top

Rule = Literal["coupled", "algorithm1", "greedy"]
Place = Literal["device", "server", "both"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A token that a side drew at some position, and what from, where the rule needs that."""

    epoch: int
    token: int
    distribution: Distribution | None


# Between the sides. They may arrive late, twice or in another order, yet each does, or else the other side is lost.


@dataclass(frozen=True, slots=True)
class Weight:
    """log h of the sender's passages, once; -inf without any."""

    log_h: float


@dataclass(frozen=True, slots=True)
class Drafts:
    """The sender's drafts from `position` on, of its chain `epoch`; a distribution for each where the rule needs it."""

    epoch: int
    position: int
    tokens: tuple[int, ...]
    distributions: tuple[Distribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Targets:
    """What the aggregating side settled, from `position` on: acceptance, rejection and acknowledgement in one."""

    position: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Say more of the distribution at `position`: the `count` likeliest tokens."""

    position: int
    count: int


@dataclass(frozen=True, slots=True)
class Rest:
    """The answer to a Fetch."""

    position: int
    distribution: Top


@dataclass(frozen=True, slots=True)
class Switch:
    """The receiver aggregates from `position` on.

    `mine` is the epoch of the sender's chain, whose drafts from there on follow; `yours` that of the receiver's as the
    sender knows it.
    """

    position: int
    mine: int
    yours: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The sender writes no more of this answer: it was cancelled, or cannot."""


Message = Weight | Drafts | Targets | Fetch | Rest | Switch | Stop


# What happens on this side.


@dataclass(frozen=True, slots=True)
class Weighed:
    """This side's passages are found and weighed."""

    log_h: float


@dataclass(frozen=True, slots=True)
class Drafted:
    """This side's decoder drew a token, of the epoch that it was last rolled back to."""

    epoch: int
    position: int
    token: int
    distribution: Distribution | None = None


@dataclass(frozen=True, slots=True)
class Supplied:
    """What a Supply asked for."""

    position: int
    distribution: Top


@dataclass(frozen=True, slots=True)
class HandOver:
    """The scheduler wants the other side to aggregate."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nobody wants this answer any more."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The other side is gone, broke the rules, or was waited for too long."""

    reason: str


Event = Message | Weighed | Drafted | Supplied | HandOver | Cancelled | Lost


# What is to be done.


@dataclass(frozen=True, slots=True)
class Emit:
    """The answer's token at `position` is settled."""

    position: int
    token: int


@dataclass(frozen=True, slots=True)
class Send:
    """Tell the other side."""

    message: Message


@dataclass(frozen=True, slots=True)
class RollBack:
    """The decoder keeps the states of the answer's first `keep` tokens, reads `tokens`, and drafts on as `epoch`.

    `epoch` is `keep` + len(tokens). Without a rejection nothing is cut: the decoder was behind, and catches up.
    """

    keep: int
    tokens: tuple[int, ...]
    epoch: int


@dataclass(frozen=True, slots=True)
class Supply:
    """Give the `count` likeliest tokens of this side's distribution at `position` (Supplied)."""

    position: int
    count: int


@dataclass(frozen=True, slots=True)
class GoAlone:
    """From `position` on the answer is the device's alone; say so to the reader."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing more comes: an end token, the length allowed, cancelled, or (on the server) without its reader."""

    reason: Literal["end", "length", "cancelled", "lost"]


Command = Emit | Send | RollBack | Supply | GoAlone | Finish
