"""The one-time code, as it is typed and as a QR code carries it. Pure.

A code is a secret of 70 random bits. Typed, it is 16 characters of Crockford's base 32, the last 10 bits of which are a
check. In a link, for a QR code, the server's addresses and the pin of its key stand beside it.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.errors import UsageError

SECRET_BITS = 70
PORT = 8765
"""Where a server listens whose port is not named."""

MOST_ADDRESSES = 4

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = str.maketrans("OIL", "011", "- ")
"""Crockford: what looks like a digit is read as one, and hyphens are for the eye."""

_CODE = re.compile(f"[{_ALPHABET}]{{16}}")
_CHECK_BITS, _CHECK = 10, 1021
"""A code is a multiple of this prime: as 32 and 31 are none of its multiples, no code is another one with one character
changed, or with two neighbours exchanged. Of all else that may be typed, one in 1021 passes.
"""

_LINK = re.compile(f"JACKDAW:([{_ALPHABET}]{{16}})\\.([{_ALPHABET}]{{52}})((?:/[^/]{{1,255}}){{1,{MOST_ADDRESSES}}})")
_PIN_BITS = 256


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a device is given to pair: the secret, where the server is (HOST:PORT), and the pin of its key if known."""

    secret: int = field(repr=False)
    addresses: tuple[str, ...]
    pin: str | None = None

    def link(self) -> str:
        """All of it in one line, in letters that a QR code has a dense form for. Needs the pin."""
        assert self.pin is not None
        code = typed(self.secret).replace("-", "")
        return f"jackdaw:{code}.{_base32(int(self.pin, 16), 52)}/{'/'.join(self.addresses)}".upper()


def new_secret() -> int:
    """70 random bits."""
    return secrets.randbits(SECRET_BITS)


def typed(secret: int) -> str:
    """The code to be typed, in four groups."""
    number = secret << _CHECK_BITS
    text = _base32(number + -number % _CHECK, 16)
    return "-".join(text[start : start + 4] for start in range(0, 16, 4))


def read_code(text: str) -> int:
    """The secret in a code that was typed, in any case, with or without its hyphens. Raises UsageError."""
    plain = text.upper().translate(_READ_AS)
    if not _CODE.fullmatch(plain):
        raise UsageError(
            "That is no pairing code: one has 16 letters and digits, as in 7K3M-9QXA-2D4F-R8TW. "
            "See it again where jackdaw-server pair runs."
        )
    number = _number(plain)
    if number % _CHECK:
        raise UsageError("There is a mistake in the code. Compare it with what jackdaw-server pair shows.")
    return number >> _CHECK_BITS


def is_code(text: str) -> bool:
    """Whether this is a code without a mistake."""
    try:
        read_code(text)
    except UsageError:
        return False
    return True


def is_link(text: str) -> bool:
    """Whether this is meant to be a link."""
    return text.strip().upper().startswith("JACKDAW:")


def read_link(text: str) -> Invitation:
    """What a link holds. Its addresses are as whoever made it wrote them. Raises UsageError."""
    match = _LINK.fullmatch(text.strip().upper())
    pin = _number(match[2]) if match else 1 << _PIN_BITS
    if not match or pin >> _PIN_BITS:
        raise UsageError(
            "That is no whole pairing link. Scan the QR code again, or type the code: jackdaw connect CODE HOST"
        )
    addresses: Sequence[str] = match[3].lower()[1:].split("/")
    return Invitation(read_code(match[1]), tuple(addresses), f"{pin:064x}")


def _base32(number: int, length: int) -> str:
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))


def _number(text: str) -> int:
    number = 0
    for letter in text:
        number = number << 5 | _ALPHABET.index(letter)
    return number
