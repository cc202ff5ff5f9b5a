"""TLS to a server whose public key is known (by its hash, the pin), or becomes known by pairing.

The pin is compared within the TLS handshake, before any data is sent. By then the other end has proven, with the key,
that the certificate is its own (RFC 8446, section 4.4.3), so that no authority has to have signed it.
"""

import ssl
from typing import Any

from shared.pairing.pin import pin_of


class OtherKey(ssl.SSLError):
    """Raised if the server's key is not the one that this device was paired with."""


class Context(ssl.SSLContext):
    """A TLS context that accepts only the key with this pin."""

    pin: str


class _Pinned(ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        assert isinstance(self.context, Context)
        if shown(self) != self.context.pin:
            raise OtherKey(f"the server's key is not {self.context.pin}")


def pinned(pin: str, *, signed: bool = False) -> ssl.SSLContext:
    """Return a context that trusts only the key with this pin, whatever its certificate's names and dates.

    With `signed`, an authority that the system trusts must also have signed the certificate.
    """
    context = Context(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.pin = pin
    context.sslsocket_class = _Pinned
    if signed:
        context.load_default_certs()
    else:
        _trust_anybody(context)
    return context


def unproven() -> ssl.SSLContext:
    """Return a context that trusts any key, for a pairing exchange, in which the server proves its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    _trust_anybody(context)
    return context


def shown(socket: Any) -> str:
    """Return the pin of the other end's key in a TLS connection. Raises OtherKey if it sent no certificate."""
    try:
        return pin_of(socket.getpeercert(binary_form=True) or b"")
    except ValueError as error:
        raise OtherKey(str(error)) from None


def _trust_anybody(context: ssl.SSLContext) -> None:
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
