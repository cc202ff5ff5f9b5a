"""`jackdaw connect`, `disconnect`, and a public question, against a real server."""

import io
import json
import os
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from cloud_server.access.self_signed import own_certificate
from device_app.companion.link.credentials import server_url
from device_app.companion.link.pairing import pairing_url
from device_app.question.answer import NOT_FOLLOWED, NOTHING_ANYWHERE, NOTHING_FOUND
from models.fake import FakeEngine
from shared.errors import UsageError
from shared.pairing.code import typed
from storage.paths import Paths
from tests.companion import FACTS, FewPassages, Serve, Served, serve
from tests.devices import fake_device
from tests.faults import saying
from tests.limits import wait_at_most
from tests.pairing import Pairing, pairing

__all__ = ["pairing", "serve"]

DANUBE = "Which countries does the Danube flow through, and where?"


@pytest.fixture
def notes(tmp_path: Path, jackdaw: Any) -> Path:
    """A folder of notes that a fake device has read."""
    jackdaw.make = fake_device
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "drill.md").write_text("Petra has borrowed the blue drill.")
    assert jackdaw("add", str(folder)).code == 0
    return folder


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("wss://server.example:8765", "wss://server.example:8765/"),
        ("https://server.example", "wss://server.example/"),
        ("server.example:8765", "wss://server.example:8765/"),
        ("127.0.0.1:8765", "ws://127.0.0.1:8765/"),
        ("ws://localhost:1/jackdaw", "ws://localhost:1/jackdaw"),
        ("[::1]:8765", "ws://[::1]:8765/"),
    ],
)
def test_addresses_as_people_write_them(typed: str, url: str) -> None:
    assert server_url(typed) == url


@pytest.mark.parametrize(
    "typed", ["", "ftp://a", "ws://server.example", "http://10.0.0.1:8765", "a:b:c", "wss://u:p@a", "a:99999999"]
)
def test_what_is_no_address_or_not_safe_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        server_url(typed)


