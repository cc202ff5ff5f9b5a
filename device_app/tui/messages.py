"""What the edge tells the screen. Posted from its threads, read by the chat; plain facts, no behaviour."""

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
    """Something about the question with this ticket."""

    ticket: int


@dataclass
class FoundSources(Event):
    """What the answer will be drawn from, as its record will have them: again where more came."""

    sources: Sequence[Mapping[str, Any]]


@dataclass
class Wrote(Event):
    """A piece of the answer's text."""

    text: str


@dataclass
class Finished(Event):
    """The answer stands. `advice` says why nothing was found, where that is known."""

    turn: Turn
    advice: tuple[str, ...] = ()


@dataclass
class Stopped(Event):
    """The person stopped it; what was written is kept. `turn` is None where nothing had begun."""

    turn: Turn | None


@dataclass
class Failed(Event):
    """It failed, with a reason that says what to do next. `turn` is what was written until then."""

    reason: str
    turn: Turn | None


@dataclass
class Troubled(Message):
    """Something else failed, with a reason that says what to do next."""

    reason: str


@dataclass
class Ready(Message):
    """The model of this name can answer. `refused` says why its adapter is not used, "" where it is or it has none."""

    model: str
    refused: str = ""


@dataclass
class Missing(Message):
    """These model files are missing; `size` is in bytes, all together, 0 where it is not known."""

    names: tuple[str, ...]
    size: int


@dataclass
class Fetching(Message):
    """Bytes done and in all of a fetch; `total` is 0 where it is not known."""

    doing: str
    done: int
    total: int


@dataclass
class Linked(Message):
    """How the link to the companion server stands."""

    standing: Standing


@dataclass
class Read(Message, bubble=False):
    """How far the reading of files is."""

    reading: Reading


class Broken(Message):
    """A fault of ours in a thread of the edge: it is raised on the screen's side."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
