"""Passages that the server finds for a question: only the question leaves the device. The device's end of a search."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from queue import SimpleQueue

from device_app.companion import waiting
from device_app.companion.link.link import Link
from device_app.companion.link.request import RequestEvent
from device_app.companion.waiting import next_event
from models.sampling import SamplingSettings
from shared.errors import LinkError
from shared.protocol import messages as m
from shared.protocol.device import Lost


@dataclass(slots=True)
class Search:
    """A search: what came, after how many seconds, and the bytes that left for it, whatever came."""

    passages: Sequence[m.PublicPassage] = ()
    seconds: float = 0.0
    sent_bytes: int = 0

    def run(self, link: Link, question: str, passages: int) -> None:
        """Ask for so many passages at the most. Raises LinkError where none can come, and why."""
        inbox: SimpleQueue[RequestEvent] = SimpleQueue()
        started = time.monotonic()
        ask = m.Ask(
            request=1,
            question=question,
            generate=False,
            passages=passages,
            max_tokens=1,
            credit=0,
            sampling=m.Sampling(**asdict(SamplingSettings())),
        )
        request = link.ask(ask, lambda _, event: inbox.put(event))
        try:
            self.passages = _sources(inbox, started + waiting.LIMITS.passages_s)
            self.seconds = time.monotonic() - started
        except LinkError as error:
            raise LinkError(link.blamed(str(error))) from None
        finally:
            request.cancel()
            self.sent_bytes = request.sent_bytes


def _sources(inbox: SimpleQueue[RequestEvent], deadline: float) -> Sequence[m.PublicPassage]:
    while event := next_event(inbox, deadline):
        match event:
            case m.Sources(_, passages):
                return passages
            case m.Failed(_, code, message):
                raise LinkError(message or f"it could not search ({code})")
            case m.Finished():
                raise LinkError("it ended what it had not begun")
            case Lost(_, why):
                raise LinkError(why or "it has lost this question")
    raise LinkError("it did not say in time what it has found")
