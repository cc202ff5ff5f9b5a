"""Opening a connection to the companion server, and what it means for the next attempt how one failed or ended."""

import ssl
from contextlib import AbstractContextManager
from logging import Logger
from typing import Any, NamedTuple

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from device_app.link.credentials import Credentials
from shared.protocol import messages as m

CONNECT_S = 10.0

MOST_REFUSED_S = 3600.0
"""For how long a server may tell this device to stay away."""


class Parted(NamedTuple):
    """How a connection ended: what was wrong, if anything, seconds to wait if it said so, whether to try again."""

    why: str | None = None
    wait_s: float | None = None
    final: bool = False


class _Direct(ClientConnection):
    """Goes nowhere else: whoever redirects would be followed with the question, and to any host."""

    def handshake(self, *arguments: Any, **named: Any) -> None:
        try:
            super().handshake(*arguments, **named)
        except InvalidStatus as error:
            error.response.headers.pop("Location", None)
            raise


def dial(credentials: Credentials, log: Logger) -> AbstractContextManager[ClientConnection]:
    """The connection, open within. Raises what `parted` explains."""
    tls = None
    if credentials.url.startswith("wss:"):
        tls = ssl.create_default_context(cafile=credentials.authority)
    try:
        return connect(
            credentials.url,
            ssl=tls,
            additional_headers={"Authorization": f"Bearer {credentials.token}"},
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
    except AssertionError as error:  # of the library, about somebody who speaks before he is asked, and hangs up
        raise ConnectionAbortedError("it hung up") from error


def parted(error: WebSocketException | OSError) -> Parted:
    """What a connection that could not be made, or broke, tells."""
    match error:
        case InvalidStatus():
            return _refusal(error)
        case ssl.SSLError() | FileNotFoundError():
            return _insecure(error)
        case InvalidHandshake() | InvalidURI() if not isinstance(error.__cause__, EOFError):
            return Parted(f"this is no companion server: {error}", final=True)
        case WebSocketException():
            return Parted("the server cannot be reached: it hung up")
        case _:
            return Parted(f"the server cannot be reached: {error.strerror or error or 'it does not answer'}")


def closed(error: ConnectionClosed) -> Parted:
    """What the end of a connection that was open tells."""
    code = error.rcvd.code if error.rcvd else None
    if code == m.CloseCode.VERSION:
        return Parted("the server speaks another version of the protocol; update the older of the two", final=True)
    return Parted(None if code is None else f"the server closed the connection ({code})")


def _insecure(error: ssl.SSLError | FileNotFoundError) -> Parted:
    if isinstance(error, FileNotFoundError):  # nothing else of a connection is a file
        return Parted("the file of certificates to trust is gone; name another: jackdaw connect", final=True)
    if isinstance(error, ssl.SSLCertVerificationError):
        return Parted(f"the server's certificate is not valid: {error.verify_message}", final=True)
    return Parted(f"no secure connection can be made: {error.reason or error}")


def _refusal(error: InvalidStatus) -> Parted:
    status, headers = error.response.status_code, error.response.headers
    if status == 401:
        return Parted("the server does not know this token; ask for a new one and run: jackdaw connect", final=True)
    if 300 <= status < 400:
        return Parted("the server is elsewhere by now; ask where, and run: jackdaw connect", final=True)
    after = headers.get("Retry-After", "")
    wait = min(float(after), MOST_REFUSED_S) if after.isascii() and after.isdigit() else 10.0
    why = {429: "the server has had too many connections with this token", 503: "the server is full, or ends"}
    return Parted(why.get(status, f"the server answers {status}"), wait, status not in (429, 500, 502, 503, 504))
