"""Removing folders and files from the store after a confirmation: what is deleted, what stays, and what is offered
afterwards.
"""

from pathlib import Path
from typing import Any

import pytest

from device_app.tui.knowledge.reading import Phase
from tests.device_app.tui.knowledge.conftest import opened, phase


async def test_removing_waits_for_a_yes_and_says_what_goes(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await opened(person)
        await person.presses("d")
        await person.until(person.messages)
        assert "2 files with 2 passages; your files stay." in person.messages()[0]
        await person.presses("d", "d")
        assert notes.name in person.sees()
        await person.presses("y")
        await person.until(lambda: "Nothing has been read yet." in person.sees())
        assert (notes / "drill.md").exists()
        assert person.messages()[-1].startswith("Forgotten: ")


async def test_after_everything_was_removed_the_welcome_offers_nothing_of_it(person: Any, me: Path) -> None:
    async with person.at():
        await person.sends("/add ~/Documents")
        await person.until(lambda: "for example" in person.sees())
        await opened(person, 1)
        await person.presses("d", "y")
        await person.until(lambda: "Nothing has been read yet." in person.sees())
        await person.presses("escape")
        await person.until(lambda: person.chat.choices() == ["/add ~/Documents"])
        assert "password" not in person.sees()


async def test_after_everything_was_removed_the_welcome_begins_anew(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await person.until(lambda: "You can ask about" in person.sees())
        await opened(person)
        await person.presses("d", "y")
        await person.until(lambda: "Nothing has been read yet." in person.sees())
        await person.presses("escape")
        await person.until(lambda: person.chat.choices() == ["/add ~/Documents"])
        assert "You can ask about" not in person.sees()


@pytest.mark.long
async def test_a_file_of_a_folder_that_is_still_read_would_come_back(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await opened(person)
        await person.presses("enter")
        await person.until(lambda: "drill.md" in person.sees())
        await person.presses("d", "y")
        await person.until(lambda: "dentist.md" not in person.sees())
        assert "will be read again" in person.messages()[-1]


async def test_what_is_removed_while_it_is_read_is_not_paused(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await opened(person)
        await person.presses("d", "y")
        held.go.set()
        await phase(person, Phase.IDLE)
        await person.until(lambda: "Nothing has been read yet." in person.sees())


async def test_what_is_wanted_is_read_though_something_is_forgotten_before(person: Any, me: Path) -> None:
    async with person.at():
        person.app.parts.reader.read([me / "Documents"])
        await person.app.parts.reader.remove(b"/nowhere")
        await phase(person, Phase.DONE)
        assert person.app.reading.passages == 3
