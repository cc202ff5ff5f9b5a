"""Pairing codes can be typed and scanned, and a typing error is detected at once."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.errors import UsageError
from shared.pairing.code import SECRET_BITS, Invitation, is_code, is_link, new_secret, read_code, read_link, typed

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
secrets_ = st.integers(0, 2**SECRET_BITS - 1)


@given(secrets_)
def test_what_is_typed_is_the_secret(secret: int) -> None:
    code = typed(secret)
    assert [len(group) for group in code.split("-")] == [4, 4, 4, 4]
    assert read_code(code) == secret
    assert read_code(f" {code.lower().replace('-', ' ')} ") == secret
    assert read_code(code.replace("0", "o").replace("1", "l")) == secret


def test_there_are_at_least_60_bits_in_it() -> None:
    assert SECRET_BITS >= 60
    assert max(new_secret().bit_length() for _ in range(40)) > 60


@given(secrets_, st.integers(0, 15), st.sampled_from(ALPHABET))
def test_one_wrong_character_is_seen(secret: int, place: int, letter: str) -> None:
    plain = typed(secret).replace("-", "")
    assume(plain[place] != letter)
    assert not is_code(plain[:place] + letter + plain[place + 1 :])


@given(secrets_, st.integers(0, 14))
def test_two_neighbours_exchanged_are_seen(secret: int, place: int) -> None:
    plain = typed(secret).replace("-", "")
    assume(plain[place] != plain[place + 1])
    assert not is_code(plain[:place] + plain[place + 1] + plain[place] + plain[place + 2 :])


@pytest.mark.parametrize("text", ["", "7K3M", "U" * 16, "wss://server.example", "server.lan:8765", "0" * 17])
def test_what_is_no_code_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UsageError, match="no pairing code"):
        read_code(text)


def test_a_mistake_is_named() -> None:
    with pytest.raises(UsageError, match="typing mistake"):
        read_code("0000-0000-0000-0001")


@given(secrets_, st.binary(min_size=32, max_size=32))
def test_a_link_holds_all(secret: int, pin: bytes) -> None:
    invitation = Invitation(secret, ("192.168.1.20:8765", "[fd00::1]:443", "server.lan:8765"), pin.hex())
    link = invitation.link()
    assert is_link(link)
    assert link == link.upper()  # letters that a QR code has a dense form for
    assert read_link(link) == read_link(f" {link.lower()}\n") == invitation


@pytest.mark.parametrize(
    "change",
    [
        lambda link: link[:-20].rpartition("/")[0],
        lambda link: link.replace(".", "", 1),
        lambda link: link[:-20] + "/a" * 5,
        lambda link: link[:12] + ("0" if link[12] != "0" else "1") + link[13:],
        lambda link: link[:25] + "Z" + link[26:],  # a pin of more than 256 bits
        lambda link: link + "/" + "a" * 300,
    ],
)
def test_a_link_that_is_not_whole_is_refused(change) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError):
        read_link(change(Invitation(5, ("192.168.100.120:8765",), "00" * 32).link()))


def test_the_secret_is_not_in_what_is_logged() -> None:
    assert "12345" not in repr(Invitation(12345, ("a:1",), None))
