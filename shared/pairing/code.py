"""The one-time pairing code, as typed text and as the link in a QR code. Pure.

A code is a secret of 70 random bits. As text it has 16 characters of Crockford's base 32, the last 10 bits of which are
a check. The link for a QR code also holds the server's addresses and its key's pin.
"""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from shared.errors import UsageError

SECRET_BITS = 70
PORT = 8765
"""The default port of a server."""

MOST_ADDRESSES = 4

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_READ_AS = str.maketrans("OIL", "011", "- ")
"""The translation of a typed code: letters that look like digits become digits (Crockford), hyphens are dropped."""

_CODE = re.compile(f"[{_ALPHABET}]{{16}}")
_CHECK_BITS, _CHECK = 10, 1021
"""The number of check bits, and the prime of which every valid code is a multiple.

As 31 and 32 are not multiples of the prime, the check detects any single changed character and any two swapped
neighbours. A random input passes once in 1021 times.
"""

_LINK = re.compile(f"JACKDAW:([{_ALPHABET}]{{16}})\\.([{_ALPHABET}]{{52}})((?:/[^/]{{1,255}}){{1,{MOST_ADDRESSES}}})")
_PIN_BITS = 256


@dataclass(frozen=True, slots=True)
class Invitation:
    """The data for pairing: the secret, the server's addresses (HOST:PORT), and the server key's pin if known."""

    secret: int = field(repr=False)
    addresses: tuple[str, ...]
    pin: str | None = None

    def link(self) -> str:
        """Return the link, in characters that a QR code stores compactly. The invitation must have a pin."""
        assert self.pin is not None
        code = typed(self.secret).replace("-", "")
        return f"jackdaw:{code}.{_base32(int(self.pin, 16), 52)}/{'/'.join(self.addresses)}".upper()


def new_secret() -> int:
    """Return a new secret of 70 random bits."""
    return secrets.randbits(SECRET_BITS)


def typed(secret: int) -> str:
    """Return the code for typing, in four groups of characters."""
    number = secret << _CHECK_BITS
    text = _base32(number + -number % _CHECK, 16)
    return "-".join(text[start : start + 4] for start in range(0, 16, 4))


def read_code(text: str) -> int:
    """Return the secret of a code typed in upper or lower case, with or without hyphens. Raises UsageError."""
    plain = text.upper().translate(_READ_AS)
    if not _CODE.fullmatch(plain):
        raise UsageError(
            "That is no pairing code: one has 16 letters and digits, as in 7K3M-9QXA-2D4F-R8TW. "
            "Read the code that jackdaw-server pair shows."
        )
    number = _number(plain)
    if number % _CHECK:
        raise UsageError(
            "The pairing code has a typing mistake. Compare it with the code that jackdaw-server pair shows."
        )
    return number >> _CHECK_BITS


def is_code(text: str) -> bool:
    """Return whether `read_code` accepts the text: a code of the right length whose check is right."""
    try:
        read_code(text)
    except UsageError:
        return False
    return True


def is_link(text: str) -> bool:
    """Return whether the text begins with JACKDAW:, as pairing links do; the rest is not checked."""
    return text.strip().upper().startswith("JACKDAW:")


def read_link(text: str) -> Invitation:
    """Return the invitation in a link; its addresses are not checked. Raises UsageError."""
    match = _LINK.fullmatch(text.strip().upper())
    pin = _number(match[2]) if match else 1 << _PIN_BITS
    if not match or pin >> _PIN_BITS:
        raise UsageError(
            "The pairing link is incomplete. Scan the QR code again, or type the code: jackdaw connect CODE HOST"
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
