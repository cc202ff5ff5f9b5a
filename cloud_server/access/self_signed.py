"""A self-signed certificate, for a home server without a certificate authority: paired devices know its key."""

import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cloud_server.settings import Settings
from storage.paths import Paths
from storage.private import private_lock, to_be_written, write_private

LOOPBACK = {"127.0.0.1", "::1", "localhost"}

_VALID = timedelta(days=30 * 365)
"""How long the certificate is valid. Paired devices trust the key and ignore its dates, which count only for clients
that install the file as a certificate authority.
"""


def with_certificate(paths: Paths, settings: Settings) -> Settings:
    """Return the server's settings, with a self-signed certificate added if the server needs one. The first call
    creates the certificate.

    The server needs one if it listens beyond this machine, has no certificate configured, and is not behind a TLS
    proxy. Raises NotWritable.
    """
    own = settings.serve
    if own.certificate or own.behind_tls or own.host in LOOPBACK:
        return settings
    return replace(settings, serve=replace(own, certificate=str(own_certificate(paths.server_certificate)), key=""))


def own_certificate(file: Path) -> Path:
    """Return the file with the self-signed certificate and its key (mode 0600), and create the file if it is missing.
    Raises NotWritable.
    """
    with to_be_written(f"lock {file}"), private_lock(file.with_suffix(".lock")):
        if not file.exists():
            write_private(file, _made(datetime.now(UTC)))
    return file


def _made(now: datetime) -> str:
    """Return a new P-256 key and a certificate signed with it, as PEM (RFC 5280)."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Jackdaw companion server")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + _VALID)
    names = [x509.DNSName(host) for host in dict.fromkeys((socket.gethostname(), "localhost")) if host.isascii()]
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return (private + builder.sign(key, SHA256()).public_bytes(Encoding.PEM)).decode()
