"""Pairing on the device: turns a code into the server's address, its key and a token (`shared.pairing.exchange`)."""

import hmac
import logging
import socket
from typing import TypeVar
from urllib.parse import urlsplit

from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection

from device_app.companion.link.credentials import Credentials, server_url
from device_app.companion.link.dialing import CONNECT_S, open_connection, parted
from device_app.companion.link.pinning import OtherKey, pinned, shown, unproven
from shared.errors import LinkError, UsageError
from shared.pairing import exchange as x
from shared.pairing.code import PORT, Invitation

ANSWER_S = 10.0
"""Seconds to wait for each reply of the server."""

_AGAIN = "Make a new code: jackdaw-server pair"
_REFUSED: dict[x.Reason, str] = {
    "over": f"The server says that no code is open: ten minutes are over, or it was used or withdrawn. {_AGAIN}",
    "busy": "The server pairs too many devices at once. Try again.",
    "version": "The server uses another version of pairing. Update Jackdaw on this device or on the server.",
    "failed": "The server could not save the token. See the server's log for the cause, then try again.",
}

Message = TypeVar("Message", bound=x.FromServer)

log = logging.getLogger(f"{__name__}.sockets")
log.setLevel(logging.CRITICAL)  # failures are raised


class NotPaired(LinkError):
    """Raised if this device could not be paired with a server. The message names the next step."""


class _Elsewhere(NotPaired):
    """Raised if an address leads to no server or to a wrong one; the invitation's other addresses are tried next."""


def pair(invitation: Invitation, name: str) -> tuple[Credentials, str]:
    """Pair with the server of an invitation; return the credentials, and this device's name on the server.

    `name` is the device's own name; it is sent once the server has proven to know the code. The server's addresses are
    tried one after the other. Raises NotPaired, UsageError.
    """
    urls = [pairing_url(address) for address in invitation.addresses]
    for number, url in enumerate(urls, 1):
        try:
            return _pair(url, invitation, name)
        except _Elsewhere:
            if number == len(urls):
                raise
    raise UsageError("The link contains no server address. Make a new code: jackdaw-server pair")


def pairing_url(address: str) -> str:
    """Return the URL for pairing: always over TLS, and on Jackdaw's port if none is named. Raises UsageError."""
    if address.startswith("ws://") or address.startswith("http://"):
        raise UsageError("Pairing needs TLS. Name the server's address without ws://.")
    host = address.removeprefix("wss://").removeprefix("https://")
    url = server_url(f"wss://{host}")
    return url if urlsplit(url).port else server_url(f"wss://{urlsplit(url).netloc}:{PORT}")


def _pair(url: str, invitation: Invitation, name: str) -> tuple[Credentials, str]:
    context = pinned(invitation.pin) if invitation.pin else unproven()
    place = urlsplit(url).netloc
    try:
        with open_connection(url.rstrip("/") + x.PATH, context, {}, log) as connection:
            pin = shown(connection.socket)
            token, called = _exchange(connection, x.derived(invitation.secret, pin), name)
    except OtherKey:
        raise _Elsewhere(
            f"The server at {place} does not have the key in the link. It is another server, or somebody intercepts "
            f"the connection; nothing was sent. Are both devices on one network? {_AGAIN}"
        ) from None
    except InvalidStatus as error:
        if error.response.status_code == 404:
            raise NotPaired(_REFUSED["over"]) from None
        raise _Elsewhere(f"{place}: {parted(error).why}. {_AGAIN}") from None
    except TimeoutError:
        raise NotPaired(f"{place} does not answer in time. Is the network steady? Then try again.") from None
    except (WebSocketException, OSError) as error:
        raise _Elsewhere(f"{place}: {parted(error).why}. Is the server running, and are both on one network?") from None
    return Credentials(url, token, pin=None if _signed(url, pin) else pin), called


def _exchange(connection: ClientConnection, key: bytes, name: str) -> tuple[str, str]:
    """Return the token, and the server's name for this device. Raises NotPaired, WebSocketException, OSError."""
    challenge = _reply(connection, x.Challenge)
    if challenge.version != x.VERSION:
        raise NotPaired(_REFUSED["version"])
    nonce = x.new_nonce()
    connection.send(x.encoded(x.Proof(nonce, x.device_proof(key, challenge.nonce, nonce))))
    grant = _reply(connection, x.Grant)
    if not hmac.compare_digest(grant.proof, x.server_proof(key, challenge.nonce, nonce, grant.token)):
        raise NotPaired(
            "The server that answers does not know the code. It is another server, or somebody intercepts; nothing was "
            f"paired. Is the address right? {_AGAIN}"
        )
    connection.send(x.encoded(x.Kept(name[:64])))
    return grant.token, _reply(connection, x.Done).name


def _reply(connection: ClientConnection, kind: type[Message]) -> Message:
    """Return the server's next message, which must be of this type. Raises NotPaired, WebSocketException, OSError."""
    said = x.from_server(connection.recv(timeout=ANSWER_S))
    if isinstance(said, kind):
        return said
    if isinstance(said, x.Refused) and said.reason == "wrong":
        tries = (
            f"{said.tries_left} tries are left for this code."
            if said.tries_left
            else f"the code is no longer valid. {_AGAIN}"
        )
        raise NotPaired(f"The server says that the code is wrong: {tries}")
    raise NotPaired(_REFUSED[said.reason if isinstance(said, x.Refused) else "version"])


def _signed(url: str, pin: str) -> bool:
    """Return whether an authority that the system trusts has signed that key's certificate for this address.

    If so, the authority is trusted from now on, and not the key, since such certificates get new keys every few weeks.
    """
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port), timeout=CONNECT_S) as plain:
            pinned(pin, signed=True).wrap_socket(plain, server_hostname=parts.hostname).close()
    except (OSError, ValueError):
        return False
    return True
