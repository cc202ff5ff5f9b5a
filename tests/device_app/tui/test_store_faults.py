"""A store that is locked, full, damaged or deleted, or open in two apps: errors are clear, and work continues."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from device_app.cli import run
from shared.errors import StoreFull
from storage.conversations import ConversationStore
from storage.paths import Paths
from tests.device_app.tui.conftest import DRILL


async def test_a_store_that_is_held_is_told_and_the_app_goes_on(
    person: Any, notes: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.database.Database.__init__.__kwdefaults__", {"busy_seconds": 0.05})
    async with person.at():
        holder = sqlite3.connect(paths.database, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        await person.asks(DRILL)
        assert "Another process is writing" in " ".join(person.sees().split())
        holder.execute("COMMIT")
        holder.close()
        await person.presses("ctrl+r")
        await person.settled()
        assert "Petra has borrowed the blue drill." in person.sees()


async def test_an_answer_goes_on_while_the_store_cannot_be_written(
    person: Any, notes: Path, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreFull("The disk is full. Free some space.")

    async with person.at():
        with monkeypatch.context() as full:
            full.setattr(ConversationStore, "write", refuse)
            await person.asks(DRILL)
        assert "Petra has borrowed the blue drill." in person.sees()
        assert "✗ The disk is full. Free some space." in person.sees()
        person.chat.action_copy()
        assert person.app.clipboard == "Petra has borrowed the blue drill."
        await person.asks(DRILL)
        assert "● device" in person.sees()
        assert [turn.complete for turn in store.turns(1)] == [False, True]


async def test_a_store_that_is_taken_away_is_told_and_taken_up_when_it_is_back(
    person: Any, notes: Path, paths: Paths
) -> None:
    home, away = paths.database.parent, paths.database.parent.with_name("away")
    async with person.at():
        await person.asks(DRILL)
        home.rename(away)
        await person.asks("Who has the old saw?")
        assert "is gone: its folder or disk was removed" in " ".join(person.sees().split())
        shutil.copytree(away, home)  # as a backup is put back
        await person.asks("Who has the old saw?")
        assert "● device" in person.sees()


async def test_a_list_that_cannot_be_read_on_is_told(
    person: Any, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        store.begin(f"Question {number}")
    async with person.at(120, 40):
        await person.presses("ctrl+o", "down")

        def refuse(*_: object) -> None:
            raise StoreFull("The disk is full. Free some space.")

        monkeypatch.setattr(ConversationStore, "recent", refuse)
        await person.presses("end")
        await person.until(person.messages)
        assert person.messages() == ["The disk is full. Free some space."]


async def test_a_working_folder_that_is_gone_is_told(
    person: Any, store: ConversationStore, record: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(store.begin("What?").id, "That.", record("", ""))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / "work").rmdir()
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: person.chat.transcript.views)
        await person.chat.action_export()
        await person.until(person.messages)
        assert "is gone" in person.messages()[0]


async def test_a_damaged_store_is_told_and_the_app_opens(person: Any, paths: Paths) -> None:
    paths.create()
    paths.database.write_bytes(b"not a database, to be sure" * 1000)
    async with person.at(120, 40):
        assert any("is damaged" in message for message in person.messages())
        await person.asks(DRILL)
        assert "is damaged" in " ".join(person.sees().split())


async def test_two_apps_share_a_store(person: Any, notes: Path, store: ConversationStore) -> None:
    other = type(person)()
    async with person.at(), other.at():
        await person.asks(DRILL)
        await other.asks("When is the dentist?")
        await person.asks("Who has the old saw?")
        assert [turn.question for turn in store.turns(1)] == [DRILL, "Who has the old saw?"]
        assert [turn.question for turn in store.turns(2)] == ["When is the dentist?"]
        await person.presses("ctrl+o")
        await person.until(lambda: "When is the dentist?" in person.sees())


async def test_another_app_may_take_away_what_is_shown(person: Any, notes: Path, store: ConversationStore) -> None:
    other = type(person)()
    async with person.at(), other.at():
        await person.asks(DRILL)
        store.delete(1)
        await other.sends("/cache")
        other.app.screen.action_clear("answers")
        await other.until(other.messages)
        await other.presses("y")
        assert run(["knowledge", "remove", str(notes)]) == 0
        await person.presses("escape", "1")
        await person.until(lambda: "was changed or deleted" in " ".join(person.sees().split()))
        await person.presses("escape", "w")
        await person.until(lambda: "no saved answer is similar" in person.sees())
        await person.presses("escape", "escape")
        await person.asks("Who has the old saw?")
        assert "nothing found" in person.sees()
        assert [turn.question for turn in store.turns(2)] == ["Who has the old saw?"]
