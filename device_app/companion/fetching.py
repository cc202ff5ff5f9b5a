"""Fetches passages from the server for a question; only the question leaves the device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING

from device_app.companion import waiting
from device_app.companion.link.request import RequestEvent
from device_app.companion.rounds import Rounds
from device_app.companion.waiting import next_event
from models.sampling import SamplingSettings
from shared.errors import LinkError
from shared.protocol import messages as m
from shared.protocol.device import Lost

if TYPE_CHECKING:
    from device_app.companion.link.link import Link


@dataclass(slots=True)
class Search:
    """A search on the server: its passages, the seconds until they came, the rounds of retrieval, and the bytes sent.

    The bytes are counted even if no passages came.
    """

    passages: Sequence[m.PublicPassage] = ()
    seconds: float = 0.0
    sent_bytes: int = 0
    rounds: Rounds = field(default_factory=Rounds)

    def run(self, link: Link, question: str, passages: int, pipeline: m.ChosenPipeline = "") -> None:
        """Fetch at most `passages` passages into this object, by this pipeline; if "", the server chooses.

        Raises LinkError, with the reason, if none can come.
        """
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
            pipeline=pipeline,
        )
        request = link.ask(ask, lambda _, event: inbox.put(event))
        try:
            limit = waiting.LIMITS.sources_s if pipeline else waiting.LIMITS.passages_s
            self.passages = self._sources(inbox, started, limit)
            self.seconds = time.monotonic() - started
        except LinkError as error:
            raise LinkError(link.blamed(str(error))) from None
        finally:
            request.cancel()
            self.sent_bytes = request.sent_bytes

    def _sources(self, inbox: SimpleQueue[RequestEvent], started: float, limit: float) -> Sequence[m.PublicPassage]:
        """Wait for the passages: `limit` seconds from `started` and from each round, up to an overall limit."""
        deadline = started + limit
        while event := next_event(inbox, deadline):
            match event:
                case m.Sources(_, passages):
                    return passages
                case m.Round():
                    self.rounds.add(event)
                    deadline = min(time.monotonic() + limit, started + waiting.LIMITS.rounds_s)
                case m.Failed(_, code, message):
                    raise LinkError(message or f"the server could not search ({code})")
                case m.Finished():
                    raise LinkError("the server ended an answer that it had not begun")
                case Lost(_, why):
                    raise LinkError(why or "the server lost this question")
        raise LinkError("the server's passages did not come in time")
