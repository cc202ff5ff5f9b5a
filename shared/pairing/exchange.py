"""The messages of the pairing exchange, and the proofs that each side knows the secret. Bytes in, messages out.

    device                                              server
      ── TLS; without a pin the server is untrusted ────▶
      ◀──────────────────────────────── Challenge(nonce) ──
      ── Proof(nonce, HMAC(key, "device", nonces)) ─────▶   a wrong proof uses up a try
      ◀── Grant(HMAC(key, "server", nonces, token), token) ──
      ── Kept(name) ─────────────────────────────────────▶   only now is the token valid
      ◀────────────────────────────────────── Done(name) ──

The proofs' key is derived from the secret *and* from the pin of the TLS channel's server key. An attacker in between
has to show a certificate of its own, so that device and server derive different keys: neither accepts the other's
proof, and no token is sent. The attacker sees one HMAC, against which it could test 2^70 secrets, each with one scrypt;
the secret expires after ten minutes or one pairing. With the pin of a link, the attacker does not even see the HMAC.
"""

import hashlib
import hmac
import secrets
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

VERSION = 1
PATH = "/pair"
"""The path of the pairing endpoint on a server."""

MOST_BYTES = 1024
"""The most bytes of a message."""

Bytes32 = Annotated[bytes, Meta(min_length=32, max_length=32)]
Reason = Literal["wrong", "over", "busy", "version", "failed"]
"""The reason for which the server ends the exchange.

It is a wrong proof, no open pairing, too many exchanges at once, another protocol version, or a token that could not be
stored.
"""


class Challenge(Struct, frozen=True, tag="challenge", forbid_unknown_fields=True):
    """The server's first message, with its nonce."""

    nonce: Bytes32
    version: int = VERSION


class Proof(Struct, frozen=True, tag="proof", forbid_unknown_fields=True):
    """The device's proof that it knows the secret."""

    nonce: Bytes32
    proof: Bytes32


class Grant(Struct, frozen=True, tag="grant", forbid_unknown_fields=True):
    """The server's proof, and the device's token, which becomes valid once the server receives `Kept`."""

    proof: Bytes32
    token: Annotated[str, Meta(pattern=r"^[\x21-\x7e]{16,256}$")]


class Kept(Struct, frozen=True, tag="kept", forbid_unknown_fields=True):
    """The device's message that it has checked the server's proof; `name` is the device's name."""

    name: Annotated[str, Meta(max_length=64)]


class Done(Struct, frozen=True, tag="done", forbid_unknown_fields=True):
    """The server's last message: the token is valid, and the device is listed under this name."""

    name: Annotated[str, Meta(max_length=80)]


class Refused(Struct, frozen=True, tag="refused", forbid_unknown_fields=True):
    """The server's last message: the pairing failed. After a wrong code, `tries_left` more tries are allowed."""

    reason: Reason
    tries_left: Annotated[int, Meta(ge=0, le=100)] = 0


FromDevice = Proof | Kept
FromServer = Challenge | Grant | Done | Refused

_from_device = msgspec.json.Decoder(FromDevice)
_from_server = msgspec.json.Decoder(FromServer)


def encoded(message: FromDevice | FromServer) -> bytes:
    """Return the message in its wire form."""
    return msgspec.json.encode(message)


def from_device(data: str | bytes) -> FromDevice | None:
    """Decode a device's message; return None if the message is invalid."""
    try:
        return _from_device.decode(data) if len(data) <= MOST_BYTES else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def from_server(data: str | bytes) -> FromServer | None:
    """Decode a server's message; return None if the message is invalid."""
    try:
        return _from_server.decode(data) if len(data) <= MOST_BYTES else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def derived(secret: int, pin: str) -> bytes:
    """Derive the key of both proofs, 32 bytes, for a channel to the TLS key with this pin. Takes 32 MiB and 0.1 s."""
    return hashlib.scrypt(
        secret.to_bytes(9, "big"),
        salt=b"jackdaw pairing 1" + bytes.fromhex(pin),
        n=1 << 15,
        r=8,
        p=1,
        maxmem=1 << 26,
        dklen=32,
    )


def new_nonce() -> bytes:
    """Return a new random nonce of 32 bytes."""
    return secrets.token_bytes(32)


def device_proof(key: bytes, challenge: bytes, nonce: bytes) -> bytes:
    """Return the device's proof; `challenge` is the server's nonce, `nonce` the device's."""
    return hmac.digest(key, b"device" + challenge + nonce, "sha256")


def server_proof(key: bytes, challenge: bytes, nonce: bytes, token: str) -> bytes:
    """Return the server's proof, which also covers the token."""
    return hmac.digest(key, b"server" + challenge + nonce + token.encode(), "sha256")
