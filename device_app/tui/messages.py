"""Messages from the threads of `tui/edge` to the screens: plain values without behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from device_app.tui.edge.facts import Turn
    from device_app.tui.knowledge.reading import Reading
    from device_app.tui.link import Standing


@dataclass
class Event(Message):
    """The base of messages about a question, which is identified by its ticket number."""

    ticket: int


@dataclass
class FoundSources(Event):
    """The sources of the answer, as in the answer's record; sent again if more are found."""

    sources: Sequence[Mapping[str, Any]]


@dataclass
class LookedUp(Event):
    """A round of retrieval on the server for the answer, as in the answer's record."""

    round: Mapping[str, Any]


@dataclass
class Wrote(Event):
    """A part of the answer's text was written."""

    text: str


@dataclass
class Finished(Event):
    """The answer is complete. `advice` says why no answer was found, if that is known."""

    turn: Turn
    advice: tuple[str, ...] = ()


@dataclass
class Stopped(Event):
    """The person stopped the answer; its text is kept. `turn` is None if nothing was written."""

    turn: Turn | None


@dataclass
class Failed(Event):
    """The answer failed; `reason` names the next step. `turn` holds the text written until then, if any."""

    reason: str
    turn: Turn | None


@dataclass
class Troubled(Message):
    """Work other than an answer failed; `reason` names the next step."""

    reason: str


@dataclass
class Ready(Message):
    """The model is loaded. `refused` says why its adapter is not used; "" if it is used or there is no adapter."""

    model: str
    refused: str = ""


@dataclass
class Missing(Message):
    """Model files are missing; `size` is their total in bytes, 0 if unknown."""

    names: tuple[str, ...]
    size: int


@dataclass
class Fetching(Message):
    """The progress of a download: `doing` says for the person what is done now.

    `done` and `total` are bytes; `total` is 0 if unknown.
    """

    doing: str
    done: int
    total: int


@dataclass
class Linked(Message):
    """The state of the link to the companion server has changed."""

    standing: Standing


@dataclass
class Read(Message, bubble=False):
    """The progress of reading files has changed."""

    reading: Reading


class Broken(Message):
    """A programming error in a thread of `tui/edge`, to be raised in the screen's thread."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
