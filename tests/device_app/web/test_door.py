"""Which browser is admitted: the first one that presents the token, and only at the printed address."""

import pytest

from device_app.web.door import Door, Request, Verdict, is_loopback

ORIGIN, HOST = "http://127.0.0.1:8420", "127.0.0.1:8420"


def door() -> Door:
    return Door(ORIGIN, token="token", cookie="cookie")


@pytest.mark.parametrize(
    ("request_", "verdict"),
    [
        (Request(HOST, None, token="token"), Verdict.EXCHANGE),
        (Request(HOST, None, cookie="cookie"), Verdict.SERVE),
        (Request(HOST, ORIGIN, is_socket=True, cookie="cookie"), Verdict.SERVE),
        (Request(HOST, None), Verdict.STRANGER),
        (Request(HOST, None, token="tokem"), Verdict.STRANGER),
        (Request(HOST, None, token="tökén\udcff"), Verdict.STRANGER),
        (Request(HOST, None, cookie="token"), Verdict.STRANGER),
        (Request(HOST, None, token=""), Verdict.STRANGER),
        (Request(HOST, ORIGIN, is_socket=True, token="token"), Verdict.STRANGER),
        (Request(HOST, None, is_socket=True, cookie="cookie"), Verdict.ELSEWHERE),
        (Request("evil.example:8420", None, cookie="cookie"), Verdict.ELSEWHERE),
        (Request("localhost:8420", None, token="token"), Verdict.ELSEWHERE),
        (Request("127.0.0.1:8421", None, cookie="cookie"), Verdict.ELSEWHERE),
        (Request(None, None, cookie="cookie"), Verdict.ELSEWHERE),
        (Request(HOST, "http://evil.example", cookie="cookie"), Verdict.ELSEWHERE),
        (Request(HOST, "http://127.0.0.1:3000", is_socket=True, cookie="cookie"), Verdict.ELSEWHERE),
        (Request(HOST, "https://127.0.0.1:8420", is_socket=True, cookie="cookie"), Verdict.ELSEWHERE),
        (Request(HOST, "null", cookie="cookie"), Verdict.ELSEWHERE),
    ],
)
def test_a_request_is_judged(request_: Request, verdict: Verdict) -> None:
    assert door().decide(request_) is verdict


def test_a_token_serves_once_and_the_browser_that_has_it_may_come_back() -> None:
    opened_door = door()
    assert opened_door.decide(Request(HOST, None, token="token")) is Verdict.EXCHANGE
    assert opened_door.decide(Request(HOST, None, token="token")) is Verdict.USED
    assert opened_door.decide(Request(HOST, None, token="token", cookie="cookie")) is Verdict.EXCHANGE
    assert opened_door.decide(Request(HOST, None, token="token", cookie="other")) is Verdict.USED


def test_a_token_brought_to_the_wrong_place_is_not_used_up() -> None:
    opened_door = door()
    opened_door.decide(Request("evil.example", None, token="token"))
    assert opened_door.decide(Request(HOST, None, token="token")) is Verdict.EXCHANGE


def test_every_door_has_its_own_secrets_and_shows_none() -> None:
    door_, other = Door(ORIGIN), Door(ORIGIN)
    assert len({door_.token, door_.cookie, other.token, other.cookie}) == 4
    assert door_.token not in repr(door_)
    assert door_.cookie not in repr(door_)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.4", False),
        ("localhost.evil.example", False),
        ("laptop.lan", False),
        ("", False),
    ],
)
def test_what_nobody_else_can_reach(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
