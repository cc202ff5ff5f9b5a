"""The chat's status line shows the state of a real companion server, and its changes."""

from pathlib import Path
from typing import Any

import pytest

from device_app.companion import opening
from device_app.companion.link import credentials
from device_app.companion.link.credentials import Credentials
from device_app.tui.edge.following import Following
from device_app.tui.link import Standing, words
from storage.paths import Paths
from tests.companion import Serve, serve
from tests.companion_process import CompanionProcess

__all__ = ["serve"]


@pytest.mark.parametrize(
    ("standing", "roomy", "narrow"),
    [
        (Standing(), "", ""),
        (Standing("closed"), "", ""),
        (Standing("off"), "server held back", "server off"),
        (Standing("connecting"), "server …", "server …"),
        (Standing("connected"), "server ✓", "server ✓"),
        (Standing("leaving", "it is stopped"), "the server ends", "server …"),
        (Standing("waiting", "gone", 12.0), "no server, again in 12 s", "server in 12 s"),
        (Standing("waiting", "gone", 0.05), "no server, again in 1 s", "server in 1 s"),
        (Standing("waiting", "gone", -1.0), "no server, dialling", "server …"),
        (Standing("waiting", "it is full", 12.0, "busy"), "server full, again in 12 s", "server in 12 s"),
        (Standing("waiting", "gone", 12.0, "unreachable"), "no server, again in 12 s", "server in 12 s"),
        (Standing("refused", "no token"), "server refuses: jackdaw doctor", "server ✗"),
        (Standing("refused", "no token", None, "token"), "token refused: jackdaw doctor", "server ✗"),
    ],
    ids=lambda value: value.phase if isinstance(value, Standing) else "",
)
def test_every_state_has_its_words(standing: Standing, roomy: str, narrow: str) -> None:
    assert words(standing, 0.0, roomy=True).plain == roomy
    assert words(standing, 0.0, roomy=False).plain == narrow


def last_line(person: Any) -> str:
    return str(person.sees().splitlines()[-1])


def connect(paths: Paths, url: str, token: str) -> None:
    paths.create()
    credentials.save(paths.link, Credentials(url, token))


async def test_without_a_server_nothing_is_said(person: Any, notes: Path) -> None:
    async with person.at():
        assert last_line(person).endswith("  ready ")


async def test_a_server_that_goes_away_and_comes_back_is_shown(
    person: Any, notes: Path, paths: Paths, tmp_path: Path
) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    server = CompanionProcess(folder)
    connect(paths, server.url, server.token())
    async with person.at(50, 20):
        await person.until(lambda: "server ✓ · ready" in last_line(person))
        server.kill()
        await person.until(lambda: "server in " in last_line(person) or "server …" in last_line(person))
        again = CompanionProcess(folder, serve={"port": server.port})
        await person.until(lambda: "server ✓ · ready" in last_line(person))
        again.terminate()
        await person.until(lambda: "✓" not in last_line(person))
    assert again.ended() == 0


async def test_a_token_that_is_refused_says_what_to_do(person: Any, notes: Path, paths: Paths, serve: Serve) -> None:
    connect(paths, serve().url, "jackdaw_wrong")
    async with person.at():
        await person.until(lambda: "token refused: jackdaw doctor" in last_line(person))
        (message,) = person.messages()
        assert "does not know this token" in message


async def test_where_nothing_may_be_sent_nobody_dials(
    person: Any, notes: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(paths, "ws://127.0.0.1:9/", "jackdaw_token")
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", "false")
    monkeypatch.setattr(opening, "open_link", lambda *_: pytest.fail("it dialled"))
    async with person.at():
        await person.until(lambda: "server held back" in last_line(person))


async def test_what_will_be_followed_is_said_before_the_model_is_there(
    person: Any, notes: Path, paths: Paths, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Following, "follow", lambda *_: None)
    connect(paths, serve().url, "any")
    async with person.at():
        await person.until(lambda: "server …" in last_line(person))


async def test_what_will_be_followed_is_said_where_the_model_is_loaded_late(
    person: Any, notes: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.forecast.is_memory_short", lambda *_: True)
    monkeypatch.setattr(opening, "open_link", lambda *_: pytest.fail("it dialled"))
    connect(paths, "ws://127.0.0.1:9/", "jackdaw_token")
    async with person.at():
        await person.until(lambda: "server …" in last_line(person))
        paths.link.unlink()  # as `jackdaw disconnect` does
        await person.app.parts.answers.keep_up()
        await person.until(lambda: last_line(person).endswith("  ready "))


async def test_a_setting_that_forbids_it_leaves_the_server(
    person: Any, notes: Path, paths: Paths, serve: Serve
) -> None:
    served = serve()
    connect(paths, served.url, served.token())
    async with person.at():
        await person.until(lambda: "server ✓" in last_line(person))
        await person.app.parts.preferences.set("link.allowed", "false")
        person.app.parts.reopen()
        await person.until(lambda: "server held back" in last_line(person))
        assert not any(session.connection for session in served.server.sessions.all())


async def test_a_server_that_another_program_connects_or_leaves_is_noticed(
    person: Any, notes: Path, paths: Paths, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.tui.chat.screen.LOOK_S", 0.1)
    served = serve()
    async with person.at():
        assert "server" not in last_line(person)
        connect(paths, served.url, served.token())
        await person.until(lambda: "server ✓" in last_line(person))
        credentials.forget(paths.link)
        await person.until(lambda: "server" not in last_line(person))
        assert not any(session.connection for session in served.server.sessions.all())
