"""Which addresses are valid for a server, and how the file with the server's address and token is checked."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from websockets.uri import parse_uri

from device_app.companion.link import credentials
from device_app.companion.link.credentials import LOOPBACK, Credentials, server_url
from shared.errors import StoreCorrupt, UsageError

PARTS = st.sampled_from(["wss://", "https://", *"a.:/@[] ü\0", "8765", "::1", "x" * 64])


@settings(max_examples=1000)
@given(st.one_of(st.text(), st.lists(PARTS).map("".join)))
@example("a..b")
@example("wss://a\0b")
@example("wss://a b")
@example("wss://[::1")
@example("wss://" + "x" * 64)
@example("wss://\u2024")
@example("wss://a/\r\nHost: b")
@example("wss://a:0")
def test_whatever_is_typed_is_an_address_that_can_be_dialled_or_is_refused(typed: str) -> None:
    try:
        url = server_url(typed)
    except UsageError:
        return
    dialled = parse_uri(url)
    assert dialled.secure or dialled.host in LOOPBACK
    assert dialled.port > 0
    assert url.isprintable()
    assert " " not in url
    dialled.host.encode("idna")


@pytest.mark.parametrize(
    "kept",
    [
        b"",
        b"{}",
        b"[]",
        b'{"url":"ws://server.example/","token":"any"}',
        b'{"url":"wss://[","token":"any"}',
        b'{"url":"wss://server.example/","token":"any\\r\\nHost: b"}',
        b'{"url":"wss://server.example/","token":"\xff"}',
    ],
)
def test_a_file_that_was_changed_by_hand_is_not_dialled(tmp_path: Path, kept: bytes) -> None:
    (tmp_path / "link.json").write_bytes(kept)
    with pytest.raises(StoreCorrupt, match="Connect again"):
        credentials.load(tmp_path / "link.json")


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    kept = Credentials(server_url("server.example:8765"), "jackdaw_1_2", "/tmp/ca.pem")
    for credentials_ in (kept, replace(kept, authority=None, pin="ab" * 32)):
        credentials.save(tmp_path / "link.json", credentials_)
        assert credentials.load(tmp_path / "link.json") == credentials_


@pytest.mark.parametrize(("url", "pin"), [("wss://a/", "ab"), ("wss://a/", "AB" * 32), ("ws://localhost/", "ab" * 32)])
def test_a_pin_that_holds_for_nothing_is_not_taken(tmp_path: Path, url: str, pin: str) -> None:
    credentials.save(tmp_path / "link.json", Credentials(url, "jackdaw_1_2", pin=pin))
    with pytest.raises(StoreCorrupt, match="Connect again"):
        credentials.load(tmp_path / "link.json")
