"""The table of all actions of the app: every action can be reached in every way, and by keys that any
terminal sends.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from device_app.english import query
from device_app.tui.actions import (
    ACTIONS,
    RARE,
    USUAL,
    AppState,
    Place,
    completions,
    hints,
    is_command,
    key_of,
    of,
    parse,
)
from device_app.tui.app import JackdawApp
from device_app.tui.cache.screen import CacheScreen
from device_app.tui.chat import composer
from device_app.tui.chat.screen import ChatScreen
from device_app.tui.knowledge.screen import KnowledgeScreen
from device_app.tui.search.screen import SearchScreen
from device_app.tui.settings.models import ModelsScreen
from device_app.tui.settings.screen import SettingsScreen
from shared.errors import UsageError

SCREENS = {
    Place.APP: JackdawApp,
    Place.CHAT: ChatScreen,
    Place.KNOWLEDGE: KnowledgeScreen,
    Place.CACHE: CacheScreen,
    Place.SETTINGS: SettingsScreen,
    Place.MODELS: ModelsScreen,
    Place.SEARCH: SearchScreen,
}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_has_a_command_a_key_and_somebody_who_does_it(action: Any) -> None:
    assert re.fullmatch(r"[a-z]+([ -][a-z]+)?", action.slash)
    assert action.key or action.letter
    assert action.help.endswith(".")
    assert callable(getattr(SCREENS[action.place], f"action_{action.id}"))


def test_no_two_commands_are_the_same() -> None:
    assert len({action.slash for action in ACTIONS}) == len(ACTIONS)


@pytest.mark.parametrize("place", Place)
def test_no_two_actions_of_a_screen_share_a_key(place: Place) -> None:
    # A letter of the app's own may mean something else on a screen beside the chat.
    letters = [*of(place), *(of(Place.APP) if place is Place.CHAT else ())]
    for names in ([binding.key for binding in {*of(place), *of(Place.APP)}], [binding.letter for binding in letters]):
        given = [name for name in names if name]
        assert len(given) == len(set(given))


def test_no_key_is_one_that_a_terminal_or_a_phone_may_lack() -> None:
    for action in ACTIONS:
        # ctrl+i, j, m and h are Tab, Enter and Backspace to a terminal.
        assert re.fullmatch(r"(escape|ctrl\+[a-gk-lnopq-z])?", action.key), action
        assert len(action.letter) <= 1, action


@pytest.mark.parametrize(
    ("typed", "action", "given"),
    [
        ("/help", "help", ""),
        ("/HELP ", "help", ""),
        ("/search red drill", "search", "red drill"),
        ("/copy", "copy", ""),
        ("/ help", "help", ""),
        ("/copy code", "copy_code", ""),
        ("/export json", "export", "json"),
    ],
)
def test_a_command_is_read(typed: str, action: str, given: str) -> None:
    result, rest = parse(typed)
    assert (result.id, rest) == (action, given)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("/serch", "Did you mean /search"),
        ("/quit now", "takes no words"),
        ("/cache foo", "/cache answers"),
        ("/ahead", "/ahead now or /ahead pause"),
        ("/ahead foo", "/ahead now or /ahead pause"),
        ("/", "See /help"),
    ],
)
def test_a_wrong_command_names_the_next_step(typed: str, expected: str) -> None:
    with pytest.raises(UsageError, match=re.escape(expected)):
        parse(typed)


@pytest.mark.parametrize(
    ("text", "command"),
    [("/help", True), ("/nonsense at all", True), ("/home/runa/x.md?", False), ("what of /etc?", False), ("", False)],
)
def test_a_path_is_no_command(text: str, command: bool) -> None:
    assert is_command(text) is command


@pytest.mark.parametrize(
    ("uses", "first", "last"),
    [
        ({}, ["add", "help", "search"], "together"),
        ({"why": 2, "export": 1}, ["why", "export", "add"], "together"),
        ({"together": 3}, ["together", "add", "help"], "send"),
        ({"no such action": 9}, ["add", "help", "search"], "together"),
    ],
)
def test_commands_used_most_come_first_then_the_usual_ones(uses: dict[str, int], first: list[str], last: str) -> None:
    offered = [action.id for action in completions("/", uses)]
    assert offered[:3] == first
    assert offered[-1] == last


def test_the_order_of_commands_names_actions_that_exist() -> None:
    assert {*USUAL, *RARE} <= {action.id for action in ACTIONS}


def test_completions_follow_what_is_typed() -> None:
    assert {completion.id for completion in completions("/")} == {completion.id for completion in ACTIONS}
    assert [completion.id for completion in completions("/cop")] == ["copy", "copy_code"]
    assert completions("copy") == completions("/copy\n") == []


def test_the_footer_shows_what_can_be_done_by_the_key_that_does_it() -> None:
    writing = {AppState.IDLE, AppState.ANSWERED}
    assert "stop" not in [hint.id for hint in hints(writing)]
    assert next(hints({AppState.ANSWERING})).id == "stop"
    again = next(action for action in ACTIONS if action.id == "regen")
    assert (key_of(again, writing), key_of(again, writing | {AppState.READING})) == ("^r", "r")


def test_the_composer_takes_what_can_be_asked() -> None:
    assert composer.MOST_CHARACTERS == query.MOST_CHARACTERS


async def test_in_a_browser_its_own_keys_are_named_by_their_commands(
    person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JackdawApp, "is_web", property(lambda _: True))
    async with person.at(120, 40):
        assert "/new  ^o earlier" in person.sees()
        await person.sends("/help")
        await person.until(lambda: "The browser uses Ctrl+N, Ctrl+Q, Ctrl+T, Ctrl+W itself" in person.sees())
        await person.presses("escape")
        await person.sends("/settings")
        await person.until(lambda: person.app.screen.PLACE == "settings")


async def test_the_footer_names_the_way_to_all_else_and_what_holds(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks("Who has the blue drill?")
        await person.presses("escape")
        assert {"? help", "^p all", "^q quit"} <= set(_keys(person))
        await person.presses("ctrl+n")
        assert not {"^s sources", "^r again"} & set(_keys(person))
        await person.sends("/cache")
        await person.until(lambda: "p pause" in _keys(person))
        assert {"? help", "^p all", "^q quit"} <= set(_keys(person))
        assert [key[:2] for key in _keys(person)].count("a ") == 1
        await person.presses("p")
        await person.until(lambda: "p resume" in _keys(person))
        await person.app.perform("model")
        await person.until(lambda: "Esc back" in person.sees())


def _keys(person: Any) -> list[str]:
    line: str = person.sees().split("\n")[-1]
    return line.strip().split("  ")


async def test_help_begins_with_the_screen_at_hand_and_names_the_screen_of_each_key(person: Any) -> None:
    async with person.at(80, 40):
        await person.sends("/cache")
        await person.until(lambda: person.app.screen is not person.chat)
        await person.presses("question_mark")
        await person.until(lambda: "Esc back ─" in person.sees())
        seen = person.sees()
        assert seen.index("Cache  ") < seen.index("/cache answers [words]  a") < seen.index("Chat  ")


def test_the_command_that_is_spelled_out_comes_first() -> None:
    assert [action.slash for action in completions("/model")] == ["model", "model-only"]
