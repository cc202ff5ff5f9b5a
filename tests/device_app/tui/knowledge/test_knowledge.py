"""The knowledge screen as a person uses it: looking, adding, removing, pausing, going on."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from device_app.activity import Activity
from device_app.tui.knowledge.reading import Phase
from models.catalog import Weights
from shared.errors import StoreFull, WeightsMissing
from storage.database import Database
from storage.holdings import Holding, Holdings
from storage.knowledge import KnowledgeStore
from storage.paths import Paths


async def opened(person: Any, rows: int = 1) -> Any:
    """The screen, with so many rows at least."""
    await person.presses("ctrl+k")
    await person.until(lambda: len(getattr(getattr(person.app.screen, "_listing", None), "rows", ())) >= rows)
    return person.app.screen


async def phase(person: Any, wanted: Phase) -> None:
    await person.until(lambda: person.app.reading.phase is wanted)


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
        await person.until(person.told)
        assert "There is no file or folder" in person.told()[0]
        await person.presses("escape")
        assert not screen._field.display
        assert person.app.screen is screen


async def test_removing_waits_for_a_yes_and_says_what_goes(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await opened(person)
        await person.presses("d")
        await person.until(person.told)
        assert "2 files with 2 passages; your files stay." in person.told()[0]
        await person.presses("d", "d")
        assert notes.name in person.sees()
        await person.presses("y")
        await person.until(lambda: "Nothing has been read yet." in person.sees())
        assert (notes / "drill.md").exists()
        assert person.told()[-1].startswith("Forgotten: ")


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


async def test_a_file_of_a_folder_that_is_still_read_would_come_back(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await opened(person)
        await person.presses("enter")
        await person.until(lambda: "drill.md" in person.sees())
        await person.presses("d", "y")
        await person.until(lambda: "dentist.md" not in person.sees())
        assert "is still read" in person.told()[-1]


async def test_reading_pauses_and_goes_on_from_there(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        screen = await opened(person)
        await person.presses("p")
        held.go.set()
        await phase(person, Phase.PAUSED)
        await person.until(lambda: "Paused." in person.sees())
        await person.presses("r")
        await phase(person, Phase.DONE)
        await person.until(lambda: screen._listing.rows[0].passages == 3)


async def test_leaving_while_files_are_read_keeps_all_whole(person: Any, me: Path, held: Any, paths: Paths) -> None:
    async with person.at():
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
    held.go.set()
    person.app.parts.reader._thread._executor.shutdown(wait=True)
    database = Database(paths.database)
    assert database.problems() == []
    assert KnowledgeStore(database).folders() == [os.fsencode(me / "Documents")]
    database.close()
    async with person.at():
        await opened(person)
        await person.presses("u")
        await phase(person, Phase.DONE)
        await person.until(lambda: "3 files · 3 passages" in person.sees())


async def test_a_question_is_answered_while_files_are_read(
    person: Any, me: Path, notes: Path, held: Any, paths: Paths
) -> None:
    async with person.at():
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await person.presses("escape")
        await person.asks("Who has the blue drill?")
        assert "Petra has borrowed the blue drill." in person.sees()
        held.go.set()
        await phase(person, Phase.GIVING_WAY)  # a moment longer, for the next question
        await phase(person, Phase.DONE)
        assert Activity(paths.activity).last()


async def test_another_process_that_reads_is_waited_for(person: Any, me: Path, paths: Paths) -> None:
    paths.add_lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(paths.add_lock):
        async with person.at():
            await person.sends("/add ~/Documents")
            await phase(person, Phase.WAITING)
            await person.until(lambda: "another process of Jackdaw is reading files" in person.sees())
            FileLock(paths.add_lock)
            await opened(person)
            await person.presses("p")
            await phase(person, Phase.PAUSED)


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


async def test_what_was_chosen_before_the_models_came_is_read_when_they_are_there(
    person: Any, me: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from device_app.build import Device
    from models.fake import FakeEmbedder

    here: list[bool] = []

    def embedder(_: Device) -> FakeEmbedder:
        if not here:
            raise WeightsMissing("The weights of all-minilm-l6-v2 are not here yet.")
        return FakeEmbedder()

    monkeypatch.setattr(Device, "embedder", property(embedder))
    monkeypatch.setattr(Weights, "state", lambda *_: "present" if here else "missing")
    monkeypatch.setattr(Weights, "pull", lambda *_: here.append(True))
    async with person.at():
        await person.until(person.chat.choices)
        await person.presses("1")
        await phase(person, Phase.WAITING)
        await person.until(lambda: "the models are not here yet" in person.sees())
        await person.presses("enter")
        await phase(person, Phase.DONE)
        await person.until(lambda: "for example" in person.sees())


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
            seen += person.sees() + "".join(person.told())
        assert not [sign for sign in seen.replace("\n", "") if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0]
        assert "\u202e" not in seen
        assert "[red]m[red]" in seen


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


async def test_a_folder_that_vanishes_is_told(person: Any, me: Path) -> None:
    async with person.at():
        await person.sends("/add ~/Documents")
        await phase(person, Phase.DONE)
        (me / "Documents").rename(me / "elsewhere")
        await opened(person)
        await person.presses("u")
        await person.until(lambda: "could not be read" in person.sees())
        assert person.app.is_running


async def test_a_terminal_that_shrinks_to_nearly_nothing(person: Any, me: Path, notes: Path) -> None:
    async with person.at():
        await opened(person)
        for size in ((20, 8), (5, 3), (120, 40)):
            await person.pilot.resize_terminal(*size)
            await person.presses("enter", "a", "escape", "escape")
        await person.until(lambda: "2 files · 2 passages" in person.sees())


async def test_pausing_is_told_at_once_though_a_file_takes_long(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await opened(person)
        await person.presses("p")
        await person.until(lambda: "Pausing after this file." in person.sees())
        await person.presses("r")
        held.go.set()
        await phase(person, Phase.DONE)


async def test_a_pause_holds_though_an_update_waited(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await opened(person)
        await person.presses("u", "p")
        held.go.set()
        await phase(person, Phase.PAUSED)
        await person.app.parts.reader._thread.run(lambda _: None)  # whatever waited has had its turn
        await person.pilot.pause()
        assert person.app.reading.phase is Phase.PAUSED
        await person.presses("r")
        await phase(person, Phase.DONE)


async def test_what_is_removed_while_it_is_read_is_not_paused(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await opened(person)
        await person.presses("d", "y")
        held.go.set()
        await phase(person, Phase.IDLE)
        await person.until(lambda: "Nothing has been read yet." in person.sees())


async def test_a_setting_counts_for_what_is_read_from_then_on(person: Any, me: Path, held: Any) -> None:
    (me / "Documents" / "long.md").write_text(" ".join(f"word{number}." for number in range(200)))
    held.go.set()
    async with person.at(100, 30):
        await person.sends("/add ~/Documents/drill.md")
        await phase(person, Phase.DONE)
        await person.app.parts.preferences.set("knowledge.passage_words", "20")
        await person.app.setting_changed("knowledge.passage_words")
        await person.sends("/add ~/Documents/long.md")
        await person.until(lambda: person.app.reading.phase is Phase.DONE and person.app.reading.passages > 1)
        assert person.app.reading.passages >= 8


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
        await person.until(lambda: "No name holds “dent saw”." in person.sees())
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


async def test_what_is_wanted_is_read_though_something_is_forgotten_before(person: Any, me: Path) -> None:
    async with person.at():
        person.app.parts.reader.read([me / "Documents"])
        await person.app.parts.reader.remove(b"/nowhere")
        await phase(person, Phase.DONE)
        assert person.app.reading.passages == 3


async def test_settings_that_are_broken_meanwhile_are_told(person: Any, me: Path, paths: Paths) -> None:
    async with person.at():
        paths.create()
        paths.config_file.write_text("[answer\n")
        await person.sends("/add ~/Documents")
        await phase(person, Phase.FAILED)
        assert "config edit" in person.app.reading.why


async def test_reading_is_paused_from_the_palette_wherever_one_is(person: Any, me: Path, held: Any) -> None:
    async with person.at():
        assert "pause" not in [one.id for one in person.app.available()]
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await person.presses("escape", "ctrl+p", *"pause reading")
        await person.until(lambda: "Stop reading files" in person.sees())
        await person.presses("down", "enter")
        await phase(person, Phase.PAUSING)


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
