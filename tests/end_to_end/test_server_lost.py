"""A server that cannot go on: it says so, ends soon, and its exit code makes the service manager restart it."""

import asyncio
import time
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cloud_server import build
from cloud_server.access.tokens import TokenFile
from cloud_server.cli import serve, server
from cloud_server.scale.asgi import Application
from cloud_server.serving.server import CompanionServer
from shared.errors import ExitCode, ServerLost
from shared.protocol import messages as m
from storage.paths import HOME_VARIABLE, Paths
from tests.companion import Cursed, Phone, companion
from tests.companion_process import CompanionProcess
from tests.faults import DANUBE, closing, until
from tests.racing import Raced, linked

UNIT = Path(__file__).parents[2] / "scripts" / "jackdaw-server.service"


@pytest.mark.parametrize("word", [Cursed.DIES, Cursed.ENDS])
def test_a_server_whose_generation_has_ended_ends(tmp_path: Path, word: bytes) -> None:
    process = CompanionProcess(tmp_path, engine=partial(Cursed, 0.01), serve={"drain_s": 300.0})
    phones = [Phone(process.url, process.token(f"phone {number}")).connects() for number in range(3)]
    asked = [phone.asks(DANUBE, credit=5) for phone in phones]
    for phone, request in zip(phones, asked, strict=True):
        until(lambda phone=phone, request=request: phone.reads() and phone.text(request))  # type: ignore[misc]
    waiting = phones[0].asks(DANUBE, generate=False, credit=0)
    start = time.monotonic()
    phones[2].asks(f"Is the Danube {word.decode()}?")
    for phone, request in zip(phones, asked, strict=True):
        assert isinstance(phone.until_ended(request), m.Failed)
        while not (goaways := [event for event in phone.inbox if isinstance(event, m.Goaway)]):
            phone.reads()
        assert [goaway.resume_for_s for goaway in goaways] == [0.0]
        assert closing(phone)[1] == m.CloseCode.RESTARTING
    assert waiting in phones[0].session.alive
    assert process.ended() == ExitCode.LOST
    assert time.monotonic() - start < 10
    log = process.log.read_text()
    assert "lost: the generation has ended" in log
    assert "was never retrieved" not in log


def spoil_sweeping(companion_server: CompanionServer) -> None:
    async def sweep() -> None:
        raise ZeroDivisionError

    companion_server.sessions.sweep = sweep  # type: ignore[method-assign]


def spoil_tokens(companion_server: CompanionServer) -> None:
    real, start = companion_server.tokens.entries, time.monotonic()

    def entries() -> Any:
        if time.monotonic() - start > 0.5:
            raise ZeroDivisionError
        return real()

    companion_server.tokens.entries = entries  # type: ignore[method-assign]


@pytest.mark.parametrize("spoil", [spoil_sweeping, spoil_tokens])
def test_a_server_that_looks_after_nothing_any_more_ends(tmp_path: Path, spoil: Any) -> None:
    process = CompanionProcess(tmp_path, spoil=spoil)
    assert process.ended() == ExitCode.LOST
    assert "lost: " in process.log.read_text()


def test_a_server_that_cannot_even_end_is_ended(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, engine=Cursed, spoil=spoil_hanging)
    phone, other = (Phone(process.url, process.token(name)).connects() for name in ("phone", "other"))
    phone.asks("a search that hangs", generate=False)
    other.asks(f"Is it {Cursed.ENDS.decode()}?", passages=0)
    assert process.ended() == ExitCode.LOST


def test_a_server_that_is_lost_while_it_ends_and_hangs_is_ended(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, engine=Cursed, spoil=spoil_hanging, serve={"drain_s": 300.0})
    phone = Phone(process.url, process.token()).connects()
    doomed = phone.asks(f"Is it {Cursed.ENDS.decode()}?", passages=0, credit=0)
    until(lambda: any(isinstance(event, m.Queued) for event in phone.reads()))
    phone.asks("a search that hangs", generate=False)
    process.terminate()
    until(lambda: any(isinstance(event, m.Goaway) for event in phone.reads()))
    phone.says(m.Credit(doomed, 200))
    assert process.ended() == ExitCode.LOST


def spoil_hanging(server: CompanionServer) -> None:
    serve.ENDS_S = 1.0
    corpus = server.answering.corpus
    assert corpus
    corpus.search = lambda *_: time.sleep(600)  # type: ignore[method-assign, assignment]


def test_a_device_goes_on_with_its_answer_where_the_server_is_lost(tmp_path: Path) -> None:
    process = CompanionProcess(tmp_path, engine=partial(Cursed, 0.02))
    attacker = Phone(process.url, process.token("attacker")).connects()
    with linked(process.url, process.token()) as link:
        assert link.wait(30).connected
        doom = f"Is it {Cursed.ENDS.decode()}?"
        raced = Raced(link, acting=lambda raced: attacker.asks(doom) if len(raced.at) == 5 else None)
        assert raced.report.origin == "migrated"
        assert process.ended() == ExitCode.LOST


def test_the_command_ends_with_the_code_on_which_the_unit_starts_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = TokenFile(Paths.locate({HOME_VARIABLE: str(tmp_path)}).server_tokens)
    tokens.create("phone", datetime.now(UTC))
    companion_server = companion(tokens, Cursed(), {})
    spoil_sweeping(companion_server)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setattr(serve, "ensure", lambda *_: None)
    monkeypatch.setattr(serve, "begin_logging", lambda *_, **__: None)
    monkeypatch.setattr(serve, "_end_within", lambda *_: None)
    monkeypatch.setattr(build, "server", lambda *_: companion_server)
    result = CliRunner().invoke(server, ["serve", "--json"])
    assert isinstance(result.exception, ServerLost)
    assert result.exception.exit_code == ExitCode.LOST
    lines = UNIT.read_text().splitlines()
    assert "Restart=on-failure" in lines
    assert f"RestartForceExitStatus={ExitCode.LOST:d}" in lines


def test_behind_another_server_its_health_says_so(tmp_path: Path) -> None:
    async def health() -> list[int]:
        service = companion(TokenFile(tmp_path / "tokens.json"), Cursed(), {})
        spoil_sweeping(service)
        application, said = Application(service), []
        service.start()
        await asyncio.wait_for(service.ending.wait(), 30)
        try:
            for path in ("/healthz", "/readyz"):

                async def send(message: dict[str, Any]) -> None:
                    if "status" in message:
                        said.append(message["status"])

                await application({"type": "http", "path": path}, asyncio.Future, send)
        finally:
            service.stop()
        return said

    assert asyncio.run(health()) == [HTTPStatus.SERVICE_UNAVAILABLE] * 2
