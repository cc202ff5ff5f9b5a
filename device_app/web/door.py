"""Who may come in by the browser: the one that brought the token first, and no page of anybody else. Knows no socket.

The token in the printed address serves once: it is exchanged for a cookie. Host is compared against DNS rebinding,
Origin against other pages: cookies tell neither ports nor, on old browsers, sites apart.
"""

import ipaddress
import secrets
from dataclasses import dataclass, field
from enum import Enum, auto

_BYTES = 32


class Verdict(Enum):
    """What becomes of a request."""

    SERVE = auto()
    EXCHANGE = auto()  # the token was good: set the cookie, and leave the token out of the address
    ELSEWHERE = auto()  # meant for another name or sent by another page
    USED = auto()  # another browser has brought the token before
    STRANGER = auto()


@dataclass(frozen=True, slots=True)
class Request:
    """What of a request decides; None is what it lacks."""

    host: str | None
    origin: str | None
    is_socket: bool = False
    token: str | None = None
    cookie: str | None = None


@dataclass(slots=True)
class Door:
    """The door of one server. `origin` is its scheme, host and port, as browsers write them."""

    origin: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    _used: bool = False

    @property
    def authority(self) -> str:
        """What the Host header has to be."""
        return self.origin.partition("://")[2]

    def decide(self, request: Request) -> Verdict:
        """What becomes of the request. A token that is good is used up by it."""
        elsewhere = request.origin is not None and request.origin != self.origin
        if request.host != self.authority or elsewhere or (request.is_socket and request.origin is None):
            return Verdict.ELSEWHERE
        known = _same(request.cookie, self.cookie)
        if _same(request.token, self.token) and not request.is_socket:
            if self._used and not known:
                return Verdict.USED
            self._used = True
            return Verdict.EXCHANGE
        return Verdict.SERVE if known else Verdict.STRANGER


def is_loopback(host: str) -> bool:
    """Whether nobody but this device can reach it there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _same(given: str | None, expected: str) -> bool:
    """In a time that tells nothing about where they differ."""
    return secrets.compare_digest((given or "").encode("utf-8", "surrogateescape"), expected.encode())
