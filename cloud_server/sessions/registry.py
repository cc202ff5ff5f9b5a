"""All sessions of the server, connected or not: their resumption and expiry, and the request to which each job
belongs.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from itertools import count

from cloud_server.access.quota import Quota
from cloud_server.engine.jobs import Draft, EngineEvent, Supplied, Token
from cloud_server.monitoring.unforeseen import log_unforeseen
from cloud_server.sessions.client import Client
from cloud_server.sessions.connection import Connection
from cloud_server.sessions.requests import Requests
from cloud_server.sessions.services import RequestServices
from cloud_server.settings import Limits
from shared.protocol import messages as m
from shared.protocol.server import ServerSession

SWEEP_S = 0.25

log = logging.getLogger(__name__)


class Sessions:
    """The server's sessions, on the event loop's thread. A disconnected session can be resumed for `offer.resume_for_s`
    seconds.
    """

    def __init__(self, offer: m.Offer, limits: Limits) -> None:
        self.offer = offer
        self._limits = limits
        self._clients: dict[str, Client] = {}
        self._quotas: dict[str, Quota] = {}
        self._jobs: dict[int, tuple[Requests, int]] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        """Return the number of sessions, connected or not."""
        return len(self._clients)

    def all(self) -> list[Client]:
        """Return all sessions."""
        return list(self._clients.values())

    @property
    def connected(self) -> int:
        """The number of connected sessions."""
        return sum(client.connection is not None for client in self._clients.values())

    @property
    def busy(self) -> bool:
        """Whether a request of a connected device is being answered."""
        return any(client.busy and client.connection is not None for client in self._clients.values())

    def quota(self, name: str) -> Quota:
        """Return the quota of the token with this name."""
        if name not in self._quotas:
            self._quotas[name] = Quota(self._limits, time.monotonic())
        return self._quotas[name]

    @property
    def quotas(self) -> Mapping[str, Quota]:
        """The quotas of all tokens used so far, by token name."""
        return self._quotas

    def client(self, hello: m.Hello, name: str, parts: RequestServices) -> Client:
        """Return the session that the device's Hello resumes, if it belongs to the access token called `name`; else a
        new session.
        """
        if hello.resume and (client := self._clients.get(hello.resume.session)) and client.name == name:
            return client
        session = ServerSession(secrets.token_hex(16), self.offer)
        client = self._clients[session.id] = Client(session, name, parts, self, self.quota(name))
        return client

    def forget(self, client: Client) -> None:
        """End a session, which cannot be resumed afterwards."""
        self._clients.pop(client.session.id, None)
        client.end()

    def forget_broken(self, client: Client) -> None:
        """End a session after an error; an error in ending it is only logged."""
        try:
            self.forget(client)
        except Exception as error:
            log_unforeseen(log, "a failed session could not be ended", error, client=client.name)

    def forget_connection(self, connection: Connection) -> None:
        """End the session that uses the connection, if there is one; it cannot be resumed afterwards."""
        for client in self.all():
            if client.connection is connection:
                self.forget(client)

    def taken(self, requests: Requests, request: int) -> int:
        """Return a new job key, under which the job's events reach the request."""
        key = next(self._numbers)
        self._jobs[key] = (requests, request)
        return key

    def given_back(self, key: int) -> None:
        """Forget a job key: no more events will come for the job."""
        self._jobs.pop(key, None)

    def written(self, events: Sequence[EngineEvent], spent: Mapping[str, int]) -> None:
        """Deliver and send the events of a generation step, and charge the tokens computed, in `spent` by access
        token's name, to the quotas.
        """
        now = time.monotonic()
        for name, tokens in spent.items():
            self.quota(name).computed(now, tokens)
        touched: dict[Requests, dict[int, None]] = {}
        for event in events:
            if job := self._jobs.get(event.key):
                requests, request = job
                requests.written(event, request)
                touched.setdefault(requests, {})[request] = None
            elif not isinstance(event, Token | Draft | Supplied):
                self._jobs.pop(event.key, None)
        for requests, numbers in touched.items():
            requests.flush(numbers)

    async def sweep(self) -> None:
        """Forever, end expired sessions and cut slow connections.

        A session for which this fails is ended, too.
        """
        while True:
            await asyncio.sleep(SWEEP_S)
            now = time.monotonic()
            for client in self.all():
                try:
                    self._look_at(client, now)
                except Exception as error:
                    log_unforeseen(log, "a session failed with an error", error, client=client.name)
                    self.forget_broken(client)

    def _look_at(self, client: Client, now: float) -> None:
        if client.cut_at is not None and now - client.cut_at > self.offer.resume_for_s:
            self.forget(client)
        else:
            client.cut_if_slow(now)

    def say(self, message: m.Goaway | m.Closing) -> None:
        """Send the message to every connected device."""
        for client in self._clients.values():
            client.say(message)
