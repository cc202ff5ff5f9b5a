"""The server's TLS certificate: loaded, and looked at before devices refuse it."""

import ipaddress
import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shared.errors import UsageError

SOON = timedelta(days=14)
"""Before its end by so much it should be renewed: who renews by itself does so at 30 days, or at 20."""

_ANY_TIME = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which `ssl` has no name for: one that has expired is read as well."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What one says of itself: for which names and addresses, and until when it is valid."""

    names: tuple[str, ...]
    ends: datetime

    def expired(self, now: datetime) -> bool:
        """Whether no device takes it any more."""
        return now >= self.ends

    def expires_soon(self, now: datetime) -> bool:
        """Whether it has to be renewed now, or had to be."""
        return now >= self.ends - SOON

    def summary(self, now: datetime) -> str:
        """When it ends, or ended."""
        verb = "expired" if self.expired(now) else "expires"
        return f"the certificate {verb} on {self.ends:%Y-%m-%d at %H:%M} UTC"


def tls(certificate: str, key: str) -> ssl.SSLContext:
    """TLS 1.2 and later with the certificate of these files. Raises UsageError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # Devices resume no TLS session. A ticket arrives while their thread that writes sends the upgrade, and OpenSSL then
    # loses that now and then (4 of 1,000 connections of websockets' threaded client on a busy machine; 0 without).
    context.num_tickets = 0
    try:
        for file in filter(None, (certificate, key)):
            Path(file).open("rb").close()  # ssl does not say which one it cannot read
        context.load_cert_chain(certificate, key or None)
    except ssl.SSLError as error:
        raise UsageError(_why(certificate, key, error)) from None
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be read: {error.strerror}.") from None
    return context


def read(certificate: str, key: str) -> Certificate:
    """What is in these files. Raises UsageError.

    `ssl` tells of a certificate only to whoever verified it, so a client in this process is shown it, and trusts it.
    """
    serving = tls(certificate, key)
    looking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    looking.check_hostname = False
    looking.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_ANY_TIME)
    try:
        looking.load_verify_locations(certificate)
        facts = _shown(serving, looking)
    except ssl.SSLError as error:
        raise UsageError(f"No device takes the certificate in {certificate}: {error}.") from None
    names = tuple(name for kind, name in facts.get("subjectAltName", ()) if kind in {"DNS", "IP Address"})
    return Certificate(names, datetime.fromtimestamp(ssl.cert_time_to_seconds(facts["notAfter"]), UTC))


def reached_by(names: tuple[str, ...], address: str, hostname: str) -> str:
    """What a device connects to: the address listened on or, where that is any, a name of the certificate's."""
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
        return f"The key in {key or certificate} is not that of the certificate in {certificate}."
    text = Path(certificate).read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in text:
        return f"There is no certificate in PEM in {certificate}."
    if b"PRIVATE KEY-----" not in (Path(key).read_bytes() if key else text):
        reason = f"There is no key in PEM in {key}" if key else f"In {certificate} its key is missing"
        return f"{reason}: --key FILE, or the setting serve.key."
    return f"The certificate in {certificate}, or its key, cannot be used: {error}."
