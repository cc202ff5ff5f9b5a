"""What left the device, counted from what is kept of every answer; and how the app is to look."""

from typing import Any

import pytest

from device_app.cli import run
from device_app.link import credentials
from device_app.tui.app import JackdawApp
from storage.conversations import ConversationStore
from storage.paths import Paths


async def seen(person: Any) -> str:
    await person.sends("/private")
    await person.until(lambda: "kept here" in person.sees() or "been asked yet" in person.sees())
    return " ".join(person.sees().split())


async def test_nothing_left(person: Any, store: ConversationStore, record: Any) -> None:
    store.write(store.begin("Who?").id, "Petra.", record("Who?", "Petra."))
    async with person.at():
        told = await seen(person)
        assert "Nothing left this device for the 1 answer kept here." in told
        assert "There is no server" in told
        await person.presses("escape")
        assert person.app.screen is person.chat


async def test_what_left_is_counted(person: Any, store: ConversationStore, record: Any) -> None:
    for left in (1200, 34):
        told = record("Who?", "Petra.", egress={"bytes": left, "items": ["a slice"]})
        store.write(store.begin("Who?").id, "Petra.", told)
    async with person.at():
        assert "1,234 bytes left this device for the 2 answers kept here." in await seen(person)


@pytest.mark.parametrize(("allowed", "told"), [("true", "is sent to wss://box:8765"), ("false", "may not be asked")])
async def test_a_companion_server_is_named(
    person: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch, allowed: str, told: str
) -> None:
    monkeypatch.setenv("JACKDAW_LINK_ALLOWED", allowed)
    paths.create()
    credentials.save(paths.link, credentials.Credentials("wss://box:8765", "token"))
    async with person.at():
        shown = " ".join((await seen(person)).replace("│", " ").split())
        assert told in shown
        assert "There is no server" not in shown


@pytest.mark.parametrize(
    ("variables", "theme", "animation", "flag", "mouse"),
    [
        ({}, "dark", "none", True, True),
        ({"JACKDAW_APP_THEME": "light", "JACKDAW_APP_MOUSE": "false"}, "light", "none", True, False),
        ({"JACKDAW_APP_MOTION": "false"}, "dark", "none", False, False),
    ],
)
def test_the_app_starts_as_the_settings_say(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], theme: str, animation: str, flag: bool, mouse: bool
) -> None:
    started: list[tuple[str, str, bool]] = []
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    async def starts(app: JackdawApp, *, mouse: bool) -> None:
        started.append((app.theme, app.animation_level, mouse))

    monkeypatch.setattr(JackdawApp, "run_async", starts)
    monkeypatch.setenv("TEXTUAL_DRIVER", "elsewhere")
    assert run(["app"] if flag else ["app", "--no-mouse"]) == 0
    assert started == [(theme, animation, mouse)]


def test_motion_is_a_setting_and_the_environment_may_ask_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    from device_app.settings import App

    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "full")
    assert JackdawApp({}).animation_level == "full"
    assert JackdawApp({}, look=App(motion=False)).animation_level == "none"
