"""A server in the test's process that pairs devices, with a certificate of its own and a clock that the test moves."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cloud_server.access.pairing import PairingFile, Record
from cloud_server.access.self_signed import own_certificate
from cloud_server.serving.pairing_desk import PairingDesk
from shared.pairing.code import Invitation
from shared.pairing.pin import pin_of
from tests.companion import Serve, Served, serve

__all__ = ["serve"]


class Clock:
    """The server's clock, moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class Pairing:
    """A server that pairs devices, the file with its pairing code, and the hash (pin) of its TLS key."""

    served: Served
    file: PairingFile
    pin: str
    clock: Clock

    def opens(self, name: str = "") -> tuple[Record, Invitation]:
        """Make a new pairing code; return its record, and the content of its QR code."""
        record, secret = self.file.open(self.pin, name, self.clock())
        return record, Invitation(secret, (f"127.0.0.1:{self.served.port}",), self.pin)

    @property
    def names(self) -> list[str]:
        """Return the names of all valid access tokens."""
        return [entry.name for entry in self.served.tokens.entries()]


@pytest.fixture
def pairing(tmp_path: Path, serve: Serve) -> Pairing:
    certificate = own_certificate(tmp_path / "server" / "certificate.pem")
    file, clock = PairingFile(tmp_path / "server" / "pairing.json"), Clock()
    served = serve(
        pairing=lambda tokens: PairingDesk(file, tokens, clock), serve={"certificate": str(certificate), "drain_s": 0.1}
    )
    return Pairing(served, file, pin_of_file(certificate), clock)


def pin_of_file(certificate: Path) -> str:
    """Return the pin (a hash of the public key) of the first certificate in a PEM file."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    return pin_of(x509.load_pem_x509_certificates(certificate.read_bytes())[0].public_bytes(Encoding.DER))
