"""What a pipeline may do for one request; a request of a device is one, and a question that is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cloud_server.engine.jobs import Done, Job
from cloud_server.pipelines.writing import Writing
from shared.protocol import messages as m

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Round:
    """A round of retrieval: what was looked up by which pipeline, and what that found, the best first."""

    pipeline: m.Pipeline
    queries: Sequence[str]
    passages: Sequence[m.PublicPassage]


class Turn(Protocol):
    """Any method raises RequestOver."""

    @property
    def ask(self) -> m.Ask:
        """What the device has asked."""

    @property
    def version(self) -> int:
        """Of the protocol, that the device speaks."""

    @property
    def passages(self) -> list[m.PublicPassage]:
        """What the answer is to be written from, the best first; empty before `cite`."""

    async def compute(self, work: Callable[[], Result]) -> Result:
        """Search or tokenise outside the event loop, one piece of work of a token's devices at a time.

        What goes wrong in it fails the request.
        """

    def later(self, work: Callable[[], None]) -> None:
        """Do this outside the event loop, whatever becomes of the request meanwhile. Never raises RequestOver."""

    def may_search(self, count: int) -> bool:
        """Whether the token may search so often now, which is counted then."""

    def draft(self, job: Job) -> Writing | None:
        """Queue a job whose text the device does not get; None where there is no room or budget for it."""

    def note(self, looked_up: Round) -> None:
        """Tell the device what was looked up, as far as it has words and room for that: at any time before the end."""

    def cite(self, passages: list[m.PublicPassage]) -> None:
        """Say from which passages the answer will be written; once."""

    def say(self, tokens: Sequence[tuple[int, str]]) -> None:
        """Let the device have the answer's next tokens, with their text."""

    def end(self, done: Done) -> None:
        """The answer is whole with what was said of it."""

    def write(self, job: Job, begin: m.Ask | m.Start) -> None:
        """Queue the job, which goes on from where `begin` says that the answer stands, and behind what was said."""
