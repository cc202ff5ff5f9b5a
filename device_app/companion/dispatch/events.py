"""The events of both sides of a running answer, and the commands to the sides.

An epoch is the number of one start of a side.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.side import Side

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """The event that a side wrote a token, with the token's absolute index in the answer."""

    side: Side
    epoch: int
    index: int
    token: T


@dataclass(frozen=True, slots=True)
class Ended:
    """The event that a side finished the answer."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The event that a side's stream broke: an error, a lost connection, a timeout."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Doubtful:
    """The event that a side may have failed: its connection is lost, but may come back."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Tick:
    """The event that time has passed, after the tokens that were due have been shown to the reader."""


@dataclass(frozen=True, slots=True)
class Begin:
    """The command to start this side on the prompt and the first `accepted` tokens; the side continues from that index.

    `epoch` is the number of this start.
    """

    side: Side
    epoch: int
    accepted: int
    reason: str


@dataclass(frozen=True, slots=True)
class Allow:
    """The command that allows this side to write tokens below the absolute index `upto`; None lifts the limit."""

    side: Side
    epoch: int
    upto: int | None


@dataclass(frozen=True, slots=True)
class Stop:
    """The command to end this side's stream, because it is not needed any more."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The command to finish the answer, which is complete."""

    side: Side


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The command to give up, as no side can continue; the tokens in the buffer are the incomplete answer."""


Event = Token[T] | Ended | Failed | Doubtful | Tick
Command = Begin | Allow | Stop | Finish | GiveUp
