"""`jackdaw-server pair`: what it prints, how it ends, and its errors if no device can be paired."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cloud_server.access.pairing import PairingFile, Record, WrongProof
from cloud_server.access.tokens import TokenFile, new_token
from cloud_server.cli import pair as command
from cloud_server.cli import run
from cloud_server.serving import running
from cloud_server.serving.running import RunningServer
from shared.errors import UsageError
from shared.pairing.code import read_code, read_link
from storage.paths import Paths
from tests.conftest import Terminal
from tests.pairing import Pairing, pairing

__all__ = ["pairing"]

HERE = RunningServer("127.0.0.1", 1, True, (), 1)
PROGRAM = (sys.executable, "-c", "from cloud_server.cli import main; main()")


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    monkeypatch.setenv("JACKDAW_HOME", str(tmp_path / "home"))
    return Paths.locate(os.environ)


@pytest.fixture
def served(paths: Paths, pairing: Pairing) -> Pairing:
    """A running server, whose address is in the file in which `serve` publishes it to other processes."""
    running.announce(paths.server_running, replace(HERE, port=pairing.served.port))
    return pairing


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (None, "No server runs here as your user. Start one first: jackdaw-server serve --host 0.0.0.0"),
        (
            replace(HERE, tls=False),
            "only this machine can reach. Let other machines connect: jackdaw-server serve --host",
        ),
        (replace(HERE, tls=False, host="0.0.0.0"), "serve.behind_tls"),
        (HERE, "The server does not answer on port 1"),
    ],
)
def test_where_no_device_can_be_let_in(
    paths: Paths, capsys: pytest.CaptureFixture[str], server: RunningServer | None, said: str
) -> None:
    if server:
        running.announce(paths.server_running, server)
    assert run(["pair"]) == 2
    assert said in capsys.readouterr().err
    assert PairingFile(paths.server_pairing).read() is None


def test_another_user_makes_no_code_that_the_server_cannot_read(
    paths: Paths, served: Pairing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert run(["pair"]) == 2
    assert f"sudo -u '#{os.getuid()}' jackdaw-server pair" in capsys.readouterr().err
    assert PairingFile(paths.server_pairing).read() is None


def test_root_pairs_for_a_server_of_another_user(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    running.announce(paths.server_running, HERE)
    if os.getuid() == 0:
        os.chown(paths.server_running, 4321, 4321)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert command._server(paths) == HERE


def pairs(file: PairingFile, tokens: TokenFile, name: str) -> None:
    """Wait until there is a pairing code, then pair a device with it, as the server does."""
    while (record := file.read()) is None:
        time.sleep(0.01)
    assert file.complete(record.id, name, new_token(), tokens, datetime.now(UTC))


def test_it_shows_code_and_link_and_waits_until_a_device_is_paired(
    paths: Paths, served: Pairing, capsys: pytest.CaptureFixture[str]
) -> None:
    file, tokens = PairingFile(paths.server_pairing), TokenFile(paths.server_tokens)
    device = threading.Thread(target=pairs, args=(file, tokens, "annas-phone"))
    device.start()
    assert run(["pair"]) == 0
    device.join()
    shown = capsys.readouterr()
    link = re.search(r"jackdaw connect '(.*)'", shown.out)
    lines = re.findall(r"^  jackdaw connect (\S+) (\S+)$", shown.out, re.MULTILINE)
    assert link
    assert [(read_code(code), place) for code, place in lines] == [
        (read_link(link[1]).secret, f"127.0.0.1:{served.served.port}")
    ]
    assert read_link(link[1]).pin == served.pin
    assert "█" not in shown.out  # no terminal
    assert 'Paired with annas-phone. To revoke its access: jackdaw-server token revoke "annas-phone"' in shown.err
    assert "only this machine can reach" in shown.err  # 127.0.0.1
    assert file.read() is None


def test_for_a_script(paths: Paths, served: Pairing, capsys: pytest.CaptureFixture[str]) -> None:
    file, tokens = PairingFile(paths.server_pairing), TokenFile(paths.server_tokens)
    device = threading.Thread(target=pairs, args=(file, tokens, "phone"))
    device.start()
    assert run(["pair", "--json", "--name", "anna", "--address", "server.lan", "--address", "[fd00::1]:443"]) == 0
    device.join()
    output = json.loads(capsys.readouterr().out)
    assert output["addresses"] == [f"server.lan:{served.served.port}", "[fd00::1]:443"]
    assert read_link(output["link"]).secret == read_code(output["code"])
    left = datetime.fromisoformat(output["expires_at"]) - datetime.now(UTC)
    assert timedelta(minutes=9) < left <= timedelta(minutes=10)
    assert [entry.name for entry in tokens.entries()] == ["anna"]
    assert run(["pair", "--json", "--name", "anna"]) == 2  # there is one of that name
    assert run(["pair", "--address", "a b"]) == 2
    assert run(["pair", *["--address=a"] * 5]) == 2


def tries(file: PairingFile, record: Record, now: datetime) -> None:
    for _ in range(5):
        with pytest.raises(WrongProof):
            file.attempt(lambda _: False, now)


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (tries, "A wrong code was entered five times"),
        (lambda file, record, now: file.open("ab" * 32, "", now), "This pairing code was withdrawn"),
        (lambda file, record, now: file.withdraw(record.id), "This pairing code was withdrawn"),
        (
            lambda file, record, now: file._write(replace(record, opened_at=now - timedelta(minutes=10))),
            "expired after ten minutes",
        ),
    ],
)
def test_how_a_code_ends_without_a_device(
    paths: Paths,
    served: Pairing,
    capsys: pytest.CaptureFixture[str],
    happens: Callable[[PairingFile, Record, datetime], object],
    said: str,
) -> None:
    file = PairingFile(paths.server_pairing)

    def act() -> None:
        while (record := file.read()) is None:
            time.sleep(0.01)
        happens(file, record, datetime.now(UTC))

    thread = threading.Thread(target=act)
    thread.start()
    assert run(["pair"]) == 1
    thread.join()
    assert f"{said}" in (output := capsys.readouterr().err)
    assert "Nothing was paired. Make a new code: jackdaw-server pair" in output


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_withdraws_the_code(paths: Paths, served: Pairing, how: signal.Signals) -> None:
    file = PairingFile(paths.server_pairing)
    with subprocess.Popen([*PROGRAM, "pair", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["code"]
        assert file.is_open(datetime.now(UTC))
        process.send_signal(how)
        assert process.wait(30) == 130
    assert file.read() is None


def test_on_a_terminal_it_shows_a_qr_code_and_the_time_left(
    paths: Paths, served: Pairing, terminal: Callable[..., Terminal]
) -> None:
    shown = terminal([*PROGRAM, "pair"], os.environ, 80, 40)
    shown.awaits(r"[█▀▄ ]{30,}")
    shown.awaits(r"\d:[0-5]\d left")
    with pytest.raises(WrongProof):
        PairingFile(paths.server_pairing).attempt(lambda _: False, datetime.now(UTC))
    shown.awaits("4 of 5 tries")
    assert shown.ends(signal.SIGINT) == 130
    assert PairingFile(paths.server_pairing).read() is None


@pytest.mark.parametrize(("columns", "rows"), [(30, 40), (80, 10)])
def test_where_there_is_no_room_for_the_qr_code_it_is_said(
    paths: Paths, served: Pairing, terminal: Callable[..., Terminal], columns: int, rows: int
) -> None:
    shown = terminal([*PROGRAM, "pair"], os.environ, columns, rows)
    shown.awaits(r"too small for the[\s\S]*Or type")
    shown.ends(signal.SIGINT)


@pytest.mark.parametrize(
    ("server", "reached"),
    [
        (replace(HERE, host="192.0.2.7", port=8765), ["192.0.2.7:8765"]),
        (replace(HERE, host="fd00::1"), ["[fd00::1]:1"]),
        (replace(HERE, host="0.0.0.0", names=("*.example", "bird.example")), ["bird.example:1", "198.51.100.2:1"]),
        (replace(HERE, host="::"), ["[2001:db8::2]:1"]),
        (replace(HERE, host="server.lan"), ["server.lan:1"]),
    ],
)
def test_where_devices_reach_a_server(
    monkeypatch: pytest.MonkeyPatch, server: RunningServer, reached: list[str]
) -> None:
    monkeypatch.setattr(running, "_outward", lambda version: ["198.51.100.2" if version == 4 else "2001:db8::2"])
    assert list(server.reached_at()) == reached


def test_without_a_network_it_is_the_host_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_outward", lambda _: [])
    monkeypatch.setattr("socket.gethostname", lambda: "attic")
    assert replace(HERE, host="0.0.0.0").reached_at() == ("attic:1",)


@pytest.mark.parametrize(
    ("typed", "place"),
    [("server.lan", "server.lan:7"), ("a:9", "a:9"), ("fd00::1", "[fd00::1]:7"), ("[fd00::1]", "[fd00::1]:7")],
)
def test_an_address_as_people_write_it(typed: str, place: str) -> None:
    assert command._with_port(typed, 7) == place


def test_what_is_no_address() -> None:
    for text in ("", "a/b", "wss://a", "a b", "ä"):
        with pytest.raises(UsageError, match="is not an address"):
            command._with_port(text, 7)


def test_a_server_takes_away_what_it_told_alone(tmp_path: Path) -> None:
    file = tmp_path / "server.json"
    running.announce(file, HERE)
    running.forget(file, 2)
    assert running.read(file) == HERE
    running.forget(file, 1)
    assert running.read(file) is None
    running.forget(file, 1)
    file.write_text("{")
    assert running.read(file) is None
