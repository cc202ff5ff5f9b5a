"""The requests of one device across its connections: admits requests and routes messages to them."""

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from cloud_server.access.quota import Quota
from cloud_server.engine.jobs import EngineEvent
from cloud_server.monitoring.unforeseen import log_unforeseen
from cloud_server.sessions.request import Request
from cloud_server.sessions.services import Device, RequestServices
from shared.errors import ProtocolError
from shared.protocol import messages as m
from shared.protocol.server import Arrived, ServerSession

Refusal = tuple[m.FailureCode, str, float | None]
"""A refused request's failure code, message, and seconds until a retry is allowed."""

log = logging.getLogger(__name__)


class Keys(Protocol):
    """The interface that maps the keys of jobs to requests."""

    def taken(self, requests: "Requests", request: int) -> int:
        """Return a new job key, under which the job's events reach the request."""

    def given_back(self, key: int) -> None:
        """Forget a job key: no more events will come for the job."""


class Requests:
    """The requests of one device that are being answered. `name` is its token's name; `send` sends the events of a
    request.
    """

    def __init__(
        self,
        session: ServerSession,
        name: str,
        parts: RequestServices,
        keys: Keys,
        quota: Quota,
        send: Callable[[m.Event], None],
    ) -> None:
        self._device = Device(session, name, parts, quota, send, partial(keys.taken, self), keys.given_back)
        self._requests: dict[int, Request] = {}

    def __len__(self) -> int:
        """Return the number of requests being answered."""
        return len(self._requests)

    def handle(self, message: Arrived) -> None:
        """Process a message of the device. Raises ProtocolError; any other error fails the message's request."""
        try:
            self._handle(message)
        except ProtocolError:
            raise
        except Exception as error:
            self._broke(getattr(message, "request", None), error)

    def _handle(self, message: Arrived) -> None:
        if isinstance(message, m.JointFromDevice):
            if (request := self._requests.get(message.request)) and request.joint:
                request.joint.on_message(message)
            return
        match message:
            case m.Ask():
                self._ask(message)
            case m.Start():
                if request := self._requests.get(message.request):
                    self._start(request, message)
            case m.Credit():
                if request := self._requests.get(message.request):
                    request.flush()
                    request.allow()
            case m.Acknowledge():
                for request in tuple(self._requests.values()):
                    if request.stands:
                        request.flush()
                        request.allow()
            case m.Cancel():
                if request := self._requests.get(message.request):
                    request.cancel()

    def written(self, event: EngineEvent, number: int) -> None:
        """Pass an engine event to the request with the given number, if it still runs; `flush` sends the result."""
        if request := self._requests.get(number):
            try:  # `guarded` per token would cost as much as encoding the token
                request.written(event)
            except Exception as error:
                self._broke(number, error)

    def flush(self, numbers: Iterable[int] | None = None) -> None:
        """Send the events and tokens that may be sent now, for the given requests or for all."""
        for number in tuple(self._requests) if numbers is None else numbers:
            if request := self._requests.get(number):
                try:
                    request.flush()
                except Exception as error:
                    self._broke(number, error)

    def look(self, now: float, cut_at: float | None) -> None:
        """End joint answers whose device has sent nothing for too long.

        `cut_at` is when the device's connection was lost; None if it is connected.
        """
        for request in tuple(self._requests.values()):
            if request.joint:
                request.joint.look(now, cut_at)

    def end(self) -> None:
        """Close all requests."""
        for request in tuple(self._requests.values()):
            request.close()

    def _ask(self, ask: m.Ask) -> None:
        number, device = ask.request, self._device
        request = self._requests[number] = Request(ask, device, lambda: self._forget(number))
        if ask.ahead:
            request.write_jointly()
        if refusal := self._refused(ask):
            request.fail(*refusal)
            return
        if device.parts.log_questions:
            log.info("asked", extra={"client": device.name, "question": ask.question})
        request.run(partial(device.parts.pipeline.answer, request))

    def _forget(self, number: int) -> None:
        self._requests.pop(number, None)

    def _start(self, request: Request, start: m.Start) -> None:
        if refusal := self._unknown(start) or self._used_up(time.monotonic()):
            request.fail(*refusal)
        else:
            request.run(partial(self._device.parts.pipeline.generate, request, start))

    def _refused(self, ask: m.Ask) -> Refusal | None:
        now, quota = time.monotonic(), self._device.quota
        if self._device.parts.draining():
            return "going_away", "The server is shutting down. Ask again in a minute.", None
        if ask.model_only and not self._device.parts.model_only:
            return "no_source", "This server writes answers from passages only.", None
        if unknown := self._unknown(ask):
            return unknown
        if ask.generate and (used_up := self._used_up(now)):
            return used_up
        if ask.passages or ask.sources:  # `sources` are also read from the index
            if wait := quota.searches_wait_s(now):
                return "limit", "This access token has used up its searches for this minute. Ask again later.", wait
            quota.searched(now)
        return None

    def _used_up(self, now: float) -> Refusal | None:
        wait = self._device.quota.tokens_wait_s(now)
        return (
            ("limit", "This access token has used up its model tokens for this minute. Ask again later.", wait)
            if wait
            else None
        )

    def _unknown(self, begin: m.Ask | m.Start) -> Refusal | None:
        if self._device.parts.answering.knows(begin.accepted):
            return None
        return "invalid", "The answer to continue holds a token outside the vocabulary of the server's model.", None

    def _broke(self, number: int | None, error: Exception) -> None:
        log_unforeseen(log, "failed", error, client=self._device.name)
        if number is not None and (request := self._requests.get(number)):
            request.give_up()
