"""What the two sides say while they pair, and how each proves that it knows the secret. Bytes in, messages out.

    device                                              server
      ── TLS; without a pin nobody is trusted yet ──────▶
      ◀──────────────────────────────── Challenge(nonce) ──
      ── Proof(nonce, HMAC(key, "device", nonces)) ─────▶   a wrong one is a try used up
      ◀── Grant(HMAC(key, "server", nonces, token), token) ──
      ── Kept(name) ─────────────────────────────────────▶   only now is the token valid
      ◀────────────────────────────────────── Done(name) ──

The key is derived from the secret *and* from the pin of the key that the TLS channel ends at. A server in between has
to show a certificate of its own, so that device and server derive different keys: neither accepts a proof meant for the
other, and no token is sent. What it sees is one HMAC, by which 2^70 secrets could be tried, each for one scrypt; the
secret is worth nothing after ten minutes, or one pairing. With the pin of a link it does not even see that.
"""

import hashlib
import hmac
import secrets
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

VERSION = 1
PATH = "/pair"
"""Where on a server's port pairing takes place."""

MOST_BYTES = 1024
"""A longer message is none."""

Bytes32 = Annotated[bytes, Meta(min_length=32, max_length=32)]
Reason = Literal["wrong", "over", "busy", "version", "failed"]
"""Why the server ends it: the proof is wrong; no pairing is open (any more); too many at once; another version of this
exchange; it could not keep the token."""


class Challenge(Struct, frozen=True, tag="challenge", forbid_unknown_fields=True):
    """From the server, first."""

    nonce: Bytes32
    version: int = VERSION


class Proof(Struct, frozen=True, tag="proof", forbid_unknown_fields=True):
    """From the device."""

    nonce: Bytes32
    proof: Bytes32


class Grant(Struct, frozen=True, tag="grant", forbid_unknown_fields=True):
    """From the server, to who proved to know the secret. The token is valid once `Kept` was received."""

    proof: Bytes32
    token: Annotated[str, Meta(pattern=r"^[\x21-\x7e]{16,256}$")]


class Kept(Struct, frozen=True, tag="kept", forbid_unknown_fields=True):
    """From the device, which has checked the server's proof. The name is what the device is called."""

    name: Annotated[str, Meta(max_length=64)]


class Done(Struct, frozen=True, tag="done", forbid_unknown_fields=True):
    """From the server: the token is valid, and listed under this name."""

    name: Annotated[str, Meta(max_length=80)]


class Refused(Struct, frozen=True, tag="refused", forbid_unknown_fields=True):
    """From the server, last."""

    reason: Reason
    tries_left: Annotated[int, Meta(ge=0, le=100)] = 0


FromDevice = Proof | Kept
FromServer = Challenge | Grant | Done | Refused

_from_device = msgspec.json.Decoder(FromDevice)
_from_server = msgspec.json.Decoder(FromServer)


def encoded(message: FromDevice | FromServer) -> bytes:
    """A message as it is sent."""
    return msgspec.json.encode(message)


def from_device(data: str | bytes) -> FromDevice | None:
    """What a device says; None where it is no message."""
    try:
        return _from_device.decode(data) if len(data) <= MOST_BYTES else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def from_server(data: str | bytes) -> FromServer | None:
    """What a server says; None where it is no message."""
    try:
        return _from_server.decode(data) if len(data) <= MOST_BYTES else None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def derived(secret: int, pin: str) -> bytes:
    """The key of both proofs, 32 bytes, for a channel that ends at the key of this pin. Takes 32 MiB and 0.1 s."""
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
    """32 random bytes."""
    return secrets.token_bytes(32)


def device_proof(key: bytes, challenge: bytes, nonce: bytes) -> bytes:
    """That the device knows the secret; `challenge` is the server's nonce, `nonce` its own."""
    return hmac.digest(key, b"device" + challenge + nonce, "sha256")


def server_proof(key: bytes, challenge: bytes, nonce: bytes, token: str) -> bytes:
    """That the server knows the secret, and gave this token."""
    return hmac.digest(key, b"server" + challenge + nonce + token.encode(), "sha256")
