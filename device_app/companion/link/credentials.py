"""The companion server to which this device is connected, and its token: one file, mode 0600."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec

from shared.errors import NothingFound, StoreCorrupt, UsageError
from storage.private import write_private

LOOPBACK = {"localhost", "127.0.0.1", "::1"}

_PIN = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The address of a server, and the token that the server issued.

    `authority` is a file of certificates to trust besides the system's; `pin` is the hash of the one key that is
    trusted instead, from pairing (`shared.pairing.pin`).
    """

    url: str
    token: str = field(repr=False)
    authority: str | None = None
    pin: str | None = None


def server_url(text: str) -> str:
    """Return the server's WebSocket address from the text that a person typed. Raises UsageError.

    Only this machine may be addressed without TLS, as otherwise others on the network could read the token and the
    questions.
    """
    scheme, _, rest = text.strip().rpartition("://")
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname or "", parts.port
        host.encode("idna").decode().encode("idna")  # the encoded name must be valid, too
    except ValueError:
        host, port = "", None
    secure = {"https": "wss", "wss": "wss", "http": "ws", "ws": "ws", "": "ws" if host in LOOPBACK else "wss"}
    plain = rest.isprintable() and not any(map(str.isspace, rest))
    if not (host and plain and port != 0) or scheme.lower() not in secure or set(rest) & set("@?#"):
        raise UsageError(f"{text!r} is not a server's address. An address looks like wss://server.example:8765")
    if secure[scheme.lower()] == "ws" and host not in LOOPBACK:
        raise UsageError(
            f"{host} is another machine, so the connection needs TLS: use wss://, and a certificate on the server."
        )
    return urlunsplit((secure[scheme.lower()], parts.netloc, parts.path or "/", "", ""))


def load(file: Path) -> Credentials | None:
    """Return the stored credentials; None if this device is connected to no server. Raises StoreCorrupt."""
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=Credentials)
        well_formed = server_url(kept.url) == kept.url and kept.token.isascii() and kept.token.isprintable()
        if well_formed and (kept.pin is None or (kept.url.startswith("wss:") and _PIN.fullmatch(kept.pin))):
            return kept
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, UsageError):
        pass
    raise StoreCorrupt(f"{file} cannot be read. Connect again: jackdaw connect URL")


def save(file: Path, credentials: Credentials) -> None:
    """Store the credentials. Raises NotWritable."""
    write_private(file, msgspec.json.encode(credentials).decode())


def forget(file: Path) -> Credentials:
    """Delete the stored credentials and return them. Raises NothingFound."""
    gone = load(file)
    if gone is None:
        raise NothingFound("This device is not connected to a server.")
    file.unlink(missing_ok=True)
    return gone
