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

_ADDRESS = "Look whether the address is right, then: jackdaw connect URL"
_LATER = "Try again later, or ask whoever runs it."
_UPDATE = "Update the older of the two: Jackdaw here, or the server."

REMEDIES: Mapping[Cause, str] = {
    "token": "Pair again (jackdaw-server pair), or ask whoever runs it for a token: jackdaw connect URL",
    "crowded": "Jackdaw is open elsewhere with this token: close it there, or ask for another token for this device.",
    "certificate": "Pair with the server (jackdaw-server pair), renew its certificate, or name the authority that "
    "signed it: jackdaw connect URL --authority FILE",
    "key": "Was it changed on the server? Pair again: jackdaw-server pair. If not, somebody stands in between.",
    "insecure": "Look whether the address begins with ws:// or wss:// as the server has it, then: jackdaw connect URL",
    "elsewhere": "Ask whoever runs it where it is now, then: jackdaw connect ADDRESS",
    "stranger": _ADDRESS,
    "version": _UPDATE,
    "protocol": _UPDATE,
    "unreachable": "Is it running, and are both on one network? Leave it for good: jackdaw disconnect",
    "lost": "Is the network steady? It is tried again by itself.",
    "silent": "Is it running, and is the network steady? It is tried again by itself.",
    "busy": _LATER,
    "ending": _LATER,
    "failing": _LATER,
    "crashed": "Start Jackdaw again, and tell its makers.",
}
"""The step for a person to take on each problem; URL stands for the server's address."""

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
    """Return the cause of a connection's end from its close code; None is an end without a code."""
    return "lost" if code is None else _CODES.get(code, "protocol" if 4000 <= code < 5000 else "failing")


def of_status(status: int) -> Cause:
    """Return the cause from an HTTP status other than 101 in reply to the request to connect."""
    causes: Mapping[int, Cause] = {401: "token", 429: "crowded", 503: "busy"}
    if 300 <= status < 400:
        return "elsewhere"
    return causes.get(status, "failing" if status >= 500 else "stranger")
