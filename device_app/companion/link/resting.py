"""Periods (rests) in which all processes of this device avoid a server that broke the protocol; one small file.

Times are of the monotonic clock, which all processes share until the machine restarts: a rest that begins in the future
was recorded before a restart, and is over.
"""

import hashlib
import logging
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from device_app.companion.link.credentials import Credentials
from shared.errors import NotWritable
from storage.private import write_private

FIRST_REST_S, MOST_REST_S = 60.0, 3600.0
"""The seconds of the first and of the longest rest; a rest within `MOST_REST_S` of the last one is twice as long."""

_MOST_BYTES = 10_000

log = logging.getLogger(__name__)


class _Rest(Struct, frozen=True):
    """A period in which a server is avoided, its reason `why`, and `server`, a hash of the address and the token."""

    server: str
    until: float
    seconds: float
    why: str


class Resting:
    """The periods in which one server is avoided with one token, stored in a file or, without one, in memory."""

    def __init__(self, credentials: Credentials, file: Path | None = None) -> None:
        # Keyed by a hash, as the token is a secret; with another token there is no rest.
        self._server = hashlib.sha256(f"{credentials.url}\n{credentials.token}".encode()).hexdigest()
        self._file = file
        self._last: _Rest | None = None

    def left(self) -> tuple[float, str]:
        """Return the seconds left of the current rest and its reason; 0 seconds if there is no rest."""
        last = self._noted()
        left = last.until - time.monotonic() if last else 0.0
        return (left, last.why) if last and left > 0 else (0.0, "")

    def begin(self, why: str) -> float:
        """Begin a rest, a period in which the server is avoided, for the reason `why`; return its length in seconds."""
        last, now = self._noted(), time.monotonic()
        again = last is not None and now - last.until < MOST_REST_S
        seconds = min(2 * last.seconds, MOST_REST_S) if last and again else FIRST_REST_S
        self._last = _Rest(self._server, now + seconds, seconds, why)
        if self._file:
            try:
                write_private(self._file, msgspec.json.encode(self._last).decode())
            except NotWritable as error:
                log.warning("%s", error)
        return seconds

    def _noted(self) -> _Rest | None:
        kept = self._kept() or self._last
        # The same sum as in `begin`, so that it is rounded alike.
        return kept if kept and kept.until <= time.monotonic() + kept.seconds else None

    def _kept(self) -> _Rest | None:
        if self._file is None:
            return None
        try:
            with self._file.open("rb") as stream:
                kept = msgspec.json.decode(stream.read(_MOST_BYTES), type=_Rest)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        return kept if kept.server == self._server and 0 < kept.seconds <= MOST_REST_S else None


def in_words(why: str, seconds: float) -> str:
    """Return why a server is avoided and for how long, as a phrase for the person."""
    return f"{why}; the server is not asked for {seconds:.0f} s"
