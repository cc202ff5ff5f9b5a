"""Reading files while the user uses the app: it pauses, lets questions go first, and continues where it stopped."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from device_app.system.activity import Activity
from device_app.tui.edge import reading_run
from device_app.tui.knowledge.reading import Phase
from models.catalog import Weights
from models.fake import FakeEmbedder
from shared.errors import WeightsMissing
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.paths import Paths
from tests.device_app.tui.knowledge.conftest import opened, phase
from tests.devices import PulledDevice


async def test_reading_pauses_and_goes_on_from_there(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        screen = await opened(person)
        await person.presses("p")
        held.go.set()
        await phase(person, Phase.PAUSED)
        await person.until(lambda: "Reading paused." in person.sees())
        await person.presses("r")
        await phase(person, Phase.DONE)
        await person.until(lambda: screen._listing.rows[0].passages == 3)


async def test_pausing_is_told_at_once_though_a_file_takes_long(person: Any, me: Path, held: Any) -> None:
    async with person.at(100, 30):
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await opened(person)
        await person.presses("p")
        await person.until(lambda: "Reading pauses after this file." in person.sees())
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


async def test_reading_is_paused_from_the_palette_wherever_one_is(person: Any, me: Path, held: Any) -> None:
    async with person.at():
        assert "pause" not in [action.id for action in person.app.available()]
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await person.presses("escape", "ctrl+p", *"pause reading")
        await person.until(lambda: "Pause reading files" in person.sees())
        await person.presses("down", "enter")
        await phase(person, Phase.PAUSING)


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
    person: Any, me: Path, notes: Path, held: Any, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_run, "QUIET_S", 600)
    async with person.at():
        await person.sends("/add ~/Documents")
        await person.until(held.reached.is_set)
        await person.presses("escape")
        await person.asks("Who has the blue drill?")
        assert "Petra has borrowed the blue drill." in person.sees()
        held.go.set()
        await phase(person, Phase.GIVING_WAY)  # a moment longer, for the next question
        monkeypatch.setattr(reading_run, "QUIET_S", 0)
        await phase(person, Phase.DONE)
        assert Activity(paths.activity).last()


async def test_another_process_that_reads_is_waited_for(person: Any, me: Path, paths: Paths) -> None:
    paths.add_lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(paths.add_lock):
        async with person.at():
            await person.sends("/add ~/Documents")
            await phase(person, Phase.WAITING)
            await person.until(lambda: "another Jackdaw process is reading files" in person.sees())
            FileLock(paths.add_lock)
            await opened(person)
            await person.presses("p")
            await phase(person, Phase.PAUSED)


async def test_what_was_chosen_before_the_models_came_is_read_when_they_are_there(
    person: Any, me: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: list[bool] = []

    def embedder() -> FakeEmbedder:
        if not here:
            raise WeightsMissing("The weights of all-minilm-l6-v2 are not here yet.")
        return FakeEmbedder()

    person.make = partial(PulledDevice, embedder=embedder)
    monkeypatch.setattr(Weights, "state", lambda *_: "present" if here else "missing")
    monkeypatch.setattr(Weights, "pull", lambda *_: here.append(True))
    async with person.at():
        await person.until(person.chat.choices)
        await person.presses("1")
        await phase(person, Phase.WAITING)
        await person.until(lambda: "the models are not downloaded yet" in person.sees())
        await person.presses("enter")
        await phase(person, Phase.DONE)
        await person.until(lambda: "for example" in person.sees())


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
