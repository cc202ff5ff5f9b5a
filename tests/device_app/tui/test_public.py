"""In the app, a question that one's own files do not answer: asked of a real server, and said so."""

from pathlib import Path
from typing import Any

import pytest

from device_app.link import credentials
from device_app.link.credentials import Credentials
from storage.paths import Paths
from tests.companion import FACTS, Serve, Served, serve

__all__ = ["serve"]

DANUBE = "Which countries does the Danube flow through, and where?"


@pytest.fixture
def connected(paths: Paths, serve: Serve) -> Served:
    served = serve()
    paths.create()
    credentials.save(paths.link, Credentials(served.url, served.token()))
    return served


async def test_the_servers_answer_wears_its_badge_its_source_and_what_left(
    person: Any, notes: Path, connected: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_SPARE", "0")
    async with person.at(100, 40):
        await person.asks(DANUBE)
        seen = person.sees()
        assert FACTS[0][1].partition(" countries")[0] in seen
        assert "● server · " in seen
        assert "nothing left this device" not in seen
        assert "Rivers.txt · the server" in seen
        await person.presses("escape", "1")
        await person.until(lambda: "Source 1 of 1" in person.sees())
        assert "public passages" in person.sees()
        assert "ten countries" in person.sees()
        await person.presses("escape")
        await person.sends("/why")
        await person.until(lambda: "the server alone" in person.sees())


async def test_nothing_is_asked_of_a_server_where_the_setting_forbids_it(
    person: Any, notes: Path, connected: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", "false")
    async with person.at():
        await person.asks(DANUBE)
        assert "nothing found" in " ".join(person.sees().split())
        assert "as link.allowed is off" in " ".join(person.sees().split())


async def test_a_server_that_cannot_be_asked_is_said(person: Any, notes: Path, connected: Served) -> None:
    connected.end()
    async with person.at(100, 40):
        await person.asks(DANUBE)
        assert "The server cannot be reached" in " ".join(person.sees().split())


async def test_what_follows_on_a_servers_answer_is_told_to_be_asked_whole(
    person: Any, notes: Path, connected: Served
) -> None:
    async with person.at(100, 40):
        await person.until(lambda: "the companion server is asked" in person.sees())
        await person.asks(DANUBE)
        await person.asks("And where does it rise?")
        assert "ask it whole" in " ".join(person.sees().split())
