"""The search screen: typing a search, narrowing it, and opening a result."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, OptionList, Static

from device_app.cli import run
from shared.errors import StoreError
from storage.conversations import ConversationStore
from storage.paths import Paths
from tests.device_app.tui.conftest import DRILL, PHONE, SIZES
from tests.devices import fake_device


@pytest.fixture
def talk(notes: Path, store: ConversationStore, record: Any) -> None:
    """A question about the drill that was answered."""
    store.write(store.begin(DRILL).id, "Petra has it.", record(DRILL, "Petra has it."))


@pytest.fixture
def life(paths: Paths, tmp_path: Path, store: ConversationStore, record: Any) -> None:
    """A note and a mail in a folder at home, and a question, all about the drill."""
    folder = tmp_path / "me" / "notes"
    folder.mkdir(parents=True)
    (folder / "drill.md").write_text("# Tools\n\nAnna has the old saw.\n\nPetra has borrowed the blue drill.")
    mail = "From: Anna <anna@a.example>\nTo: Petra <p@p.example>\nSubject: Saw\nDate: Sat, 14 Mar 2026 09:00:00 +0000\n"
    (folder / "saw.eml").write_text(f"{mail}\nThe blue drill is with you, says Petra. Keep it until May.\n")
    assert run(["add", str(folder)], fake_device) == 0
    store.write(store.begin(DRILL).id, "Petra has it.", record(DRILL, "Petra has it."))


async def searched(person: Any, words: str, awaited: str) -> None:
    await person.sends(f"/search {words}".strip())
    await person.until(lambda: awaited in person.sees())


async def test_files_and_conversations_are_found_in_two_sections(person: Any, talk: None) -> None:
    async with person.at(100, 40):
        await searched(person, "bleu drill", "instead of “bleu”")
        seen = person.sees()
        assert seen.index("Files") < seen.index("drill.md") < seen.index("Conversations") < seen.index(DRILL)


async def test_a_result_opens_at_its_place_with_its_words_marked(person: Any, talk: None) -> None:
    async with person.at(100, 40):
        await searched(person, "blue drill", "drill.md")
        await person.presses("enter")
        await person.until(lambda: "Source 1 of 1" in person.sees() and "Petra has borrowed" in person.sees())
        content: Any = person.app.screen.query_one(".passage", Static).content
        assert {content.plain[span.start : span.end].lower() for span in content.spans} == {"blue", "drill"}
        await person.presses("escape")
        assert isinstance(person.app.focused, Input)


async def test_a_result_opens_in_the_editor(person: Any, talk: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", "vi")
    commands: list[Any] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command))
    async with person.at(100, 40):
        await searched(person, "blue drill", "drill.md")
        await person.presses("enter", "e")
        await person.until(person.messages)
        assert "suspend" in person.messages()[0].lower()  # there is no terminal here to hand over
        await person.presses("escape")
        command = await person.app.parts.searches.editor(1)
        assert command[:2] == [b"vi", b"+1"]


async def test_a_turn_opens_in_its_conversation(person: Any, talk: None) -> None:
    async with person.at(100, 40):
        await searched(person, "blue drill", DRILL)
        await person.app.perform("side", "conversations")
        await person.until(lambda: "conversations · by" in person.sees() and "drill.md" not in person.sees())
        await person.presses("enter")
        await person.until(lambda: person.chat.transcript.views)
        assert person.chat.transcript.selected.question == DRILL


async def test_filters_are_completed_and_facets_narrow(person: Any, notes: Path) -> None:
    async with person.at(100, 40):
        await searched(person, "", "who:petra")
        field = person.app.screen.query_one(Input)
        field.value = "kin"
        await person.until(lambda: "Tab: kind:" in person.sees())
        await person.presses("tab")
        await person.until(lambda: "Tab: kind:note" in person.sees())
        await person.presses("tab")
        assert field.value == "kind:note"
        await person.until(lambda: "2 documents" in person.sees())
        await person.presses("ctrl+s")
        await person.until(lambda: "by date" in person.sees())


async def test_a_facet_is_added_to_the_search(person: Any, life: None) -> None:
    async with person.at(100, 40):
        await searched(person, "drill", "kind:mail")
        results = person.app.screen.query_one(OptionList)
        results.focus()
        results.highlighted = next(place for place, each in enumerate(results.options) if each.id == "narrow:kind:mail")
        results.action_select()
        await person.until(lambda: person.app.screen.query_one(Input).value == "drill kind:mail")
        await person.until(lambda: "1 document" in person.sees())


@pytest.mark.parametrize("typed", ["😀", "the", '"', "kind:", "on:2026-02-31", "(((", "שלום"])
async def test_no_text_breaks_it(person: Any, notes: Path, typed: str) -> None:
    async with person.at(40, 20):
        await searched(person, typed, "files and conversations · by")
        await person.presses("enter", "tab", "down", "up")
        assert person.app.is_running


async def test_enter_before_a_failed_search_opens_nothing_later(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at(100, 40):
        await searched(person, "", "who:petra")
        searches = person.app.parts.searches
        usual, goes_on = searches.search, asyncio.Event()

        async def fails(*_: Any) -> None:
            await goes_on.wait()
            raise StoreError("The disk is full.")

        monkeypatch.setattr(type(searches), "search", fails)
        screen = person.app.screen
        screen.begin("drill")
        await person.presses("enter")
        goes_on.set()
        await person.until(lambda: "The disk is full." in "".join(person.messages()))
        monkeypatch.setattr(type(searches), "search", lambda _, *asked: usual(*asked))
        screen.begin("blue drill")
        await person.until(lambda: "drill.md" in person.sees())
        assert person.app.screen is screen


@SIZES
def test_a_search(looks: Any, life: None, size: Any) -> None:
    async def searches(person: Any) -> None:
        await searched(person, "bleu drill", "Petra has")

    assert looks(size, searches)


@PHONE
def test_the_filters_are_listed(looks: Any, life: None, size: Any) -> None:
    async def opens(person: Any) -> None:
        await searched(person, "", "who:petra")

    assert looks(size, opens)
