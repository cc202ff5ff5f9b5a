"""What signals do to a server: SIGHUP reads its files again, a second SIGTERM or Ctrl-C ends it at once."""

import os
import shutil
import signal
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import trustme

from cloud_server.access import certificate_renewal
from cloud_server.cli import serve
from cloud_server.monitoring import heartbeat
from cloud_server.serving import service
from cloud_server.serving.server import CompanionServer
from models.fake import FakeEngine
from shared.protocol import messages as m
from tests.companion import Phone, Slow
from tests.companion_process import CompanionProcess
from tests.faults import DANUBE, answers, closing, until
from tests.racing import TEXT


def test_sighup_cuts_nobody(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, 0.01)
    phone = Phone(process.url, process.token()).connects()
    request = phone.asks(DANUBE)
    until(lambda: phone.reads() and phone.text(request))
    process.signals(signal.SIGHUP)
    assert isinstance(phone.until_ended(request), m.Finished)
    assert phone.text(request) == TEXT
    until(lambda: "reloaded" in process.log.read_text())
    answers(process, process.token("other"))
    process.terminate()
    assert process.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_twice_it_ends_at_once(tmp_path: Path, number: signal.Signals) -> None:
    process = CompanionProcess(tmp_path, serve={"drain_s": 300.0})
    phone = Phone(process.url, process.token()).connects()
    phone.asks(DANUBE, credit=3)
    process.signals(number)
    until(lambda: any(isinstance(event, m.Goaway) for event in phone.reads()))
    process.signals(number)
    assert closing(phone)[1] == m.CloseCode.RESTARTING
    assert process.ended() == 0


def spoil_hanging(server: CompanionServer) -> None:
    serve.CLOSES_S = 1.0
    corpus = server.answering.corpus
    assert corpus
    corpus.search = lambda *_: time.sleep(600)  # type: ignore[method-assign, assignment]


def test_told_twice_it_ends_although_something_hangs(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, spoil=spoil_hanging, serve={"drain_s": 300.0})
    phone = Phone(process.url, process.token()).connects()
    phone.asks("a search that hangs", generate=False)
    process.terminate()
    until(lambda: any(isinstance(event, m.Goaway) for event in phone.reads()))
    process.terminate()
    assert process.ended() == 1


def test_it_does_not_wait_for_devices_that_are_gone(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, serve={"drain_s": 300.0})
    phone = Phone(process.url, process.token()).connects()
    request = phone.asks(DANUBE, credit=3)
    until(lambda: phone.reads() and phone.text(request))
    phone.cuts()
    process.terminate()
    assert process.ended() == 0


class Certified:
    """A certificate in files, which can be renewed: each time by a new authority."""

    def __init__(self, folder: Path) -> None:
        self.chain, self.key = folder / "chain.pem", folder / "key.pem"
        self.renew()

    def renew(self) -> ssl.SSLContext:
        """Replace the certificate; return a TLS context that trusts only the new one."""
        authority = trustme.CA()
        made = authority.issue_cert("127.0.0.1")
        self.chain.write_bytes(b"".join(part.bytes() for part in made.cert_chain_pems))
        made.private_key_pem.write_to_path(self.key)
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        return trusting


def accepted(process: CompanionProcess, trusting: ssl.SSLContext) -> bool:
    """Return whether this TLS context trusts the certificate of a new connection."""
    with socket.create_connection(("127.0.0.1", process.port)) as plain:
        try:
            with trusting.wrap_socket(plain, server_hostname="127.0.0.1"):
                return True
        except ssl.SSLError:
            return False


@pytest.mark.parametrize("expected", [True, False], ids=["SIGHUP", "by itself"])
def test_new_connections_see_a_renewed_certificate(tmp_path: Path, expected: bool) -> None:
    certified = Certified(tmp_path)
    first = certified.renew()
    serving = {"certificate": str(certified.chain), "key": str(certified.key)}
    process = CompanionProcess(tmp_path, 0.01, spoil=partial(look_every, 600.0 if expected else 0.05), serve=serving)
    phone = Phone(process.url.replace("ws:", "wss:"), process.token(), tls=first).connects()
    assert accepted(process, first)
    second = certified.renew()
    if expected:
        process.signals(signal.SIGHUP)
    until(lambda: accepted(process, second))
    assert not accepted(process, first)
    shutil.copyfile(certified.key, certified.chain)  # no certificate
    process.signals(signal.SIGHUP)
    until(lambda: "the certificate cannot be renewed" in process.log.read_text())
    assert accepted(process, second)
    assert isinstance(phone.until_ended(phone.asks(DANUBE)), m.Finished)
    process.terminate()
    assert process.ended() == 0


def look_every(seconds: float, _server: CompanionServer) -> None:
    certificate_renewal.LOOK_S = seconds


class Hanging(Slow):
    """A fake engine that hangs once it prefills a prompt with the word WORD."""

    WORD = b"hanging"

    def prefill(self, sequence: int, tokens):  # type: ignore[no-untyped-def]
        if self.WORD in bytes(token for token in tokens if token < 256):
            time.sleep(600)
        return super().prefill(sequence, tokens)


def watched(address: str, server: CompanionServer) -> None:
    os.environ.update(NOTIFY_SOCKET=address, WATCHDOG_USEC="200000")
    service.STUCK_S, serve.CLOSES_S = 0.5, 1.0


@pytest.mark.long
def test_the_watchdog_is_fed_while_the_server_serves_and_no_longer(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(30)
        engine: Callable[[], FakeEngine] = partial(Hanging, 0.0)
        process = CompanionProcess(tmp_path, engine=engine, spoil=partial(watched, str(tmp_path / "notify")))
        for _ in range(5):
            assert channel.recv(100) == b"WATCHDOG=1"
        phone = Phone(process.url, process.token()).connects()
        phone.asks(f"something {Hanging.WORD.decode()}", passages=0)
        channel.settimeout(1.5)
        with pytest.raises(TimeoutError):
            while True:
                assert channel.recv(100) == b"WATCHDOG=1"
        phone.cuts()
        process.terminate()
        assert process.ended() == 1


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, None),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "3000000"}, 3.0),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_what_systemd_asks_for(environment: dict[str, str], seconds: float | None) -> None:
    assert heartbeat.watchdog_s(environment) == seconds
