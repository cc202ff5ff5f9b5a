"""The server's certificate: what is in it, when it has to be renewed, and the errors for one that cannot be used."""

import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from cloud_server.access import certificate
from cloud_server.access.certificate import Certificate
from cloud_server.access.certificate_renewal import Renewed
from shared.errors import UsageError

NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)

Issue = Callable[..., tuple[str, str]]


@pytest.fixture
def issue(tmp_path: Path) -> Issue:
    """Makes certificates: returns the paths of the file with the certificate chain and of the file with the key."""

    def make(*names: str, ends: datetime = datetime(2099, 1, 1, tzinfo=UTC)) -> tuple[str, str]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        made = trustme.CA().issue_cert(*(names or ("127.0.0.1",)), not_after=ends)
        chain, key = folder / "chain.pem", folder / "key.pem"
        chain.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
        made.private_key_pem.write_to_path(key)
        return str(chain), str(key)

    return make


@pytest.mark.parametrize("ends", [datetime(2020, 5, 6, 7, 8, tzinfo=UTC), datetime(2090, 5, 6, 7, 8, tzinfo=UTC)])
def test_what_it_says_of_itself_is_read_expired_or_not(issue: Issue, ends: datetime) -> None:
    read = certificate.read(*issue("bird.example", "192.0.2.1", ends=ends))
    assert read == Certificate(("bird.example", "192.0.2.1"), ends)


def test_one_file_may_hold_both(issue: Issue, tmp_path: Path) -> None:
    chain, key = issue("bird.example")
    both = tmp_path / "both.pem"
    both.write_text(Path(key).read_text() + Path(chain).read_text())
    assert certificate.read(str(both), "").names == ("bird.example",)


@pytest.mark.parametrize(
    ("left", "expired", "soon", "text"),
    [
        (timedelta(days=15), False, False, "expires on 2030-02-15 at 12:00 UTC"),
        (timedelta(days=14), False, True, "expires on 2030-02-14 at 12:00 UTC"),
        (timedelta(0), True, True, "expired on 2030-01-31 at 12:00 UTC"),
    ],
)
def test_when_it_has_to_be_renewed(left: timedelta, expired: bool, soon: bool, text: str) -> None:
    certificate = Certificate((), NOW + left)
    assert (certificate.expired(NOW), certificate.expires_soon(NOW)) == (expired, soon)
    assert text in certificate.summary(NOW)


def test_why_files_do_not_do(issue: Issue, tmp_path: Path) -> None:
    (chain, key), other = issue(), issue()[1]
    for chosen, said in (
        ((chain, ""), r"holds no private key\. Name the key's file with --key FILE"),
        ((chain, other), "does not belong to the certificate"),
        ((key, key), "no certificate in PEM format"),
        ((chain, chain), "no private key in PEM format.* --key FILE"),
        ((str(tmp_path / "gone.pem"), key), "gone.pem cannot be read: No such file"),
        ((chain, str(tmp_path / "gone.pem")), "gone.pem cannot be read: No such file"),
    ):
        with pytest.raises(UsageError, match=said):
            certificate.read(*chosen)


@pytest.mark.parametrize(
    ("names", "address", "reached"),
    [
        (("*.example", "bird.example"), "0.0.0.0", "bird.example"),
        (("bird.example",), "::", "bird.example"),
        (("*.example",), "::", "here"),
        ((), "0.0.0.0", "here"),
        (("bird.example",), "192.0.2.1", "192.0.2.1"),
        (("bird.example",), "another.example", "another.example"),
    ],
)
def test_what_a_device_connects_to(names: tuple[str, ...], address: str, reached: str) -> None:
    assert certificate.reached_by(names, address, "here") == reached


def test_one_that_no_device_takes_is_not_shown(issue: Issue, tmp_path: Path) -> None:
    chain, key = issue()
    renewed = Renewed(chain, key)
    before = _shown_by(renewed)
    both = _of_a_client(tmp_path / "client.pem")
    certificate.tls(str(both), "")  # OpenSSL serves it
    with pytest.raises(UsageError, match="Devices would reject"):
        certificate.read(str(both), "")
    for file in (chain, key):
        Path(file).write_bytes(both.read_bytes())
    renewed.reload()
    assert _shown_by(renewed) == before
    for file, fresh in zip((chain, key), issue("bird.example"), strict=True):
        Path(file).write_bytes(Path(fresh).read_bytes())
    renewed.reload()
    shown = _shown_by(renewed)
    assert shown
    assert x509.load_der_x509_certificate(shown) == x509.load_pem_x509_certificate(Path(chain).read_bytes())


def _shown_by(renewed: Renewed) -> bytes | None:
    """Return the certificate that a new connection gets, in DER form."""
    looking = ssl.create_default_context()
    looking.check_hostname, looking.verify_mode = False, ssl.CERT_NONE
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = renewed.context.wrap_bio(up, down, server_side=True)
    client = looking.wrap_bio(down, up)
    for side in (client, server, client):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return client.getpeercert(binary_form=True)


def _of_a_client(file: Path) -> Path:
    """Make a certificate and its key that are valid for TLS clients only, not for servers."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "client")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    made = builder.add_extension(usage, critical=True).sign(key, SHA256())
    file.write_bytes(private + made.public_bytes(Encoding.PEM))
    return file
