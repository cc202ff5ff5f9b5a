"""The state of the link to the companion server, for commands that show it, and remedies for its problems."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from device_app.companion import waiting
from device_app.companion.link import credentials
from shared.cli.output import console
from shared.errors import JackdawError, StoreCorrupt

if TYPE_CHECKING:
    from device_app.companion.link.causes import Cause
    from device_app.companion.link.link import Link
    from device_app.companion.link.state import LinkState
    from device_app.device import Device


@dataclass(frozen=True, slots=True)
class Standing:
    """A server and the state of its link; unknown values are None. If it is not connected, `why` is the reason in
    words, and `cause` the kind of problem by which `remedy` chooses its advice.

    `refused` is true if only the person can fix the problem. `round_trip_ms` is measured once. `same_vocabulary`: its
    model has the vocabulary of this device's. `receives` are the kinds of the person's data that the server may
    receive. `privacy` is `link.privacy`. `model_only`: the server also answers requests that need no file.
    """

    url: str | None
    allowed: bool
    connected: bool = False
    why: str = ""
    refused: bool = False
    round_trip_ms: float | None = None
    model: str | None = None
    same_vocabulary: bool | None = None
    receives: tuple[str, ...] = ()
    cause: "Cause | None" = None
    privacy: str = "drafts"
    model_only: bool | None = None

    def summary(self) -> str:
        """Return the state of the link in lines for a person."""
        if self.url is None:
            return self.why
        if not self.allowed:
            return (
                f"{self.url}: nothing is sent, because link.allowed is off\n"
                "To allow sending: jackdaw config set link.allowed true"
            )
        if not self.connected:
            return f"{self.url}: not connected: {self.why}\nQuestions are answered on this device alone meanwhile."
        trip = "" if self.round_trip_ms is None else f", {self.round_trip_ms:.1f} ms round trip"
        handover = (
            "the same vocabulary as your model"
            if self.same_vocabulary
            else "another vocabulary: answers move to the server as text"
        )
        takes = {
            "question": "questions, and requests that need no file" if self.model_only else "questions",
            "answer": "the beginnings of answers that move to the server",
            "drafts": "drafts of answers that both sides write, with --together or link.together = fitting"
            + (", with your model's token probabilities (link.privacy = open)" if self.privacy == "open" else ""),
        }
        return (
            f"{self.url}: connected{trip}\nIt answers with {self.model} ({handover}).\n"
            f"It may receive {'; '.join(takes[kind] for kind in self.receives) or 'nothing'}; your files never."
        )


def standing(device: "Device") -> Standing | None:
    """Connect to the server and return the state of its link; None if this device has no server.

    No connection is made if nothing may be sent. Errors are part of the returned value, not raised.
    """
    allowed = device.settings.link.allowed
    try:
        stored = credentials.load(device.paths.link)
    except StoreCorrupt as error:
        return Standing(None, allowed, why=str(error), refused=True)
    if stored is None or not allowed:
        return Standing(stored.url, allowed) if stored else None
    from device_app.companion.opening import open_link

    try:
        with _patience(stored.url):
            link = open_link(device, stored)
            try:
                state, by_text = _settled(link, waiting.LIMITS.check_s), link.by_text
            finally:
                link.close()
    except JackdawError as error:  # the model whose vocabulary is compared is not here
        return Standing(stored.url, allowed, why=str(error))
    offer = state.offer
    if offer is None or not state.connected:
        why = state.why or f"the server did not answer within {waiting.LIMITS.check_s:g} s"
        return Standing(stored.url, allowed, why=why, refused=state.phase == "refused", cause=state.cause or "silent")
    trip = None if state.round_trip_s is None else round(state.round_trip_s * 1000, 2)
    return Standing(
        stored.url,
        allowed,
        connected=True,
        round_trip_ms=trip,
        model=offer.model,
        same_vocabulary=not by_text,
        receives=tuple(offer.receives),
        privacy=device.settings.link.privacy,
        model_only=offer.model_only,
    )


def remedy(standing: Standing) -> str:
    """Return what a person can do about a server that cannot be reached, or refuses; "" if `why` says it already."""
    if standing.url is None:
        return "Run: jackdaw connect URL"
    from device_app.companion.link.causes import REMEDIES

    return REMEDIES[standing.cause].replace("URL", standing.url) if standing.cause else ""  # else `why` says it


def _settled(link: "Link", seconds: float) -> "LinkState":
    """Wait until the round trip is measured, the link fails or time runs out; return the link's state."""
    changed, end = threading.Event(), time.monotonic() + seconds
    with link.watched(lambda _: changed.set()):
        while link.state.phase == "connecting" or (link.state.connected and link.state.round_trip_s is None):
            if not changed.wait(max(end - time.monotonic(), 0)):
                break
            changed.clear()
    return link.state


@contextmanager
def _patience(url: str) -> Iterator[None]:
    """Show a line on stderr while waiting for the server, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with console(sys.stderr).status(f"Asking {url} …"):
        yield
