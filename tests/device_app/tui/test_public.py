"""In the app, a question that the user's files do not answer: it is sent to a real server, and the app says so."""

from pathlib import Path
from typing import Any

import pytest

from device_app.cli import run
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from storage.paths import Paths
from tests.companion import FACTS, Serve, Served, serve
from tests.devices import fake_device

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
        assert "One of the server's passages" in person.sees()
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
        assert "cannot be asked: it cannot" in " ".join(person.sees().split())


TRIP = "Which countries does the Danube flow through? We saw four of them."


async def test_asked_together_the_person_agrees_once_and_sees_both_sides(
    person: Any, notes: Path, connected: Served
) -> None:
    (notes / "trip.md").write_text(TRIP)
    assert run(["add", str(notes)], fake_device) == 0
    async with person.at(100, 40):
        await person.until(lambda: "companion server is asked" in person.sees())
        await person.sends(f"/together {DANUBE}")
        await person.until(lambda: "Press y to send drafts" in person.sees())
        await person.presses("y")
        await person.until(lambda: "● together" in person.sees())
        assert not person.chat.composer.text
        assert "trip.md" in person.sees()
        assert "Rivers.txt · the server" in person.sees()
        await person.settled()
        await person.sends("/together")  # the last one again
        await person.until(lambda: len(person.chat.transcript.views) == 1 and "● together" in person.sees())
        await person.settled()
        await person.sends("/why")
        await person.until(lambda: "both sides wrote the answer, as you asked" in person.sees())


@pytest.mark.parametrize("no", ["n", "escape"])
async def test_who_does_not_agree_asks_nobody(person: Any, notes: Path, connected: Served, no: str) -> None:
    async with person.at(100, 40):
        await person.until(lambda: "companion server is asked" in person.sees())
        await person.sends(f"/together {DANUBE}")
        await person.until(lambda: "Press y to send drafts" in person.sees())
        await person.presses(no)
        assert not person.chat.transcript.views
        assert person.chat.composer.text == f"/together {DANUBE}", "it need not be typed again"


async def test_without_a_server_nothing_is_asked_together(person: Any, notes: Path) -> None:
    async with person.at(100, 40):
        await person.sends("/together")
        await person.until(lambda: "Type your question after the command" in person.sees())
        await person.sends(f"/together {DANUBE}")
        await person.until(lambda: "No companion server is connected" in person.sees())
        assert person.chat.composer.text == f"/together {DANUBE}"


async def test_what_was_fetched_is_shown_beside_ones_own(person: Any, notes: Path, connected: Served) -> None:
    (notes / "rowed.md").write_text("We rowed on the Danube through Vienna in May.")
    assert run(["add", str(notes)], fake_device) == 0
    async with person.at(100, 40):
        await person.until(lambda: "companion server is asked" in person.sees())
        await person.asks("Through which European countries does the Danube flow, where we rowed?")
        assert "● from both" in person.sees()
        assert "rowed.md" in person.sees()
        assert "Rivers.txt · the server" in person.sees()
        assert "bytes left this device: the question" in " ".join(person.sees().split())
        await person.sends("/why")
        await person.until(lambda: "your files say nothing of “european” and “countries” and “flow”" in person.sees())


async def test_what_follows_on_a_servers_answer_is_told_to_be_asked_whole(
    person: Any, notes: Path, connected: Served
) -> None:
    async with person.at(100, 40):
        await person.until(lambda: "companion server is asked" in person.sees())
        await person.asks(DANUBE)
        await person.asks("And where does it rise?")
        assert "never sent to a server" in person.sees()


LINES = "\n".join(f"Line {number}." for number in range(60))
PASTED = f"Summarise this text:\nThe key lies under the stone.\n{LINES}\nThat is all."


async def test_a_request_is_shown_and_agreed_to_before_it_is_sent(
    person: Any, notes: Path, connected: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_SPARE", "0")
    async with person.at(100, 40):
        await person.until(lambda: "companion server is asked" in person.sees())
        await person.sends("/send")
        await person.until(lambda: "Type your request after the command" in person.sees())
        person.app.clear_notifications()
        await person.asks(PASTED)
        assert "may hold a text of yours" in " ".join(person.sees().split())
        await person.sends("/send")
        await person.until(lambda: "Send to the companion server?" in person.sees())
        assert "under the stone" in person.sees()
        await person.presses("end")
        await person.until(lambda: "That is all." in person.sees())
        await person.presses("escape")
        await person.until(lambda: "Send to the companion server?" not in person.sees())
        await person.sends("/send")
        await person.until(lambda: "Send to the companion server?" in person.sees())
        person.chat.composer.text = "Typed meanwhile"
        await person.presses("y")
        await person.until(lambda: "● server" in person.sees())
        assert person.chat.composer.text == "Typed meanwhile"
        assert "from the model alone: no source" in person.sees()
        assert len(person.chat.transcript.views) == 1
