"""Folders and their files as lists: viewed, extended, filtered, loaded page by page."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from device_app.tui.knowledge.reading import Phase
from storage.database import Database
from storage.holdings import Holding, Holdings
from storage.paths import Paths
from tests.device_app.tui.knowledge.conftest import opened, phase


async def test_folders_files_passages_and_what_could_not_be_read(person: Any, me: Path, notes: Path) -> None:
    (notes / "scan.pdf").write_text("this is no PDF")
    async with person.at(100, 30):
        screen = await opened(person)
        assert "2 files · 2 passages" in person.sees()
        await person.presses("u")
        await person.until(lambda: "2 files · 2 passages · 1 unreadable · " in person.sees())
        await person.presses("enter")
        await person.until(lambda: "drill.md" in person.sees())
        assert [line for line in person.sees().splitlines() if "scan.pdf" in line and "broken PDF" in line]
        await person.presses("end", "enter")
        await person.until(lambda: "Petra has borrowed the blue drill." in person.sees())
        await person.presses("escape", "escape")
        await person.until(lambda: "2 files · 2 passages" in person.sees())
        assert person.app.screen is screen
        await person.presses("escape")
        assert person.app.screen is person.chat


async def test_an_empty_store_teaches_how_to_add(person: Any, me: Path) -> None:
    async with person.at():
        await person.presses("ctrl+k")
        await person.until(lambda: "Nothing has been read yet." in person.sees())
        await person.presses("a", "D", "o", "c")
        await person.until(lambda: "~/Documents/" in person.sees())
        await person.presses("tab", "enter")
        await phase(person, Phase.DONE)
        await person.until(lambda: "3 files · 3 passages" in person.sees())


async def test_the_path_line_is_left_by_escape_and_types_letters_that_are_keys(person: Any, me: Path) -> None:
    async with person.at():
        await person.presses("ctrl+k")
        await person.until(lambda: "Nothing has been read yet." in person.sees())
        await person.presses("a", "d", "u", "a")
        screen = person.app.screen
        assert screen._field.value == "~/dua"
        await person.presses("enter")
        await person.until(person.messages)
        assert "There is no file or folder" in person.messages()[0]
        await person.presses("escape")
        assert not screen._field.display
        assert person.app.screen is screen


async def test_a_folder_with_many_files_is_listed_page_by_page(person: Any, me: Path, paths: Paths) -> None:
    paths.create()
    database = Database(paths.database)
    database.execute("INSERT INTO folders VALUES (?, '2026-11-21T10:00:00+00:00')", (b"/all",))
    row = "INSERT INTO files (path, size, mtime_ns, sha256, recipe, ingested_at) VALUES (?, 1, 1, 'x', 'r', ?)"
    many = [(b"/all/%05d.md" % number, "2026-11-21T10:00:00+00:00") for number in range(10_000)]
    with database.transaction():
        database.execute_many(row, many)
    database.close()
    async with person.at():
        screen = await opened(person)
        assert "10,000 files" in person.sees()
        await person.presses("enter")
        await person.until(lambda: "00000.md" in person.sees())
        assert len(screen._listing.rows) == 100
        await person.presses("end")
        await person.until(lambda: len(screen._listing.rows) == 200)
        assert screen._listing.rows[-1].path == b"/all/00199.md"


async def test_many_single_files_are_listed_by_the_page(person: Any, me: Path, paths: Paths) -> None:
    paths.create()
    database = Database(paths.database)
    row = "INSERT INTO files (path, size, mtime_ns, sha256, recipe, ingested_at) VALUES (?, 1, 1, 'x', 'r', ?)"
    with database.transaction():
        database.execute_many(row, [(b"/all/%05d.md" % n, "2026-11-21T10:00:00+00:00") for n in range(3_000)])
    database.close()
    async with person.at():
        screen = await opened(person)
        assert len(screen._listing.rows) == 100
        screen.reload()  # the end is reached while it is read
        screen._listing.list.action_last()
        await person.until(lambda: len(screen._listing.rows) == 200)


async def test_what_is_opened_stands_over_the_chat_alone(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        screen = await opened(person)
        await person.presses("enter")
        await person.until(lambda: "drill.md" in person.sees())
        await person.presses("enter", "ctrl+k")
        assert person.app.screen is screen
        await person.presses("enter", "ctrl+l", "escape")
        assert person.app.screen is person.chat


async def test_the_files_of_a_folder_are_filtered_while_it_is_typed(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        screen = await opened(person)
        await person.presses("enter")
        await person.until(lambda: "drill.md" in person.sees())
        await person.presses("slash", *"dent")
        await person.until(lambda: "drill.md" not in person.sees())
        assert "dentist.md" in person.sees()
        await person.presses(*" saw")
        await person.until(lambda: "No file name contains “dent saw”." in person.sees())
        await person.presses("escape")
        await person.until(lambda: "drill.md" in person.sees())
        await person.presses("slash", *"DRILL", "enter", "enter")
        await person.until(lambda: "Petra has borrowed the blue drill." in person.sees())
        await person.presses("escape", "escape", "escape")
        await person.until(lambda: screen._listing.inside is None and screen._listing.rows)


async def test_folders_are_filtered_by_command_as_well(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await person.sends("/add ~/Documents")
        await phase(person, Phase.DONE)
        await opened(person, 2)
        await person.presses("escape")
        await person.sends("/filter documents")
        await person.until(lambda: len(person.app.screen._listing.rows) == 1)
        assert "~/Documents" in person.sees()
        assert "5 files, 5 passages" in person.sees()


async def test_a_list_that_takes_longer_than_the_next_look_is_shown(
    person: Any, me: Path, held: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("device_app.tui.knowledge.screen.LIVE_S", 0.02)
    read = Holdings.all

    def slow(self: Holdings, words: str = "") -> list[Holding]:
        time.sleep(0.1)
        return read(self, words)

    monkeypatch.setattr(Holdings, "all", slow)
    async with person.at():
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await opened(person)
        assert "~/Documents" in person.sees()


async def test_a_store_that_takes_its_time_is_opened_with_the_focus_in_the_list(
    person: Any, me: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = asyncio.Event()
    async with person.at():
        read = person.app.parts.known.holdings

        async def slowly(*given: Any) -> Any:
            await go.wait()
            return await read(*given)

        monkeypatch.setattr(person.app.parts.known, "holdings", slowly)
        await person.presses("ctrl+k")
        await person.until(lambda: not person.app.screen._listing.list.display)
        go.set()
        await person.until(lambda: person.app.screen._listing.rows)
        await person.presses("enter")
        await person.until(lambda: "drill.md" in person.sees())
