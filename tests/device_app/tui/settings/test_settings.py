"""Settings in the app: search by typing, explanations, checks, a file that keeps the user's comments, and immediate
effect.
"""

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from device_app.settings import SECTIONS, SETTINGS
from device_app.tui.edge.preferences import look
from device_app.tui.settings.wording import effect
from shared.errors import SettingError
from shared.settings import fit
from storage.paths import Paths
from tests.device_app.tui.conftest import DRILL


async def opened(person: Any, words: str = "") -> Any:
    """Open the settings screen, wait until it lists the settings, and return it."""
    await person.sends(f"/settings {words}".strip())
    await person.until(lambda: person.app.screen.PLACE == "settings" and person.app.screen._all)
    await person.pilot.pause()
    return person.app.screen


async def typed(person: Any, text: str) -> None:
    """Type a value in place of the field's, and press Enter."""
    await person.presses("ctrl+u", *text, "enter")


async def written(person: Any, paths: Paths, text: str) -> None:
    await person.until(lambda: paths.config_file.exists() and text in paths.config_file.read_text())


async def test_every_setting_stands_in_its_section_with_its_value(person: Any, paths: Paths) -> None:
    paths.create()
    paths.config_file.write_text("[answer]\nmax_tokens = 77\n")
    async with person.at(120, 60):
        await opened(person)
        seen = person.sees()
        assert all(f"{section}  {about[:20]}" in seen for section, about in list(SECTIONS.items())[:5])
        assert "● max_tokens" in seen
        assert "77" in seen


async def test_typing_filters_by_name_and_by_what_it_does(person: Any) -> None:
    async with person.at():
        screen = await opened(person)
        await person.presses(*"phone battery")
        assert [option.id for option in screen._list.options if option.id] == ["daemon.battery_temperature"]
        assert "daemon.battery_temperature" in person.sees()
        await person.presses(*" zzz")
        assert "No setting contains" in person.sees()
        await person.presses("escape")
        assert len([option for option in screen._list.options if option.id]) == len(SETTINGS)
        await person.presses("escape")
        assert person.app.screen is person.chat


async def test_a_value_is_checked_as_the_command_line_checks_it(person: Any, paths: Paths) -> None:
    async with person.at():
        await opened(person, "answer.temperature")
        await person.presses("enter")
        await typed(person, "9")
        with pytest.raises(SettingError) as wrong:
            fit(SETTINGS["answer.temperature"], "9", "typed here")
        await person.until(lambda: "Values: a number" in person.sees())
        assert str(wrong.value)[:40] in person.sees()
        assert not paths.config_file.exists()


async def test_a_value_is_written_beside_the_comments(person: Any, paths: Paths) -> None:
    paths.create()
    paths.config_file.write_text("# mine\n[answer]\nmax_tokens = 77  # short\n")
    async with person.at():
        await opened(person, "answer.temperature")
        await person.presses("enter")
        await typed(person, "0.5")
        await written(person, paths, "temperature = 0.5")
        assert paths.config_file.read_text() == "# mine\n[answer]\nmax_tokens = 77  # short\ntemperature = 0.5\n"
        await person.until(lambda: "from your file" in person.sees())
        assert "Takes effect with the next question" in person.sees()
        await person.presses("ctrl+b")
        await person.until(lambda: "the default" in person.sees())
        assert paths.config_file.read_text() == "# mine\n[answer]\nmax_tokens = 77  # short\n"
        await person.presses("ctrl+b")
        await person.until(lambda: "The setting has its default already." in person.sees())


async def test_what_the_environment_sets_is_not_changed_here(
    person: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_ANSWER_MIN_P", "0.1")
    async with person.at():
        screen = await opened(person, "min_p")
        for key in ("enter", "ctrl+b"):
            await person.presses(key)
            assert "environment variable JACKDAW_ANSWER_MIN_P" in " ".join(person.sees().split())
            assert screen.status.doing == "set by the environment"
            screen.status.doing = ""
        assert not screen._editor.display
        assert not paths.config_file.exists()


async def test_a_choice_is_stepped_through_and_the_theme_counts_at_once(person: Any, paths: Paths) -> None:
    async with person.at():
        await opened(person, "app.theme")
        await person.presses("enter", "down", "down", "enter")
        await person.until(lambda: person.app.theme == "contrast")
        assert look({"JACKDAW_HOME": str(paths.config.parent)}).theme == "contrast"


async def test_escape_leaves_the_edit_first(person: Any) -> None:
    async with person.at():
        screen = await opened(person, "answer.seed")
        await person.presses("enter", "5", "escape")
        assert not screen._editor.display
        assert screen._filter.has_focus
        assert person.app.screen is screen


async def test_a_change_counts_in_the_running_app(person: Any, notes: Path, paths: Paths) -> None:
    async with person.at():
        await person.asks(DRILL)
        await opened(person, "cache.threshold")
        await person.presses("enter")
        await typed(person, "1")
        await written(person, paths, "threshold = 1")
        await person.presses("escape", "escape")
        await person.presses("ctrl+n")
        await person.asks(DRILL)
        assert "● device" in person.sees()


async def test_the_theme_that_was_chosen_is_kept(person: Any, paths: Paths) -> None:
    async with person.at():
        await person.sends("/theme light")
        await written(person, paths, 'theme = "light"')


async def test_a_file_that_is_wrong_is_named(person: Any, paths: Paths) -> None:
    async with person.at():
        paths.config_file.write_text("[answer\n")
        await person.sends("/settings")
        await person.until(lambda: "jackdaw config edit" in " ".join(person.sees().split()))


async def test_the_model_is_chosen_among_the_models(person: Any) -> None:
    async with person.at():
        await opened(person, "model.name")
        await person.presses("enter")
        await person.until(lambda: person.app.screen.PLACE == "models")


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_tells_when_a_change_counts(key: str) -> None:
    assert effect(key).endswith(".")


async def test_a_theme_that_the_environment_overrules_is_said_to_be(
    person: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JACKDAW_APP_THEME", "dark")
    async with person.at():
        await person.sends("/theme light")
        await written(person, paths, 'theme = "light"')
        await person.until(
            lambda: any("JACKDAW_APP_THEME overrides this value" in message for message in person.messages())
        )


async def test_a_setting_is_in_force_though_the_screen_is_left_at_once(
    person: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    from device_app.tui.edge import preferences

    go = Event()
    written_by = preferences.Preferences._do

    async def slow(self: Any, work: Any) -> Any:
        return await written_by(self, lambda: (go.wait(60), work())[1])

    async with person.at():
        await opened(person, "app.theme")
        await person.presses("enter")
        monkeypatch.setattr(preferences.Preferences, "_do", slow)
        await typed(person, "light")
        await person.presses("escape", "escape", "escape")
        assert person.app.screen is person.chat  # keys are heeded while it is written
        go.set()
        await person.until(lambda: person.app.theme == "light")


async def test_the_name_of_the_model_is_chosen_among_the_models(person: Any) -> None:
    async with person.at():
        await opened(person, "model.name")
        await person.presses("enter")
        await person.until(lambda: person.app.screen.PLACE == "models")
        await person.until(lambda: "in use" in person.sees())
