"""The events of a race's two sides, sent through one queue.

A token is a `Piece`: an id of this device's model or, from a server with another vocabulary, -1 and the text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from device_app.companion.dispatch.events import Ended, Failed, Token
from shared.ending import Piece
from shared.protocol import messages as m


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """The event that the server's passages for the question have come."""

    passages: tuple[m.PublicPassage, ...]


@dataclass(frozen=True, slots=True)
class Waits:
    """The event that the server announced when it will start, in seconds from now."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Broke:
    """The event that a side cannot continue: `failed`, the event for `Migration`, and `why`, as shown to the person.

    `at` is the time, by the monotonic clock.
    """

    failed: Failed
    why: str
    at: float


@dataclass(frozen=True, slots=True)
class Wrote:
    """The event that a side wrote a token at a time of the monotonic clock."""

    token: Token[Piece]
    at: float


SideEvent = FoundPassages | m.Round | Waits | Wrote | Ended | Broke
Inbox = SimpleQueue[SideEvent]


def spelled(pieces: Sequence[Piece], detokenize: Callable[[Sequence[int]], bytes]) -> str:
    """Return the text of the pieces, without an incomplete last character; `detokenize` gives the text of token ids."""
    parts = (piece.text.encode() if piece.token < 0 else detokenize([piece.token]) for piece in pieces)
    return b"".join(parts).decode(errors="ignore")
