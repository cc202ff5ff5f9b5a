"""The server's TLS certificate: load it, and read its names and expiry date."""

import ipaddress
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shared.errors import UsageError

SOON = timedelta(days=14)
"""A certificate that expires within this time is reported as due for renewal: automatic renewal happens 20 to 30 days
before the expiry.
"""

_ANY_TIME = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which `ssl` has no name: lets `read` verify an expired certificate, too."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate's host names and addresses, and the moment it expires."""

    names: tuple[str, ...]
    ends: datetime

    def expired(self, now: datetime) -> bool:
        """Return whether the certificate has expired at `now`."""
        return now >= self.ends

    def expires_soon(self, now: datetime) -> bool:
        """Return whether the certificate expires within `SOON` of `now`, or has expired."""
        return now >= self.ends - SOON

    def summary(self, now: datetime) -> str:
        """Return a sentence that says when the certificate expires or expired."""
        verb = "expired" if self.expired(now) else "expires"
        return f"the certificate {verb} on {self.ends:%Y-%m-%d at %H:%M} UTC"


def tls(certificate: str, key: str) -> ssl.SSLContext:
    """Return a TLS context (1.2 and later) that serves the given certificate and key files. Raises UsageError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Devices never resume a TLS session. A session ticket arrives while the client's writer thread sends the upgrade
    # request, and OpenSSL then sometimes loses the request (4 of 1,000 connections of websockets' threaded client on a
    # busy machine; 0 without tickets).
    context.num_tickets = 0
    try:
        for file in filter(None, (certificate, key)):
            Path(file).open("rb").close()  # ssl's own error does not name the unreadable file
        context.load_cert_chain(certificate, key or None)
    except ssl.SSLError as error:
        raise UsageError(_why(certificate, key, error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: {error.strerror}.") from None
    return context


def read(certificate: str, key: str) -> Certificate:
    """Return the host names and the expiry date of the certificate in the given files. Raises UsageError.

    `ssl` describes a certificate only to a peer that verified it, so an in-process client that trusts the certificate
    does a TLS handshake.
    """
    serving = tls(certificate, key)
    looking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    looking.check_hostname = False
    looking.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_ANY_TIME)
    try:
        looking.load_verify_locations(certificate)
        facts = _shown(serving, looking)
    except ssl.SSLError as error:
        raise UsageError(f"Devices would reject the certificate in {certificate}: {error}.") from None
    names = tuple(name for kind, name in facts.get("subjectAltName", ()) if kind in {"DNS", "IP Address"})
    return Certificate(names, datetime.fromtimestamp(ssl.cert_time_to_seconds(facts["notAfter"]), UTC))


def reached_by(names: tuple[str, ...], address: str, hostname: str) -> str:
    """Return the host to which devices connect: `address` itself or, for a wildcard address such as 0.0.0.0, a name
    from the certificate, or else `hostname`.
    """
    try:
        if not ipaddress.ip_address(address).is_unspecified:
            return address
    except ValueError:
        return address
    return next((name for name in names if "*" not in name), hostname)


def _shown(serving: ssl.SSLContext, looking: ssl.SSLContext) -> dict:  # type: ignore[type-arg]
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = serving.wrap_bio(up, down, server_side=True)
    client = looking.wrap_bio(down, up)
    for side in (client, server, client):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return client.getpeercert() or {}


def _why(certificate: str, key: str, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"The key in {key or certificate} does not belong to the certificate in {certificate}."
    text = Path(certificate).read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in text:
        return f"{certificate} holds no certificate in PEM format."
    if b"PRIVATE KEY-----" not in (Path(key).read_bytes() if key else text):
        reason = f"{key} holds no private key in PEM format" if key else f"{certificate} holds no private key"
        return f"{reason}. Name the key's file with --key FILE or the setting serve.key."
    return f"The certificate in {certificate}, or its key, cannot be used: {error}."