@pytest.fixture
def connected(notes: Path, serve: Serve, jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A device that is connected to a server of this process."""
    served = serve()
    monkeypatch.setattr(sys, "stdin", io.StringIO(served.token() + "\n"))
    outcome = jackdaw("connect", served.url)
    assert outcome.code == 0, outcome.err
    assert "never" in outcome.out
    return served


def test_a_public_question_is_answered_from_the_servers_passages(connected: Served, jackdaw: Any) -> None:
    answer = json.loads(jackdaw("ask", "--json", DANUBE).out)
    assert (answer["answer"], answer["found"]) == (FACTS[0][1], True)
    assert answer["origin"] in ("cloud", "device", "migrated")
    ((source),) = answer["sources"]
    assert (source["side"], source["title"], source["path"]) == ("server", "Rivers", "facts/Rivers.txt")
    assert answer["egress"]["items"][0] == "the question"
    assert answer["egress"]["bytes"] > len(DANUBE)
    assert answer["trace"]["decided"]


@pytest.mark.parametrize(
    "words",
    [("--local-only", DANUBE), (f"in:notes {DANUBE}",), ("Who has the blue drill?",), ("-c", "And where does it end?")],
)
def test_what_is_the_persons_own_is_not_sent(connected: Served, jackdaw: Any, words: tuple[str, ...]) -> None:
    jackdaw("ask", "Who has the blue drill?")
    answer = json.loads(jackdaw("ask", "--json", *words).out)
    assert answer["egress"] == {"bytes": 0, "items": []}
    assert answer["origin"] in ("device", "qa_bank")
    assert connected.server.metrics.search._sum.get() == 0


def test_nothing_is_sent_where_the_setting_forbids_it(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", "false")
    assert json.loads(jackdaw("ask", "--json", DANUBE).out)["egress"]["bytes"] == 0


@pytest.mark.parametrize(
    ("allowed", "words", "says"),
    [
        ("false", (DANUBE,), "link.allowed is off"),
        ("false", (f"in:notes {DANUBE}",), "A question with filters"),
        ("true", ("--local-only", DANUBE), "--local-only"),
        ("false", ("Who has the blue drill?",), ""),
    ],
)
def test_it_is_said_in_a_line_why_no_server_was_asked(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch, allowed: str, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", allowed)
    said = jackdaw("ask", *words).err
    assert (says in said, len(said.splitlines())) == (True, int(bool(says)))


def test_a_server_that_is_gone_is_said_and_nothing_is_found(connected: Served, jackdaw: Any) -> None:
    connected.end()
    answer = json.loads(jackdaw("ask", "--json", DANUBE).out)
    assert (answer["found"], answer["egress"]["bytes"]) == (False, 0)
    assert "cannot be reached" in answer["trace"]["decided"][0]
    assert jackdaw("ask", DANUBE).err.startswith(
        f"The server at 127.0.0.1:{connected.port} cannot be asked: it cannot be reached: "
    )


def test_what_follows_on_a_servers_answer_is_told_to_be_asked_whole(connected: Served, jackdaw: Any) -> None:
    text = jackdaw("ask", DANUBE).out
    assert "facts/Rivers.txt · the server" in text
    follows = jackdaw("ask", "-c", "And where does it rise?")
    assert (follows.code, follows.err) == (3, "")
    assert follows.out == f"{NOTHING_FOUND} {NOT_FOLLOWED}\n"
    assert NOT_FOLLOWED.split()[-1] in jackdaw("why").out


def test_a_server_that_has_nothing_either_is_named(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FewPassages, "search", lambda *_: [])
    outcome = jackdaw("ask", DANUBE)
    assert (outcome.code, outcome.out, outcome.err) == (3, f"{NOTHING_ANYWHERE}\n", "")
    assert "Why" not in jackdaw("why").out


def test_the_token_is_kept_to_oneself_and_forgotten_at_leaving(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Paths.locate(os.environ).link
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert jackdaw("disconnect").code == 0
    assert not kept.exists()
    assert jackdaw("disconnect").code == 3


def test_what_a_server_calls_itself_commands_no_terminal(
    notes: Path, serve: Serve, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = replace(FakeEngine().info, model="model\x1b]0;yours\x07\x1b[2J")
    monkeypatch.setattr(FakeEngine, "info", property(lambda _: info))
    served = serve()
    monkeypatch.setattr(sys, "stdin", io.StringIO(served.token() + "\n"))
    for outcome in (jackdaw("connect", served.url), jackdaw("ask", DANUBE), jackdaw("why")):
        assert outcome.code == 0, outcome.err
        assert "model" in outcome.out
        assert outcome.out.replace("\n", "").isprintable()


def test_a_token_that_is_wrong_is_not_kept(
    notes: Path, serve: Serve, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    monkeypatch.setattr(sys, "stdin", io.StringIO("jackdaw_wrong\n"))
    outcome = jackdaw("connect", served.url)
    assert outcome.code == 1
    assert "token" in outcome.err
    assert not Paths.locate(os.environ).link.exists()
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert jackdaw("connect", served.url).code == 2


def test_a_device_is_paired_and_forgets_it_at_leaving(
    notes: Path, pairing: Pairing, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.node", lambda: "annas-phone")
    _, invitation = pairing.opens()
    outcome = jackdaw("connect", typed(invitation.secret).lower(), f"127.0.0.1:{pairing.served.port}")
    assert outcome.code == 0, outcome.err
    assert "Paired with wss://127.0.0.1" in outcome.err
    assert "which calls this device annas-phone" in outcome.err
    kept = Paths.locate(os.environ).link
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(jackdaw("ask", "--json", DANUBE).out)["answer"] == FACTS[0][1]
    assert json.loads(jackdaw("status", "--json").out)["server"]["connected"]
    pairing.served.tokens.revoke("annas-phone")
    assert "does not know this token" in jackdaw("status").out
    assert jackdaw("disconnect").code == 0
    assert not kept.exists()


def test_a_server_with_another_key_is_not_asked_and_the_next_step_is_named(
    notes: Path, pairing: Pairing, serve: Serve, jackdaw: Any, tmp_path: Path
) -> None:
    _, invitation = pairing.opens()
    assert jackdaw("connect", invitation.link()).code == 0
    other = serve(serve={"certificate": str(own_certificate(tmp_path / "other.pem"))})
    kept = Paths.locate(os.environ).link
    kept.write_text(kept.read_text().replace(str(pairing.served.port), str(other.port)))
    assert "the server's key is not the one" in jackdaw("status").out
    asked = json.loads(jackdaw("ask", "--json", DANUBE).out)
    assert (asked["found"], asked["egress"]["bytes"]) == (False, 0)
    assert "pair again: jackdaw-server pair" in jackdaw("doctor").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("JACKDAW:7K3M",), "pairing link is incomplete"),
        ((typed(5),), f"jackdaw connect {typed(5)} HOST"),
        ((typed(5)[:-1], "server.lan"), "no pairing code"),
        ((typed(5)[:-1] + "Z", "server.lan"), "typing mistake"),
        ((typed(5), "ws://server.lan"), "without ws://"),
        ((typed(5), "a b"), "not a server's address"),
        ((typed(5), "server.lan", "--authority", __file__), "needs no --authority"),
    ],
)
def test_what_cannot_be_paired_with_is_said_at_once(jackdaw: Any, words: tuple[str, ...], said: str) -> None:
    outcome = jackdaw("connect", *words)
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())
    assert not Paths.locate(os.environ).link.exists()


@pytest.mark.parametrize(
    ("typed_", "url"),
    [
        ("192.168.1.20", "wss://192.168.1.20:8765/"),
        ("server.lan:443", "wss://server.lan:443/"),
        ("[fd00::1]", "wss://[fd00::1]:8765/"),
        ("wss://server.lan", "wss://server.lan:8765/"),
    ],
)
def test_where_a_device_pairs(typed_: str, url: str) -> None:
    assert pairing_url(typed_) == url


def fails_to_connect(jackdaw: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO("jackdaw_any\n"))
    wait_at_most(monkeypatch, pair_s=5.0)
    outcome = jackdaw("connect", *arguments)
    assert outcome.code == 1
    return " ".join(outcome.err.split())


def test_what_may_have_been_meant_instead_is_named(
    notes: Path, serve: Serve, jackdaw: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority, chain, key = trustme.CA(), tmp_path / "chain.pem", tmp_path / "key.pem"
    made = authority.issue_cert("127.0.0.1")
    chain.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
    made.private_key_pem.write_to_path(key)
    secure = serve(serve={"certificate": str(chain), "key": str(key)})
    said = fails_to_connect(jackdaw, monkeypatch, secure.url)
    assert 0 < said.index("jackdaw-server pair") < said.index(f"jackdaw connect {secure.url} --authority FILE")
    assert "try wss://" in fails_to_connect(jackdaw, monkeypatch, secure.url.replace("wss:", "ws:"))
    wrong = notes / "drill.md"
    assert f"{wrong} holds no certificates" in fails_to_connect(
        jackdaw, monkeypatch, secure.url, "--authority", str(wrong)
    )
    assert "Try ws://" in fails_to_connect(jackdaw, monkeypatch, serve().url.replace("ws:", "wss:"))
    with saying("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as url:
        assert "is it the metrics port?" in fails_to_connect(jackdaw, monkeypatch, url)
