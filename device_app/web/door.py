"""Access control: only the first browser with the token is let in, and no page of another site. Independent of sockets.

The token in the printed address can be used once: the browser gets a cookie for it. The Host header is checked against
DNS rebinding, the Origin header against requests from other pages: cookies are not bound to ports nor, in old browsers,
to sites.
"""

import ipaddress
import secrets
from dataclasses import dataclass, field
from enum import Enum, auto

_BYTES = 32


class Verdict(Enum):
    """The decision about a request: whether it is let in, gets a cookie for its token, or is refused, and why."""

    SERVE = auto()
    EXCHANGE = auto()  # valid token: set the cookie and redirect to the address without the token
    ELSEWHERE = auto()  # addressed to another host name, or sent by another page
    USED = auto()  # the token was used by another browser before
    STRANGER = auto()  # neither the token nor the cookie is valid


@dataclass(frozen=True, slots=True)
class Request:
    """The parts of a request that decide about access; a missing part is None.

    `is_socket`: whether the page opens its WebSocket, through which it shows the app.
    """

    host: str | None
    origin: str | None
    is_socket: bool = False
    token: str | None = None
    cookie: str | None = None


@dataclass(slots=True)
class Door:
    """The access control of one server. `origin` is its scheme, host and port, as browsers write them.

    `token` is part of the printed address; `cookie` is the secret value that the first browser gets for it.
    """

    origin: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    _used: bool = False

    @property
    def authority(self) -> str:
        """The value expected in a request's Host header."""
        return self.origin.partition("://")[2]

    def decide(self, request: Request) -> Verdict:
        """Return the decision about the request. A valid token is used up by this call."""
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
    """Return whether the host name or address is reachable from this device alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _same(given: str | None, expected: str) -> bool:
    """Return whether two strings are equal, in constant time, so that timing does not reveal where they differ."""
    return secrets.compare_digest((given or "").encode("utf-8", "surrogateescape"), expected.encode())
