"""A man in the middle: a proxy between device and server that ends TLS on both sides, with its own certificate."""

import logging
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import trustme
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection, serve

from shared.pairing.pin import pin_of
from shared.protocol import messages as m

_quiet = logging.getLogger(f"{__name__}.sockets")
_quiet.setLevel(logging.CRITICAL)


@dataclass
class Between:
    """What the man in the middle has read: the decrypted messages, and the path and headers of each HTTP upgrade."""

    port: int
    pin: str
    from_device: list[bytes] = field(default_factory=list)
    from_server: list[bytes] = field(default_factory=list)

    @property
    def seen(self) -> bytes:
        return b"\n".join(self.from_device + self.from_server)


Act = Callable[[Between, ServerConnection, ClientConnection], None]
"""A function that is the man in the middle's behaviour, given the connections to a device and to its server."""


def relays(between: Between, device: ServerConnection, server: ClientConnection) -> None:
    """Forward all messages unchanged in both directions."""

    def down() -> None:
        with suppress(WebSocketException, OSError):
            for said in server:
                between.from_server.append(said if isinstance(said, bytes) else said.encode())
                device.send(said)
        device.close()

    thread = threading.Thread(target=down, daemon=True)
    thread.start()
    with suppress(WebSocketException, OSError):
        for said in device:
            between.from_device.append(said if isinstance(said, bytes) else said.encode())
            server.send(said)
    server.close()
    thread.join(10)


@contextmanager
def between(target: int, act: Act = relays) -> Iterator[Between]:
    """Run the proxy on a port of its own, between devices and the server at the given port."""
    tls, pin = certificate()
    seen = Between(0, pin)
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    def connected(device: ServerConnection) -> None:
        assert device.request
        seen.from_device.append(f"{device.request.path}\n{device.request.headers}".encode())
        with connect(
            f"wss://127.0.0.1:{target}{device.request.path}",
            ssl=trusting,
            subprotocols=[m.SUBPROTOCOL],  # type: ignore[list-item]
            proxy=None,
            logger=_quiet,
        ) as server:
            act(seen, device, server)

    protocols = [m.SUBPROTOCOL]
    with serve(connected, "127.0.0.1", 0, ssl=tls, subprotocols=protocols, logger=_quiet) as listening:  # type: ignore[arg-type]
        seen.port = listening.socket.getsockname()[1]
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield seen
        listening.shutdown()
        thread.join(10)


def certificate() -> tuple[ssl.SSLContext, str]:
    """Return a TLS context for a server with a new certificate, and the pin of its key."""
    made = trustme.CA().issue_cert("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.configure_cert(context)
    context.num_tickets = 0  # as the server's own (cloud_server/access/certificate.py)
    return context, pin_of(ssl.PEM_cert_to_DER_cert(made.cert_chain_pems[0].bytes().decode()))


def written(made: trustme.LeafCert, folder: Path) -> dict[str, object]:
    """Write a certificate and its key into files in the folder; return the settings that name these files."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
    made.private_key_pem.write_to_path(key)
    return {"certificate": str(chain), "key": str(key)}
