"""The pin (a hash) of any certificate, and proofs of pairing that are valid for one TLS channel, one exchange and one
side only.
"""

import ssl
from collections.abc import Callable

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from shared.pairing import exchange as x
from shared.pairing.pin import pin_of

A, B = "aa" * 32, "bb" * 32
ONE, OTHER = b"1" * 32, b"2" * 32


@pytest.mark.parametrize("kind", list(trustme.KeyType))
def test_the_pin_is_the_hash_of_the_key_as_the_certificate_has_it(kind: trustme.KeyType) -> None:
    made = trustme.CA(key_type=kind).issue_cert("bird.example", "192.0.2.1", key_type=kind)
    pem = made.cert_chain_pems[0].bytes()
    key = x509.load_pem_x509_certificate(pem).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    digest = Hash(SHA256())
    digest.update(key)
    assert pin_of(ssl.PEM_cert_to_DER_cert(pem.decode())) == digest.finalize().hex()


@given(st.binary(max_size=200))
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a certificate"):
        pin_of(data)


def test_a_certificate_that_is_cut_is_refused() -> None:
    whole = ssl.PEM_cert_to_DER_cert(trustme.CA().issue_cert("a").cert_chain_pems[0].bytes().decode())
    for end in range(0, len(whole), 7):
        with pytest.raises(ValueError, match="not a certificate"):
            pin_of(whole[:end])


def test_a_key_is_of_one_secret_and_one_channel() -> None:
    assert len({x.derived(secret, pin) for secret in (1, 2) for pin in (A, B)}) == 4
    assert x.derived(1, A) == x.derived(1, A)


def test_a_proof_is_of_one_side_one_exchange_one_key_and_one_token() -> None:
    keys = b"k" * 32, b"l" * 32
    proofs = [x.device_proof(key, *nonces) for key in keys for nonces in ((ONE, OTHER), (OTHER, ONE), (ONE, ONE))]
    proofs += [x.server_proof(key, ONE, OTHER, token) for key in keys for token in ("t", "u", "")]
    assert len(set(proofs)) == len(proofs)


@pytest.mark.parametrize(
    ("message", "read"),
    [
        (x.Challenge(ONE), x.from_server),
        (x.Grant(ONE, "jackdaw_" + "0" * 64), x.from_server),
        (x.Done("phone"), x.from_server),
        (x.Refused("wrong", 4), x.from_server),
        (x.Proof(ONE, OTHER), x.from_device),
        (x.Kept("phone"), x.from_device),
    ],
)
def test_messages_arrive_as_they_were(message: x.FromDevice | x.FromServer, read: Callable[..., object]) -> None:
    assert read(x.encoded(message)) == read(x.encoded(message).decode()) == message


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_any_bytes_are_a_message_or_none(data: bytes | str) -> None:
    assert x.from_device(data) is None
    assert x.from_server(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"challenge","nonce":"AAAA"}',
        b'{"type":"refused","reason":"\\u001b[2J"}',
        b'{"type":"refused","reason":"wrong","tries_left":101}',
        b'{"type":"done","name":"' + b"a" * 81 + b'"}',
        b'{"type":"grant","proof":"' + b"A" * 43 + b'=","token":"with space and more"}',
        b'{"type":"done","name":"a","more":1}',
        b'{"type":"done","name":"a"}' + b" " * 1024,
    ],
)
def test_what_a_server_may_not_say_is_no_message(data: bytes) -> None:
    assert x.from_server(data) is None
