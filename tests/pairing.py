"""A server of this process that pairs, with a certificate of its own and a clock moved by hand."""

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
    """The server's."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def passes(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class Pairing:
    """A server, the file of its code, and the pin of its key."""

    served: Served
    file: PairingFile
    pin: str
    clock: Clock

    def opens(self, name: str = "") -> tuple[Record, Invitation]:
        """A new code, and what its QR code says."""
        record, secret = self.file.open(self.pin, name, self.clock())
        return record, Invitation(secret, (f"127.0.0.1:{self.served.port}",), self.pin)

    @property
    def names(self) -> list[str]:
        """Who may use the server."""
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
    """The pin of the first certificate in a file of PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    return pin_of(x509.load_pem_x509_certificates(certificate.read_bytes())[0].public_bytes(Encoding.DER))
