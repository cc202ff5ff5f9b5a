"""The state of the connection to a companion server, to read, wait for or watch."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from device_app.companion.link.causes import Cause
from device_app.question.answer import AT
from shared.printable import safe_line
from shared.protocol import messages as m

MOST_WHY = 300
"""The most characters of a server's text that are shown to a person."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """The state of the connection. What is wrong: `cause` is the kind of problem, `why` a phrase with its details.

    In the phase `waiting` the next attempt follows after `retry_s` seconds; in `leaving` the server finishes its
    answers and takes no others; in `refused` there is no other attempt, as only the person can solve the problem.
    `offer` holds the properties of a connected server, `server` is its host and port.
    """

    phase: Literal["connecting", "connected", "leaving", "waiting", "refused", "closed"]
    offer: m.Offer | None = None
    round_trip_s: float | None = None
    why: str = ""
    retry_s: float | None = None
    cause: Cause | None = None
    server: str = ""

    @property
    def connected(self) -> bool:
        """Whether a request can be sent now."""
        return self.phase == "connected"

    @property
    def answering(self) -> bool:
        """Whether open requests are still answered; a server that shuts down finishes them."""
        return self.phase in ("connected", "leaving")

    def why_not(self) -> str:
        """Return why no question can be asked now, as a sentence."""
        waiting = {"connecting": "the server has not answered yet; see: jackdaw status"}
        why = self.why.rstrip(".") or waiting.get(self.phase, f"the server cannot be asked: {self.phase}")
        if self.server:
            clause = why.replace("the server ", "it ", 1) if why.startswith("the server ") else why
            why = f"{AT}{self.server} cannot be asked: {clause}"
        return f"{why[0].upper()}{why[1:]}."


class CurrentState:
    """The latest state of a link, to read, wait for or watch."""

    def __init__(self, server: str, lock: threading.RLock) -> None:
        """Begin in the state of connecting; `server` is host and port, `lock` the link's lock, which may be held."""
        self.state = LinkState("connecting", server=server)
        self._server, self._lock = server, lock
        self._settled = threading.Event()
        self._watchers: tuple[Callable[[LinkState], None], ...] = ()

    def wait(self, seconds: float) -> LinkState:
        """Wait until the first state is published, at most `seconds`, and return the state."""
        self._settled.wait(seconds)
        return self.state

    @contextmanager
    def watched(self, changed: Callable[[LinkState], None]) -> Iterator[None]:
        """While in this context, call `changed` with every new state, on the publishing thread and under its lock."""
        with self._lock:
            self._watchers = (*self._watchers, changed)
        try:
            yield
        finally:
            with self._lock:
                self._watchers = tuple(watcher for watcher in self._watchers if watcher is not changed)

    def publish(self, state: LinkState) -> None:
        """Set the state, with the server's name added and its text made safe to show, and call the watchers."""
        self.state = replace(state, why=safe_line(state.why)[:MOST_WHY], server=self._server)
        self._settled.set()
        for changed in self._watchers:
            changed(self.state)
