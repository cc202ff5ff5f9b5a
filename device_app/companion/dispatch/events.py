"""What happens on the sides of a live answer, and what they are told to do. An epoch is one start of one side."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from shared.side import Side

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token(Generic[T]):
    """A side wrote its token of this absolute index."""

    side: Side
    epoch: int
    index: int
    token: T


@dataclass(frozen=True, slots=True)
class Ended:
    """A side says that the answer ends here."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A side's stream broke: an error, a lost connection, a timeout."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Doubtful:
    """A side may have failed: its connection is gone, and may come back."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time went on; the reader was given what was due."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Start this side on the prompt and the first `accepted` tokens; it writes from that index on, as this epoch."""

    side: Side
    epoch: int
    accepted: int
    reason: str


@dataclass(frozen=True, slots=True)
class Allow:
    """This side may write tokens below the absolute index `upto`; None lifts the limit."""

    side: Side
    epoch: int
    upto: int | None


@dataclass(frozen=True, slots=True)
class Stop:
    """This side's stream is not needed any more."""

    side: Side
    epoch: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The answer is whole."""

    side: Side


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No side is left that could go on; what is in the buffer stands, incomplete."""


Event = Token[T] | Ended | Failed | Doubtful | Tick
Command = Begin | Allow | Stop | Finish | GiveUp
