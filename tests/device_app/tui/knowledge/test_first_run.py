"""The first run of the app: choosing a folder by a key or by typing it, watching it being read, and asking a first
question.
"""

from pathlib import Path
from typing import Any

from device_app.tui.knowledge.reading import Phase


async def read(person: Any) -> None:
    """Wait until all files have been read."""
    await person.until(lambda: person.app.reading.phase is Phase.DONE)


async def test_a_key_reads_a_likely_folder_and_a_key_asks_about_it(person: Any, me: Path) -> None:
    async with person.at():
        await person.until(person.chat.choices)
        assert "1 ~/Documents" in person.sees()
        assert "Downloads" not in person.sees()
        await person.presses("1")
        await read(person)
        await person.until(lambda: "for example" in person.sees())
        assert "4 files checked, 3 new passages · 1 unreadable" in person.sees()
        assert set(person.chat.choices()) >= {"What is the guest password?", "When is the dentist appointment?"}
        assert len(person.chat.choices()) == 3
        place = person.chat.choices().index("What is the guest password?") + 1
        await person.presses(str(place), "enter")
        await person.settled()
        assert 'The guest password is "jackdaw42".' in person.sees()
        assert "for example" not in person.sees()


async def test_a_digit_is_typed_where_something_stands_already(person: Any, me: Path) -> None:
    async with person.at():
        await person.until(person.chat.choices)
        await person.presses("W", "1")
        assert person.chat.composer.text == "W1"
        assert person.app.reading.phase is Phase.IDLE


async def test_a_path_is_completed_in_the_composer(person: Any, me: Path) -> None:
    async with person.at():
        person.chat.composer.begin("/add ~/d")
        await person.until(lambda: person.chat.places.display)
        assert [line for line in person.sees().splitlines() if "~/Do" in line]
        await person.presses("down", "tab")
        assert person.chat.composer.text == "/add ~/Downloads/"
        person.chat.composer.begin("/add ~/doc")
        await person.until(lambda: person.chat.places.option_count == 1)
        await person.presses("tab")
        assert person.chat.composer.text == "/add ~/Documents/"
        await person.presses("enter")
        await read(person)
        assert person.app.screen is person.chat  # it is seen there


async def test_a_path_that_is_not_there_is_told_and_stays_to_be_mended(person: Any, me: Path) -> None:
    async with person.at():
        await person.sends("/add ~/nowhere")
        await person.until(person.messages)
        assert person.messages() == [f"There is no file or folder {me}/nowhere. Check the name; Tab completes it."]
        assert person.chat.composer.text == "/add ~/nowhere"


async def test_a_folder_without_anything_to_read_says_so_and_another_can_be_chosen(person: Any, me: Path) -> None:
    async with person.at():
        await person.sends("/add ~/Downloads")
        await read(person)
        assert "The folder has no files of a readable kind." in person.sees()
        assert person.chat.choices() == ["/add ~/Documents"]


async def test_what_is_known_already_needs_no_first_run(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await person.until(lambda: "You can ask about" in person.sees())
        assert not person.chat.choices()
        assert not person.chat.is_first_run
