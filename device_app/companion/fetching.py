"""Fetches passages from the server for a question; only the question leaves the device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from queue import SimpleQueue
from typing import TYPE_CHECKING, Self

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


class Search:
    """A search on the server, a context manager that sends the question; `wait` then waits for the passages.

    Afterwards it has the passages, the seconds until they came, the server's rounds of retrieval, and the bytes sent,
    which are counted even if nothing came back. Entering and waiting raise LinkError, with the reason.
    """

    def __init__(self, link: Link, question: str, passages: int, pipeline: m.ChosenPipeline = "") -> None:
        """Prepare a search for at most `passages` passages, by this pipeline; if "", the server chooses."""
        self.passages: Sequence[m.PublicPassage] = ()
        self.seconds, self.sent_bytes, self.rounds = 0.0, 0, Rounds()
        self._link = link
        self._limit_s = waiting.LIMITS.sources_s if pipeline else waiting.LIMITS.passages_s
        self._ask = m.Ask(
            request=1,
            question=question,
            generate=False,
            passages=passages,
            max_tokens=1,
            credit=0,
            sampling=m.Sampling(**asdict(SamplingSettings())),
            pipeline=pipeline,
        )
        self._inbox: SimpleQueue[tuple[float, RequestEvent]] = SimpleQueue()
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        """Send the question."""
        self._started = time.monotonic()
        self._request = self._link.ask(self._ask, lambda _, event: self._inbox.put((time.monotonic(), event)))
        return self

    def __exit__(self, *_: object) -> None:
        """End the search, whatever came of it."""
        self._request.cancel()
        self.sent_bytes = self._request.sent_bytes

    def wait(self) -> None:
        """Wait for the passages, up to a limit from when the question was sent."""
        try:
            self._receive()
        except LinkError as error:
            raise LinkError(self._link.blamed(str(error))) from None

    def _receive(self) -> None:
        """Wait for the passages. Each round of retrieval restarts the time limit, up to an overall limit."""
        deadline = self._started + self._limit_s
        while arrival := next_event(self._inbox, deadline):
            arrived, event = arrival
            match event:
                case m.Sources(_, passages):
                    self.passages, self.seconds = passages, arrived - self._started
                    return
                case m.Round():
                    self.rounds.add(event)
                    deadline = min(arrived + self._limit_s, self._started + waiting.LIMITS.rounds_s)
                case m.Failed(_, code, message):
                    raise LinkError(message or f"the server could not search ({code})")
                case m.Finished():
                    raise LinkError("the server ended an answer that it had not begun")
                case Lost(_, why):
                    raise LinkError(why or "the server lost this question")
        raise LinkError("the server's passages did not come in time")
