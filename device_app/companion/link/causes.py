"""Possible problems between this device and its server, and how a person fixes them. Pure."""

from collections.abc import Mapping
from typing import Literal

from shared.protocol.messages import CloseCode

Cause = Literal[
    "token",  # unknown to the server
    "crowded",  # too many connections with this token
    "certificate",
    "key",  # the server's key has changed since pairing
    "insecure",  # no TLS at the other end, or an incompatible one
    "elsewhere",
    "stranger",  # no companion server answers at the address
    "version",
    "protocol",  # the server breaks it
    "unreachable",
    "lost",
    "silent",
    "busy",
    "ending",
    "failing",  # the server reports a failure
    "crashed",  # the link's own thread
]

_ADDRESS = "Check the server's address, then: jackdaw connect URL"
_LATER = "Try again later, or ask the person who runs the server."
_UPDATE = "Update Jackdaw on this device or on the server, whichever is older."

REMEDIES: Mapping[Cause, str] = {
    "token": "Pair again (jackdaw-server pair), or ask the server's owner for a token: jackdaw connect URL",
    "crowded": "Jackdaw is open on another device with this token. Close that one, or ask for a token for this device.",
    "certificate": "Pair with the server (jackdaw-server pair), renew its certificate, or name the authority that "
    "signed it: jackdaw connect URL --authority FILE",
    "key": "If the server's key was changed, pair again: jackdaw-server pair. If not, "
    "somebody intercepts the connection.",
    "insecure": "Check whether the server's address begins with ws:// or wss://, then: jackdaw connect URL",
    "elsewhere": "Ask the server's owner for its new address, then: jackdaw connect ADDRESS",
    "stranger": _ADDRESS,
    "version": _UPDATE,
    "protocol": _UPDATE,
    "unreachable": "Is the server running and on the same network? To disconnect for good: jackdaw disconnect",
    "lost": "Is the network steady? Jackdaw reconnects by itself.",
    "silent": "Is the server running and the network steady? Jackdaw reconnects by itself.",
    "busy": _LATER,
    "ending": _LATER,
    "failing": _LATER,
    "crashed": "Start Jackdaw again, and report the problem to its makers.",
}
"""The remedy for each problem, as shown to the person; URL stands for the server's address."""

_CODES: Mapping[int, Cause] = {
    CloseCode.DONE: "ending",
    1001: "ending",
    CloseCode.TOO_LARGE: "protocol",
    CloseCode.RESTARTING: "ending",
    CloseCode.BUSY: "busy",
    CloseCode.VERSION: "version",
    CloseCode.SLOW: "lost",
}


def of_code(code: int | None) -> Cause:
    """Return the cause of a connection's end from its close code; None means that there was no code."""
    return "lost" if code is None else _CODES.get(code, "protocol" if 4000 <= code < 5000 else "failing")


def of_status(status: int) -> Cause:
    """Return the cause from an HTTP status other than 101 in reply to the request to connect."""
    causes: Mapping[int, Cause] = {401: "token", 429: "crowded", 503: "busy"}
    if 300 <= status < 400:
        return "elsewhere"
    return causes.get(status, "failing" if status >= 500 else "stranger")
