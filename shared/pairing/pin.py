"""The pin of a certificate: the SHA-256 of its public key (SubjectPublicKeyInfo), as in RFC 7858 and HPKP.

A certificate renewed with the same key keeps its pin. Completing a TLS handshake proves possession of the certificate's
key, whether or not an authority signed the certificate.
"""

import hashlib

_SEQUENCE, _VERSION = 0x30, 0xA0
_BEFORE_KEY = 5
"""The number of fields before the key in a certificate (RFC 5280, section 4.1).

They are the serial number, algorithm, issuer, validity and subject.
"""


def pin_of(certificate: bytes) -> str:
    """Return the pin, in hex, of a DER certificate. Raises ValueError for an invalid certificate."""
    fields, _ = _content(certificate, 0, _SEQUENCE)
    start, end = _content(certificate, fields, _SEQUENCE)
    if certificate[start:end][:1] == bytes([_VERSION]):
        start = _content(certificate, start, _VERSION)[1]
    for _ in range(_BEFORE_KEY):
        start = _content(certificate, start, None)[1]
    after = _content(certificate, start, _SEQUENCE)[1]
    if after > end:
        raise ValueError("not a certificate")
    return hashlib.sha256(certificate[start:after]).hexdigest()


def _content(data: bytes, start: int, tag: int | None) -> tuple[int, int]:
    """Return the start and end of the content of the DER element at `start`. Raises ValueError."""
    head = data[start : start + 2]
    if len(head) < 2 or (tag is not None and head[0] != tag):
        raise ValueError("not a certificate")
    begin, size = start + 2, head[1]
    if size >= 0x80:
        size = int.from_bytes(data[begin : begin + head[1] - 0x80], "big")
        begin += head[1] - 0x80
    if begin + size > len(data):
        raise ValueError("not a certificate")
    return begin, begin + size
