"""Opens a connection to the companion server, and explains why an attempt or a connection failed."""

import ssl
from collections.abc import Mapping
from contextlib import AbstractContextManager
from logging import Logger
from typing import Any, NamedTuple

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from device_app.companion.link.causes import Cause, of_code, of_status
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.pinning import OtherKey, pinned
from shared.protocol import messages as m

CONNECT_S = 10.0

MOST_REFUSED_S = 3600.0
"""The longest time, in seconds, for which a server may keep this device from connecting again."""


class Parted(NamedTuple):
    """The end of a connection or of an attempt: its cause, and `why` in words; None if nothing was wrong.

    If `final`, there is no other attempt; else it follows after `wait_s` seconds, or, if None, after a back-off.
    """

    cause: Cause = "lost"
    why: str | None = None
    wait_s: float | None = None
    final: bool = False


class NoAuthority(OSError):
    """Raised if the file of certificates to trust contains no certificate."""


class _Direct(ClientConnection):
    """A connection that follows no redirect, as a redirect could lead the question to any host."""

    def handshake(self, *arguments: Any, **named: Any) -> None:
        try:
            super().handshake(*arguments, **named)
        except InvalidStatus as error:
            error.response.headers.pop("Location", None)
            raise


def dial(credentials: Credentials, log: Logger) -> AbstractContextManager[ClientConnection]:
    """Return a context manager for an open connection to this server. Raises the errors that `parted` explains."""
    tls = None
    if credentials.pin:
        tls = pinned(credentials.pin)
    elif credentials.url.startswith("wss:"):
        try:
            tls = ssl.create_default_context(cafile=credentials.authority)
        except ssl.SSLError as error:
            raise NoAuthority(f"{credentials.authority} holds no certificates in PEM format") from error
    return open_connection(credentials.url, tls, {"Authorization": f"Bearer {credentials.token}"}, log)


def open_connection(
    url: str, tls: ssl.SSLContext | None, headers: Mapping[str, str], log: Logger
) -> AbstractContextManager[ClientConnection]:
    """Return a context manager for an open connection to this address; if `tls` is None, without TLS.

    Raises the errors that `parted` explains.
    """
    try:
        return connect(
            url,
            ssl=tls,
            additional_headers=headers,
            subprotocols=[Subprotocol(m.SUBPROTOCOL)],
            compression=None,
            proxy=None,
            open_timeout=CONNECT_S,
            ping_interval=None,
            close_timeout=1.0,
            max_size=m.MOST_FRAME_BYTES,
            user_agent_header=None,
            logger=log,
            create_connection=_Direct,
        )
    except AssertionError as error:  # the library's, where the other end speaks first and hangs up
        raise ConnectionAbortedError("the server closed the connection at once") from error


def parted(error: WebSocketException | OSError) -> Parted:
    """Explain why a connection could not be made, or broke."""
    match error:
        case InvalidStatus():
            return _refusal(error)
        case NoAuthority():
            return Parted("certificate", str(error), final=True)
        case ssl.SSLError() | FileNotFoundError():
            return _insecure(error)
        case InvalidHandshake() | InvalidURI() if not isinstance(error.__cause__, EOFError):
            return Parted("stranger", f"no companion server answers at this address: {error}", final=True)
        case WebSocketException():
            return Parted("unreachable", "the server cannot be reached: the connection was closed at once")
        case _:
            why = error.strerror or error or "no answer"
            return Parted("unreachable", f"the server cannot be reached: {why}")


def closed(error: ConnectionClosed) -> Parted:
    """Explain the end of an open connection."""
    code = error.rcvd.code if error.rcvd else None
    if code == m.CloseCode.VERSION:
        why = "the server speaks another version of the protocol; update the device or the server"
        return Parted("version", why, final=True)
    return Parted(of_code(code), None if code is None else f"the server closed the connection ({code})")


def _insecure(error: ssl.SSLError | FileNotFoundError) -> Parted:
    if isinstance(error, OtherKey):
        return Parted("key", "the server's key is not the one that this device was paired with", final=True)
    if isinstance(error, FileNotFoundError):  # no other file is opened for a connection
        why = "the file of trusted certificates is gone; name another one: jackdaw connect"
        return Parted("certificate", why, final=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        return Parted("certificate", f"the server's certificate is not valid: {error.verify_message}", final=True)
    return Parted("insecure", f"no secure connection can be made: {error.reason or error}")


_REFUSED: dict[Cause, str] = {
    "token": "the server does not know this token; ask for a new one and run: jackdaw connect",
    "elsewhere": "the server has moved; ask for its new address and run: jackdaw connect",
    "crowded": "too many connections to the server use this token",
    "busy": "the server is full or shutting down",
}


def _refusal(error: InvalidStatus) -> Parted:
    status, after = error.response.status_code, error.response.headers.get("Retry-After", "")
    cause = of_status(status)
    why = _REFUSED.get(cause, f"the server answers {status}" + (": is it the metrics port?" if status == 404 else ""))
    final = status not in (429, 500, 502, 503, 504)
    wait = min(float(after), MOST_REFUSED_S) if after.isascii() and after.isdigit() else 10.0
    return Parted(cause, why, None if final else wait, final)
