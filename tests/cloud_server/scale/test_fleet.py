"""Two replicas behind Ray Serve on one machine, and one of them killed in the middle of an answer."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import InvalidStatus

from cloud_server.access.tokens import TokenFile
from shared.protocol import messages as m
from tests.companion import Cursed, Phone
from tests.network.namespaces import NotPossible, alone
from tests.racing import QUESTION, TEXT, Raced, linked

pytest.importorskip("ray.serve", reason="needs the scale extra")
pytestmark = [pytest.mark.scale, pytest.mark.timeout(240)]

PORT = 18_765  # of a network of its own
ROOT = Path(__file__).parents[3]


@contextmanager
def fleet(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start two replicas and wait until they serve; check afterwards that no process of theirs is left."""
    environment = os.environ | {
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "RAY_SERVE_ENABLE_HA_PROXY": "0",
    }
    command = [sys.executable, "-m", "tests.fleet_process", str(PORT), str(folder / "tokens.json")]
    with (folder / "ray.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT, env=environment
        )
    assert process.stdin and process.stdout
    started: list[psutil.Process] = []
    try:
        while (line := process.stdout.readline()) != "ready\n":
            assert line, (folder / "ray.log").read_text()[-3000:]
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            started = psutil.Process(process.pid).children(recursive=True)
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        left = psutil.wait_procs(started, timeout=10)[1]
        for child in left:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        assert not left


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_replica_is_killed_and_the_others_devices_notice_nothing(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    url = f"ws://127.0.0.1:{PORT}/"

    def token(name: str) -> str:
        return tokens.create(name, datetime.now(UTC))[1]

    token("nobody yet")
    try:
        with alone(), fleet(tmp_path), ExitStack() as closing:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=10) as answer:
                assert answer.read() == b"alive\n"
            with pytest.raises(InvalidStatus) as refused:
                Phone(url, "jackdaw_0_0").connects()
            assert refused.value.response.status_code == 401

            link = closing.enter_context(linked(url, token("moves")))
            assert link.wait(30).connected
            assert link.state.offer
            killed = link.state.offer.model
            phones: list[tuple[str, Phone]] = []
            until(lambda: others(url, token, phones, killed))
            spared = [phone for pid, phone in phones if pid != killed]

            def asks(phone: Phone) -> str:
                request = phone.asks(QUESTION.text)
                ended = phone.until_ended(request)  # a connection that was cut would raise
                assert isinstance(ended, m.Finished)
                return phone.text(request)

            def kill(raced: Raced) -> None:
                if len(raced.at) == 20:
                    os.kill(int(killed), signal.SIGKILL)

            with ThreadPoolExecutor(len(spared)) as pool:
                asked = [pool.submit(asks, phone) for phone in spared]
                raced = Raced(link, acting=kill)
                assert [future.result() for future in asked] == [TEXT] * len(spared)
            assert (raced.text, raced.report.origin) == (TEXT, "migrated")
            assert len(raced.at) == len(TEXT)

            until(lambda: link.state.connected and link.state.offer and link.state.offer.model != killed)
            again = Raced(link)
            assert (again.text, again.report.origin) == (TEXT, "cloud")
            assert [asks(phone) for phone in spared] == [TEXT] * len(spared)
    except NotPossible as reason:
        pytest.skip(str(reason))
    assert not (tmp_path / ".ray").exists()


def test_a_replica_that_cannot_go_on_is_replaced(tmp_path: Path) -> None:
    tokens = TokenFile(tmp_path / "tokens.json")
    url = f"ws://127.0.0.1:{PORT}/"
    token = tokens.create("attacker", datetime.now(UTC))[1]
    try:
        with alone(), fleet(tmp_path):
            attacker = Phone(url, token).connects()
            assert attacker.session.offer
            lost = attacker.session.offer.model
            failed = attacker.until_ended(attacker.asks(f"Is it {Cursed.ENDS.decode()}?"))
            assert isinstance(failed, m.Failed)
            until(lambda: not psutil.pid_exists(int(lost)))
            answered: set[str] = set()
            while len(answered) < 2:
                phone = Phone(url, token).connects()
                request = phone.asks(QUESTION.text)
                assert isinstance(phone.until_ended(request), m.Finished)
                assert phone.session.offer
                answered.add(phone.session.offer.model)
                phone.cuts()
            assert lost not in answered
    except NotPossible as reason:
        pytest.skip(str(reason))


def test_the_token_of_a_cluster_is_named_while_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cloud_server.scale import fleet as module

    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    with module._token(str(tmp_path)):
        assert Path(os.environ["RAY_AUTH_TOKEN_PATH"]).read_text()
    assert "RAY_AUTH_TOKEN_PATH" not in os.environ
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "own")
    with module._token(str(tmp_path)):
        assert os.environ["RAY_AUTH_TOKEN_PATH"] == "own"
    assert os.environ["RAY_AUTH_TOKEN_PATH"] == "own"


def others(url: str, token: Callable[[str], str], phones: list[tuple[str, Phone]], killed: str) -> bool:
    """Connect another phone; return whether at least two phones are with the replica that is not killed."""
    phone = Phone(url, token(f"phone {len(phones)}")).connects()
    assert phone.session.offer
    phones.append((phone.session.offer.model, phone))
    return sum(pid != killed for pid, _ in phones) >= 2
