"""For how long a server that broke the protocol is left alone, by every process of this device: one small file.

Times are of the monotonic clock, which all processes share until the machine is started again: a rest whose beginning
is yet to come was noted before that, and is over.
"""

import hashlib
import logging
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from device_app.companion.link.credentials import Credentials
from shared.errors import NotWritable
from storage.paths import write_private

FIRST_REST_S, MOST_REST_S = 60.0, 3600.0
"""After the first time and at the most; each time within `MOST_REST_S` of the last rest doubles it."""

_MOST_BYTES = 10_000

log = logging.getLogger(__name__)


class _Rest(Struct, frozen=True):
    """Whose it is, until when, how long it was, and why."""

    server: str
    until: float
    seconds: float
    why: str


class Resting:
    """What is noted of one server and token in the file; of none, for as long as the process lives."""

    def __init__(self, credentials: Credentials, file: Path | None = None) -> None:
        # By a hash, as the token is a secret; whoever connects with another begins without a rest.
        self._server = hashlib.sha256(f"{credentials.url}\n{credentials.token}".encode()).hexdigest()
        self._file = file
        self._last: _Rest | None = None

    def left(self) -> tuple[float, str]:
        """Seconds that are left of the rest, 0 for none, and what it is for."""
        last = self._noted()
        left = last.until - time.monotonic() if last else 0.0
        return (left, last.why) if last and left > 0 else (0.0, "")

    def begin(self, why: str) -> float:
        """Rest from now on, and note it; for how many seconds."""
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
        # Summed up as in `begin`: the same sum is rounded alike.
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
    """Why a server is left alone and for how long, for a person."""
    return f"{why}; nothing is asked of it for {seconds:.0f} s"
