"""Faults around files in the app: full disks, malicious names, folders that vanish, damaged settings."""

import os
from pathlib import Path
from typing import Any

import pytest

from device_app.tui.knowledge.reading import Phase
from shared.errors import StoreFull
from storage.knowledge import KnowledgeStore
from storage.paths import Paths
from tests.device_app.tui.knowledge.conftest import opened, phase


async def test_a_full_disk_is_told_and_reading_can_go_on(
    person: Any, me: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        with monkeypatch.context() as full:

            def refuse(*_: Any) -> None:
                raise StoreFull("The disk is full; nothing already stored is lost.")

            full.setattr(KnowledgeStore, "put", refuse)
            await person.sends("/add ~/Documents")
            await phase(person, Phase.FAILED)
            await person.until(lambda: "✗ The disk is full" in person.sees())
        await person.sends("/resume")
        await phase(person, Phase.DONE)
        await person.until(lambda: "3 files · 3 passages" in person.sees())


HOSTILE = "a\x1b]52;c;T1dORUQ=\x07\x1b[2J\nb[red]m[red] \u202egnp.md"


async def test_hostile_names_are_shown_and_not_obeyed(person: Any, me: Path) -> None:
    folder = me / "Documents" / "\x1b[31mred\n"
    folder.mkdir()
    (folder / HOSTILE).write_text("The ferry leaves at nine.")
    (me / "Documents" / os.fsdecode(b"\xff\xfe.md")).write_text("The ferry costs 9 euros.")
    (me / "Documents" / "\x1b[31mbad.pdf").write_text("no")
    async with person.at():
        await person.sends("/add ~/Documents")
        await phase(person, Phase.DONE)
        await opened(person)
        await person.presses("enter")
        await person.until(lambda: len(person.app.screen._listing.rows) == 7)
        seen = person.sees()
        for keys in (("end",), ("enter",), ("escape", "up", "enter"), ("escape", "d")):
            await person.presses(*keys)
            await person.pilot.pause(0.1)
            seen += person.sees() + "".join(person.messages())
        assert not [sign for sign in seen.replace("\n", "") if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0]
        assert "\u202e" not in seen
        assert "[red]m[red]" in seen


async def test_a_folder_that_vanishes_is_told(person: Any, me: Path) -> None:
    async with person.at():
        await person.sends("/add ~/Documents")
        await phase(person, Phase.DONE)
        (me / "Documents").rename(me / "elsewhere")
        await opened(person)
        await person.presses("u")
        await person.until(lambda: "unreadable" in person.sees())
        assert person.app.is_running


async def test_settings_that_are_broken_meanwhile_are_told(person: Any, me: Path, paths: Paths) -> None:
    async with person.at():
        paths.create()
        paths.config_file.write_text("[answer\n")
        await person.sends("/add ~/Documents")
        await phase(person, Phase.FAILED)
        assert "config edit" in person.app.reading.why


async def test_a_terminal_that_shrinks_to_nearly_nothing(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await opened(person)
        for size in ((20, 8), (5, 3), (120, 40)):
            await person.pilot.resize_terminal(*size)
            await person.presses("enter", "a", "escape", "escape")
        await opened(person)  # the last key may have closed the screen, where a key before it was slow
        await person.until(lambda: "2 files · 2 passages" in person.sees())
