"""Pairing over real TLS: by code and by link, with a man in the middle, and what is trusted afterwards."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trustme
from websockets.sync.client import ClientConnection
from websockets.sync.server import ServerConnection

from device_app.companion.link import pairing as device
from device_app.companion.link.credentials import Credentials
from device_app.companion.link.dialing import open_connection
from device_app.companion.link.pairing import NotPaired, pair
from device_app.companion.link.pinning import pinned
from shared.pairing import exchange as x
from shared.pairing.code import Invitation, typed
from tests.between import Act, Between, between, certificate, relays, written
from tests.companion import Serve
from tests.faults import free_port, saying, until
from tests.pairing import Pairing, pairing
from tests.racing import linked_with

__all__ = ["pairing"]

TYPED, SCANNED = False, True


def given(invitation: Invitation, port: int, *, scanned: bool) -> Invitation:
    """Return the invitation, changed so that the device connects to this port."""
    return Invitation(invitation.secret, (f"127.0.0.1:{port}",), invitation.pin if scanned else None)


@pytest.mark.parametrize("scanned", [TYPED, SCANNED])
def test_a_device_is_paired_and_connects(pairing: Pairing, scanned: bool) -> None:
    _, invitation = pairing.opens()
    credentials, called = pair(given(invitation, pairing.served.port, scanned=scanned), "phone")
    assert (called, pairing.names, credentials.pin) == ("phone", ["phone"], pairing.pin)
    assert credentials.url == f"wss://127.0.0.1:{pairing.served.port}/"
    with linked_with(credentials) as link:
        assert link.wait(10).offer is not None
        pairing.served.tokens.revoke("phone")
        until(lambda: link.state.cause == "token")
    assert pairing.file.read().state(pairing.clock()) == "paired"  # type: ignore[union-attr]
    with pytest.raises(NotPaired, match="no code is open"):  # it is for one device
        pair(invitation, "other")


@pytest.mark.parametrize("scanned", [TYPED, SCANNED])
def test_a_code_that_is_over_pairs_nothing(pairing: Pairing, scanned: bool) -> None:
    _, invitation = pairing.opens()
    pairing.clock.passes(minutes=9, seconds=59)
    assert pairing.file.is_open(pairing.clock())
    pairing.clock.passes(seconds=1)
    with pytest.raises(NotPaired, match="ten minutes are over"):
        pair(given(invitation, pairing.served.port, scanned=scanned), "phone")
    assert pairing.names == []


def test_five_wrong_codes_end_it(pairing: Pairing) -> None:
    _, invitation = pairing.opens()
    said = []
    for _ in range(6):
        with pytest.raises(NotPaired) as refused:
            pair(Invitation(invitation.secret ^ 1, invitation.addresses), "phone")
        said.append(str(refused.value))
    assert [
        f"{left} tries are left for this code" in message for left, message in zip((4, 3, 2, 1), said, strict=False)
    ] == [True] * 4
    assert "no longer valid" in said[4]
    assert "no code is open" in said[5]
    with pytest.raises(NotPaired):
        pair(invitation, "phone")
    assert pairing.names == []


def test_the_next_address_is_tried(pairing: Pairing) -> None:
    _, invitation = pairing.opens()
    with between(pairing.served.port) as other:
        places = (f"127.0.0.1:{free_port()}", f"127.0.0.1:{other.port}", *invitation.addresses)
        credentials, _ = pair(Invitation(invitation.secret, places, pairing.pin), "phone")
    assert credentials.url == f"wss://127.0.0.1:{pairing.served.port}/"


def answers_itself(between: Between, device: ServerConnection, server: ClientConnection) -> None:
    """Play a man in the middle that sends the device a token of its own, with an invented proof."""
    device.send(x.encoded(x.Challenge(b"c" * 32)))
    between.from_device.append(bytes_of(device.recv(10)))
    device.send(x.encoded(x.Grant(b"p" * 32, "jackdaw_of_the_one_in_between")))
    with suppress(Exception):
        between.from_device.append(bytes_of(device.recv(10)))


def reflects(between: Between, device: ServerConnection, server: ClientConnection) -> None:
    """Play a man in the middle that returns the device's own proof as the server's."""
    device.send(x.encoded(x.Challenge(b"c" * 32)))
    between.from_device.append(bytes_of(device.recv(10)))
    said = x.from_device(between.from_device[-1])
    assert isinstance(said, x.Proof)
    device.send(x.encoded(x.Grant(said.proof, "jackdaw_of_the_one_in_between")))
    with suppress(Exception):
        between.from_device.append(bytes_of(device.recv(10)))


def says_it_is_done(between: Between, device: ServerConnection, server: ClientConnection) -> None:
    """Play a man in the middle that tells the device it is paired, without a proof."""
    device.send(x.encoded(x.Challenge(b"c" * 32)))
    between.from_device.append(bytes_of(device.recv(10)))
    device.send(x.encoded(x.Done("phone")))


def bytes_of(said: str | bytes) -> bytes:
    return said if isinstance(said, bytes) else said.encode()


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (relays, "the code is wrong"),
        (answers_itself, "does not know the code"),
        (reflects, "does not know the code"),
        (says_it_is_done, "another version of pairing"),
    ],
)
def test_who_stands_in_between_while_a_code_is_typed_learns_nothing_and_pairs_nothing(
    pairing: Pairing, act: Act, expected: str
) -> None:
    record, invitation = pairing.opens()
    with between(pairing.served.port, act) as relay, pytest.raises(NotPaired, match=expected):
        pair(given(invitation, relay.port, scanned=TYPED), "annas-phone")
    kept = pairing.file.read()
    assert kept and not kept.paired
    assert pairing.names == []
    # Beside random numbers it saw one proof: for the channel that ends at itself, and for nothing else.
    proofs = [said for said in map(x.from_device, relay.from_device) if isinstance(said, x.Proof)]
    ((proof,), challenge) = proofs, b"c" * 32
    if act is relays:
        (challenge,) = (said.nonce for said in map(x.from_server, relay.from_server) if isinstance(said, x.Challenge))
        assert kept.tries_left == 4
    assert proof.proof == x.device_proof(x.derived(invitation.secret, relay.pin), challenge, proof.nonce)
    assert proof.proof != x.device_proof(record.key, challenge, proof.nonce)
    said = {type(message) for message in map(x.from_device, relay.from_device) if message} | {
        type(message) for message in map(x.from_server, relay.from_server) if message
    }
    assert said <= {x.Proof, x.Challenge, x.Refused}  # no grant, so no token; and no name of the device
    secret = invitation.secret
    for hidden in (
        *(typed(secret).encode(), typed(secret).replace("-", "").encode(), str(secret).encode()),
        *(secret.to_bytes(9, "big"), f"{secret:x}".encode(), record.key, record.key.hex().encode()),
        *(b"jackdaw_", b"annas-phone", b"Authorization"),
    ):
        assert hidden.lower() not in relay.seen.lower().replace(b"jackdaw_of_the", b"")


@contextmanager
def listening() -> Iterator[tuple[int, bytearray, list[str]]]:
    """A TLS server with a certificate of its own: its port, the text that it reads, and its handshakes."""
    context, _ = certificate()
    read, handshakes = bytearray(), list[str]()
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.1)

        def run() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    plain, _ = door.accept()
                    plain.settimeout(5)
                    with suppress(OSError), context.wrap_socket(plain, server_side=True) as secure:
                        handshakes.append("done")
                        while said := secure.recv(4096):
                            read.extend(said)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield door.getsockname()[1], read, handshakes
        over.set()
        thread.join(10)


def test_who_stands_in_between_while_a_code_is_scanned_gets_no_byte(pairing: Pairing) -> None:
    _, invitation = pairing.opens()
    with listening() as (port, read, handshakes):
        with pytest.raises(NotPaired, match=r"does not have the key in the link.*nothing was sent") as refused:
            pair(given(invitation, port, scanned=SCANNED), "annas-phone")
        until(lambda: handshakes)
    assert "jackdaw-server pair" in str(refused.value)
    assert (bytes(read), pairing.names) == (b"", [])
    assert pairing.file.read().tries_left == 5  # type: ignore[union-attr]


def test_who_stands_in_between_later_gets_no_byte_either(pairing: Pairing) -> None:
    credentials, _ = pair(pairing.opens()[1], "phone")
    with listening() as (port, read, handshakes):
        with linked_with(Credentials(f"wss://127.0.0.1:{port}/", credentials.token, pin=credentials.pin)) as link:
            until(lambda: link.state.phase == "refused")
            assert (link.state.cause, link.state.retry_s) == ("key", None)
            assert "not the one that this device was paired with" in link.state.why
        until(lambda: handshakes)
    assert bytes(read) == b""


def test_a_certificate_renewed_with_the_same_key_is_the_same_server(
    pairing: Pairing, serve: Serve, tmp_path: Path
) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

    credentials, _ = pair(pairing.opens()[1], "phone")
    file = tmp_path / "server" / "certificate.pem"
    key, old = load_pem_private_key(file.read_bytes(), None), x509.load_pem_x509_certificate(file.read_bytes())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "another")])
    builder = x509.CertificateBuilder(
        name, name, old.public_key(), 5, old.not_valid_before_utc, old.not_valid_after_utc
    )
    renewed = builder.sign(key, SHA256()).public_bytes(Encoding.PEM)  # type: ignore[arg-type]
    kept = file.read_text()
    file.write_text(kept[: kept.index("-----BEGIN CERTIFICATE")] + renewed.decode())
    again = serve(serve={"certificate": str(file)})
    token = again.token()
    with linked_with(Credentials(again.url, token, pin=credentials.pin)) as link:
        assert link.wait(10).offer is not None


def test_a_certificate_that_the_system_trusts_is_not_pinned(
    pairing: Pairing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    """Such certificates get new keys every few weeks, so the authority is trusted from then on."""
    authority, asked = trustme.CA(), []
    settings = written(authority.issue_cert("127.0.0.1"), tmp_path)
    context = ssl.SSLContext.load_default_certs

    def trusted(self: ssl.SSLContext, *_: object) -> None:
        asked.append(self)
        authority.configure_trust(self)

    desk = pairing.served.server._pairing
    signed = serve(pairing=lambda tokens: desk, serve=settings)
    from tests.pairing import pin_of_file

    pin = pin_of_file(Path(str(settings["certificate"])))
    for trusts, expected in ((context, pin), (trusted, None)):
        monkeypatch.setattr(ssl.SSLContext, "load_default_certs", trusts)
        _, secret = pairing.file.open(pin, "", pairing.clock())
        credentials, _ = pair(Invitation(secret, (f"127.0.0.1:{signed.port}",)), "phone")
        assert credentials.pin == expected
    assert asked


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"\x00\x01", "another version of pairing"),
        (b'{"type":"challenge","nonce":"' + b"A" * 43 + b'=","version":2}', "another version of pairing"),
        (x.encoded(x.Refused("over")), "no code is open"),
        (x.encoded(x.Refused("busy")), "Try again"),
        (x.encoded(x.Refused("failed")), "server's log"),
        (x.encoded(x.Refused("wrong", 3)), "3 tries are left for this code"),
        (b'{"type":"refused","reason":"\\u001b[2Jevil"}', "another version of pairing"),
        (x.encoded(x.Done("phone")), "another version of pairing"),
        (b" " * 100_000, "another version of pairing"),
        (b"x" * 300_000, "Is the server running"),
    ],
)
def test_what_a_server_says_that_lies_is_told_in_our_own_words(pairing: Pairing, said: bytes, expected: str) -> None:
    _, invitation = pairing.opens()

    def lies(_: Between, device: ServerConnection, server: ClientConnection) -> None:
        device.send(said)
        with suppress(Exception):
            device.recv(5)

    with between(pairing.served.port, lies) as relay, pytest.raises(NotPaired, match=expected) as refused:
        pair(given(invitation, relay.port, scanned=TYPED), "phone")
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("404 Not Found", "no code is open"),
        ("503 Full", "full or shutting down"),
        ("302 Found", "the server has moved"),
        ("200 OK", "200"),
    ],
)
def test_what_answers_that_is_no_such_server(status: str, expected: str) -> None:
    context, _ = certificate()
    answer = f"HTTP/1.1 {status}\r\nLocation: https://evil.example/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with saying(answer, tls=context) as url, pytest.raises(NotPaired, match=expected):
        pair(Invitation(1, (url.split("/")[2],)), "phone")


def test_who_is_silent_is_waited_for_no_longer_than_that(pairing: Pairing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "ANSWER_S", 0.2)
    _, invitation = pairing.opens()

    def silent(_: Between, device: ServerConnection, server: ClientConnection) -> None:
        with suppress(Exception):
            device.recv(5)

    with between(pairing.served.port, silent) as relay, pytest.raises(NotPaired, match="does not answer in time"):
        pair(given(invitation, relay.port, scanned=TYPED), "phone")


def test_without_a_code_or_without_tls_there_is_no_way_in(pairing: Pairing, serve: Serve) -> None:
    with pytest.raises(NotPaired, match="no code is open"):
        pair(Invitation(1, (f"127.0.0.1:{pairing.served.port}",)), "phone")
    pairing.opens()
    plain = serve(pairing=lambda tokens: pairing.served.server._pairing)
    with socket.create_connection(("127.0.0.1", plain.port), timeout=10) as raw:
        raw.sendall(
            b"GET /pair HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert raw.recv(100).startswith(b"HTTP/1.1 404")


def test_a_device_that_is_lost_in_the_middle_leaves_no_token_and_the_code_valid(pairing: Pairing) -> None:
    record, invitation = pairing.opens()
    with open_connection(
        f"wss://127.0.0.1:{pairing.served.port}/pair", pinned(pairing.pin), {}, device.log
    ) as connection:
        challenge = x.from_server(connection.recv(10))
        assert isinstance(challenge, x.Challenge)
        connection.send(x.encoded(x.Proof(b"n" * 32, x.device_proof(record.key, challenge.nonce, b"n" * 32))))
        grant = x.from_server(connection.recv(10))
        assert isinstance(grant, x.Grant)
        connection.socket.close()  # as a device does that is killed
    assert pairing.served.tokens.check(grant.token) is None
    credentials, _ = pair(invitation, "phone")
    assert credentials.token != grant.token
    assert pairing.names == ["phone"]
