"""TLS to a server whose key is known, or is about to be.

The pin is compared within the TLS handshake's own call, before any byte of ours is sent. By then the other end has
proven, with the key, that the certificate is its own (RFC 8446, section 4.4.3): that nobody signed it does not matter.
"""

import ssl
from typing import Any

from shared.pairing.pin import pin_of


class OtherKey(ssl.SSLError):
    """The server's key is not the one that this device was paired with."""


class Context(ssl.SSLContext):
    """One that lets a connection be only with the key of this pin."""

    pin: str


class _Pinned(ssl.SSLSocket):
    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        assert isinstance(self.context, Context)
        if shown(self) != self.context.pin:
            raise OtherKey(f"the server's key is not {self.context.pin}")


def pinned(pin: str, *, signed: bool = False) -> ssl.SSLContext:
    """Trusts the key of this pin alone: neither names nor dates matter, unless it has to be `signed`, too, by an
    authority that the system trusts.
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
    """Trusts whoever answers: for an exchange in which the server proves what its key is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    _trust_anybody(context)
    return context


def shown(socket: Any) -> str:
    """The pin of the other end of a TLS connection. Raises OtherKey where it has none."""
    try:
        return pin_of(socket.getpeercert(binary_form=True) or b"")
    except ValueError as error:
        raise OtherKey(str(error)) from None


def _trust_anybody(context: ssl.SSLContext) -> None:
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
