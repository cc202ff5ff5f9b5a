"""`jackdaw status` and `jackdaw doctor` for the companion server: with real servers, and with other programs at its
address.
"""

import json
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme

from device_app.cli import doctor
from device_app.companion import opening
from device_app.companion.dispatch.day import Days
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from models.engine import Engine
from models.fake import FakeEngine
from shared.errors import WeightsMissing
from storage.paths import Paths
from tests.companion import Serve, Served, serve
from tests.devices import fake_device
from tests.faults import saying
from tests.limits import wait_at_most

__all__ = ["serve"]


@pytest.fixture(autouse=True)
def without_weights(jackdaw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jackdaw.make = fake_device
    for check in ("_engine", "_embedder", "_weights"):
        monkeypatch.setattr(doctor, check, lambda *_: iter([]))


@pytest.fixture
def kept(paths: Paths) -> Callable[..., None]:
    """Returns a function that stores a server's address and token as this device's companion server."""

    def keep(url: str, token: str = "jackdaw_token", authority: str | None = None) -> None:
        paths.create()
        credentials.save(paths.link, Credentials(url, token, authority))

    return keep


@pytest.fixture
def connected(serve: Serve, kept: Callable[..., None]) -> Served:
    served = serve()
    kept(served.url, served.token())
    return served


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a socket that accepts connections but never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"ws://127.0.0.1:{listening.getsockname()[1]}/"


def server(jackdaw: Any) -> Any:
    outcome = jackdaw("status", "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)["server"]


def finding(jackdaw: Any) -> Any:
    findings = json.loads(jackdaw("doctor", "--json").out)["findings"]
    return [finding for finding in findings if finding["check"] == "server"]


def words(text: str) -> str:
    return " ".join(text.split())


def test_without_a_server_one_line_says_how_to_have_one(jackdaw: Any) -> None:
    assert server(jackdaw) is None
    assert json.loads(jackdaw("status", "--json").out)["spent"] is None
    (line,) = [line for line in jackdaw("status").out.splitlines() if line.startswith("Server")]
    assert "jackdaw connect URL" in line
    assert [(entry["level"], entry["mend"]) for entry in finding(jackdaw)] == [("ok", "")]


def test_a_server_tells_its_model_its_distance_and_what_it_may_receive(connected: Served, jackdaw: Any) -> None:
    status = server(jackdaw)
    assert status.pop("round_trip_ms") > 0
    assert status == {
        "url": connected.url,
        "allowed": True,
        "connected": True,
        "why": "",
        "cause": None,
        "refused": False,
        "model": "fake",
        "same_vocabulary": True,
        "receives": ["question", "answer", "drafts"],
        "privacy": "drafts",
        "model_only": True,
    }
    shown = words(jackdaw("status").out)
    assert "connected, " in shown
    assert "It answers with fake (the same vocabulary as your model)." in shown
    assert "It may receive questions, and requests that need no file; the beginnings of answers that move" in shown
    assert "to the server; drafts of answers" in shown
    assert "your files never." in shown
    (entry,) = finding(jackdaw)
    assert (entry["level"], entry["mend"]) == ("ok", "")


def test_what_today_took_and_what_is_left_is_told(
    connected: Served, jackdaw: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = date.today().isoformat()
    Days(paths.dispatch_spent).add(1_250, 0.02)
    monkeypatch.setenv("JACKDAW_LINK_DAY_JOULES", "5000")
    assert json.loads(jackdaw("status", "--json").out)["spent"] == {
        "date": today,
        "joules": 1250.0,
        "joules_left": 3750.0,
        "money": 0.02,
        "money_left": None,
    }
    said = (
        "Today's answers took 1,250 joules on this device (3,750 left of link.day_joules) and 0.02 in your currency on"
    )
    assert said in words(jackdaw("status").out)


def test_what_an_open_device_lets_the_server_have_is_said(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "token probabilities" not in words(jackdaw("status").out)
    monkeypatch.setenv("JACKDAW_LINK_PRIVACY", "open")
    assert "with your model's token probabilities (link.privacy = open)" in words(jackdaw("status").out)


def test_another_vocabulary_is_said_and_no_fault(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "vocabulary_hash", lambda _: "another")
    assert server(jackdaw)["same_vocabulary"] is False
    assert "answers move to the server as text" in words(jackdaw("status").out)
    assert [entry["level"] for entry in finding(jackdaw)] == ["ok"]


def test_where_nothing_may_be_sent_nobody_dials(
    silent: str, kept: Callable[..., None], jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(silent)
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", "false")
    monkeypatch.setattr(opening, "open_link", lambda *_: pytest.fail("it dialled"))
    assert (server(jackdaw)["allowed"], server(jackdaw)["connected"]) == (False, False)
    assert "jackdaw config set link.allowed true" in jackdaw("status").out
    assert [entry["level"] for entry in finding(jackdaw)] == ["ok"]


def gone(serve: Serve, kept: Callable[..., None], tmp_path: Path, ends: ExitStack) -> None:
    served = serve()
    kept(served.url, served.token())
    served.end()


def stranger(serve: Serve, kept: Callable[..., None], tmp_path: Path, ends: ExitStack) -> None:
    kept(serve().url, "jackdaw_wrong")


def speaking(words: str) -> Callable[..., None]:
    """Let another program run at the server's address, which answers everything with these words."""

    def happened(serve: Serve, kept: Callable[..., None], tmp_path: Path, ends: ExitStack) -> None:
        kept(ends.enter_context(saying(words)))

    return happened


def unknown_authority(serve: Serve, kept: Callable[..., None], tmp_path: Path, ends: ExitStack) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(key)
    served = serve(serve={"certificate": str(certificate), "key": str(key)})
    kept(served.url, served.token())


@pytest.mark.parametrize(
    ("happened", "level", "why", "mend"),
    [
        (gone, "warn", "cannot be reached", "Is the server running"),
        (stranger, "fail", "does not know this token", "jackdaw connect ws://127.0.0.1:"),
        (speaking("SSH-2.0-OpenSSH_9.9\r\n\r\n"), "fail", "no companion server", "Check the server's address"),
        (speaking("HTTP/1.1 404 Gone\r\n\r\n"), "fail", "the server answers 404", "Check the server's address"),
        (unknown_authority, "fail", "certificate is not valid", "--authority FILE"),
    ],
    ids=["gone", "token", "another protocol", "a web server", "certificate"],
)
def test_what_is_wrong_is_told_with_its_mend(
    happened: Any,
    level: str,
    why: str,
    mend: str,
    serve: Serve,
    kept: Callable[..., None],
    jackdaw: Any,
    tmp_path: Path,
) -> None:
    with ExitStack() as ends:
        happened(serve, kept, tmp_path, ends)
        status = server(jackdaw)
        assert (status["connected"], status["round_trip_ms"]) == (False, None)
        assert why in status["why"]
        assert "not connected: " in words(jackdaw("status").out)
        (entry,) = finding(jackdaw)
    assert (entry["level"], why in entry["said"], mend in entry["mend"]) == (level, True, True)


def test_who_says_nothing_is_not_waited_for(
    silent: str, kept: Callable[..., None], jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(silent)
    wait_at_most(monkeypatch, check_s=0.2)
    assert server(jackdaw)["why"] == "the server did not answer within 0.2 s"


def test_a_model_that_is_not_here_is_what_is_wrong(
    connected: Served, jackdaw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Engine:
        raise WeightsMissing("It is not here. Run: jackdaw models pull smollm2-135m")

    jackdaw.make = partial(fake_device, engine=missing)
    assert "jackdaw models pull" in server(jackdaw)["why"]
    (entry,) = finding(jackdaw)
    assert (entry["level"], entry["mend"]) == ("warn", "")


def test_credentials_that_are_damaged_or_open_are_mended(connected: Served, jackdaw: Any, paths: Paths) -> None:
    paths.link.chmod(0o644)
    first, second = finding(jackdaw)
    assert (first["level"], first["mend"], second["level"]) == ("warn", f"Run: chmod 600 {paths.link}", "ok")
    paths.link.chmod(0o600)
    paths.link.write_text("{")
    assert server(jackdaw)["url"] is None
    assert "Connect again" in words(jackdaw("status").out)
    (entry,) = finding(jackdaw)
    assert (entry["level"], entry["mend"]) == ("fail", "Run: jackdaw connect URL")
    assert stat.S_IMODE(paths.link.stat().st_mode) == 0o600


def test_certificates_that_are_gone_are_named(jackdaw: Any, kept: Callable[..., None], tmp_path: Path) -> None:
    kept("wss://127.0.0.1:9/", authority=str(tmp_path / "ca.pem"))
    (entry,) = finding(jackdaw)
    assert (entry["level"], "--authority FILE" in entry["mend"]) == ("fail", True)
    assert str(tmp_path / "ca.pem") in entry["said"]
