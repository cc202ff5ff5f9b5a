"""The operations that a pipeline may use for one request of a device, or for one question of a measurement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from cloud_server.engine.jobs import Done, Job
from cloud_server.pipelines.provisional import Prompts
from cloud_server.pipelines.writing import Writing
from shared.protocol import messages as m

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Round:
    """A round of retrieval: its pipeline, the queries, and the passages found, the best first."""

    pipeline: m.Pipeline
    queries: Sequence[str]
    passages: Sequence[m.PublicPassage]


class Turn(Protocol):
    """The interface between a pipeline and one request: what was asked, and the operations that the pipeline may use.

    Any method may raise RequestOver.
    """

    @property
    def ask(self) -> m.Ask:
        """The device's request."""

    @property
    def version(self) -> int:
        """The protocol version that the device speaks."""

    @property
    def passages(self) -> list[m.PublicPassage]:
        """The passages to write the answer from, the best first; empty before `cite` is called."""

    async def compute(
        self, work: Callable[[], Result], provisional: Prompts | None = None, *, searches: bool = False
    ) -> Result:
        """Run `work` outside the event loop, one at a time for all devices of an access token. Work that `searches`
        may wait for a disk; other work, such as embedding and tokenising, is never delayed by that.

        While `work` runs, the prompts of `provisional` are prefilled. An error in `work` fails the request.
        """

    def later(self, work: Callable[[], None]) -> None:
        """Run `work` outside the event loop, even if the request ends meanwhile. Never raises RequestOver."""

    def may_search(self, count: int) -> bool:
        """Return whether the access token may search `count` times now, and charge the searches to its quota."""

    def draft(self, job: Job) -> Writing | None:
        """Queue a job whose text is not sent to the device; None if the engine has no room or the quota is spent."""

    def note(self, looked_up: Round) -> None:
        """Send a round of retrieval to the device, if its protocol version and its queue of events allow that. May be
        called until the request ends.
        """

    def cite(self, passages: list[m.PublicPassage]) -> None:
        """Send the device the passages from which the answer will be written. Called at most once."""

    def say(self, tokens: Sequence[tuple[int, str]]) -> None:
        """Send the answer's next tokens and their text to the device."""

    def end(self, done: Done) -> None:
        """End the answer; the tokens sent so far are the whole answer."""

    def write(self, job: Job, begin: m.Ask | m.Start) -> None:
        """Queue the job that continues the answer after the tokens accepted in `begin` and the tokens sent since."""
