"""Events on the sides of a live answer, and the commands to them. An epoch is one start of one side."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.side import Side

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """A side wrote the token with this absolute index."""

    side: Side
    epoch: int
    index: int
    token: T


@dataclass(frozen=True, slots=True)
class Ended:
    """A side reports the end of the answer."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A side's stream broke: an error, a lost connection, a timeout."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A side may have failed: its connection is lost, and may come back."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passed; the reader has received the due tokens."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Start this side on the prompt and the first `accepted` tokens; it writes on from that index, as this epoch."""

    side: Side
    epoch: int
    accepted: int
    reason: str


@dataclass(frozen=True, slots=True)
class Allow:
    """Allow this side to write tokens below the absolute index `upto`; None lifts the limit."""

    side: Side
    epoch: int
    upto: int | None


@dataclass(frozen=True, slots=True)
class Stop:
    """End this side's stream, which is not needed any more."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is complete."""

    side: Side


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No side can go on; the tokens in the buffer are the answer, incomplete."""


Event = Token[T] | Ended | Failed | Doubtful | Tick
Command = Begin | Allow | Stop | Finish | GiveUp
