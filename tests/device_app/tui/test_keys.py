"""Keys: a single key does what its label says, what is typed is text, and nothing is deleted by accident."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets._toast import Toast

from device_app.tui.actions import Place, letters
from device_app.tui.knowledge.places import PathField
from device_app.tui.notices import NoticeLine
from storage.conversations import ConversationStore
from tests.device_app.tui.conftest import DRILL, burst


@pytest.mark.parametrize("text", ["What does it say?", "odd, xx", "delete the dentist?", "dd", "/he", "1 drill"])
async def test_what_is_typed_where_answers_are_read_is_a_question(person: Any, notes: Path, text: str) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape")
        assert person.app.focused is person.chat.transcript
        burst(person, text)
        await person.until(lambda: person.chat.composer.text == text)
        assert person.app.screen is person.chat
        assert person.app.theme == "dark"


async def test_a_command_typed_at_once_where_answers_are_read_is_done(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape")
        burst(person, "/theme light\n")
        await person.until(lambda: person.app.theme == "light")


async def test_what_is_pasted_where_answers_are_read_is_written(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape")
        person.app.post_message(Paste("dd"))
        await person.until(lambda: person.chat.composer.text == "dd")


async def test_a_letter_alone_does_what_it_says(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape", "y")
        assert "Petra" in person.app.clipboard
        assert person.chat.composer.text == ""


async def test_ctrl_c_says_which_keys_stop_and_quit(person: Any) -> None:
    async with person.at():
        await person.presses("ctrl+c")
        await person.until(lambda: "To quit, press Ctrl+Q. To stop an answer, press Esc." in person.messages())
        assert "[b]" not in person.sees()


async def test_page_keys_scroll_the_answers_while_a_question_is_typed(person: Any, notes: Path) -> None:
    async with person.at(40, 20):
        transcript = person.chat.transcript
        for _ in range(2):
            await person.asks(DRILL)
        end = transcript.scroll_y
        assert 0 < end < transcript.size.height
        person.chat.composer.begin("half a question")
        await person.presses("pageup")
        assert (person.chat.composer.text, transcript.scroll_y) == ("half a question", 0)
        await person.presses("pagedown")
        assert transcript.scroll_y == end


def test_letters_that_leave_the_chat_are_text_there() -> None:
    assert set(letters(Place.CHAT)) == set("nfsrgopeycwuixd?")
    assert set("alt?") < set(letters(Place.KNOWLEDGE))


async def test_forgetting_takes_another_key_at_once(
    person: Any, notes: Path, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape", "d")
        await person.until(lambda: any("delete this conversation" in message for message in person.messages()))
        await person.presses("d")
        await person.presses("escape")
        assert person.app.focused is person.chat.transcript
        await person.presses("up", "y")  # the prompt went with the key before
        assert store.count() == 1
        assert "Petra" in person.app.clipboard
        monkeypatch.setattr("device_app.tui.keyed.CONFIRM_S", 0.0)
        await person.presses("d")
        await person.presses("y")
        assert store.count() == 1
        monkeypatch.setattr("device_app.tui.keyed.CONFIRM_S", 60.0)
        await person.presses("d")
        await person.until(lambda: person.app._asked)
        await person.presses("y")
        await person.until(lambda: store.count() == 0)


async def test_escape_just_after_an_answer_does_not_leave_the_composer(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        monkeypatch.setattr("device_app.tui.chat.asking.LATE_S", 3600.0)
        await person.asks(DRILL)
        await person.presses("escape", "d", "d")
        assert person.chat.composer.text == "dd"


async def test_letters_in_the_list_of_conversations_search(person: Any, store: ConversationStore) -> None:
    for question in (DRILL, "And the dentist?"):
        store.begin(question)
    async with person.at():
        await person.presses("ctrl+o", "down")
        burst(person, "dentist")
        await person.until(lambda: "And the dentist?" in person.sees() and DRILL not in person.sees())


@pytest.mark.parametrize("text", ["soup", "account", "123"])
async def test_letters_in_a_list_of_kept_answers_filter(person: Any, notes: Path, text: str) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.sends("/cache answers")
        await person.until(lambda: "1 question" in person.sees())
        await person.presses("down")
        burst(person, text)
        await person.until(lambda: f"“{text}”" in person.sees())
        assert person.messages() == []


@pytest.mark.parametrize("size", [(40, 20), (80, 24), (120, 40), (20, 8)])
async def test_a_notice_covers_nothing_and_takes_the_place_of_the_last(
    person: Any, notes: Path, size: tuple[int, int]
) -> None:
    async with person.at(*size):
        await person.sends("/regen")
        for _ in range(2):
            person.app.notify("There is no more.", timeout=3600)
        await person.pilot.pause()
        assert person.sees().count("There is no") == 1
        lines = person.chat.query_one(NoticeLine).region, person.chat.composer.region, person.chat.status.region
        assert all(above.bottom <= below.y for above, below in itertools.pairwise(lines))
        assert lines[0].height
        assert not any(toast.region for toast in person.app.screen.query(Toast))
        await person.sends("/knowledge")
        await person.until(lambda: person.app.screen is not person.chat)
        await person.until(lambda: "There is no" in person.sees())
        assert not any(toast.region for toast in person.app.screen.query(Toast))
        person.app.clear_notifications()
        await person.until(lambda: "There is no" not in person.sees())


async def test_a_notice_over_a_window_is_seen(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks(DRILL)
        await person.presses("escape", "1")
        await person.until(lambda: "Source 1 of 1" in person.sees())
        await person.presses("y")
        await person.until(lambda: "The passage is copied." in person.sees())


@pytest.mark.parametrize("typed", ["/tmp/some notes", "~/Documents"])
@pytest.mark.parametrize("pasted", [True, False])
async def test_a_whole_path_takes_the_place_of_the_home_that_stands_there(
    person: Any, typed: str, pasted: bool
) -> None:
    async with person.at():
        await person.sends("/add")
        await person.until(lambda: isinstance(person.app.focused, PathField))
        if pasted:
            person.app.post_message(Paste(typed))
        else:
            burst(person, typed)
        await person.until(lambda: person.app.focused.value == typed)


async def test_enter_before_the_conversations_are_there_opens_the_first(
    person: Any, store: ConversationStore, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(store.begin(DRILL).id, "Petra.", record(DRILL, "Petra."))
    go = asyncio.Event()
    async with person.at():
        read = person.app.parts.records.conversations

        async def slowly(*given: Any) -> Any:
            await go.wait()
            return await read(*given)

        monkeypatch.setattr(person.app.parts.records, "conversations", slowly)
        await person.presses("ctrl+o", "enter")
        assert "loading" in person.sees()
        go.set()
        await person.until(lambda: person.chat.transcript.views)
        assert person.app.screen is person.chat


@pytest.mark.parametrize("word", ["windy", "study"])
async def test_a_word_typed_where_letters_are_keys_removes_nothing(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr("device_app.tui.keyed.READ_S", 3600.0)
    async with person.at():
        await person.presses("ctrl+k")
        await person.until(lambda: "2 files" in person.sees())
        await person.presses(*word)
        await person.until(lambda: any("Press y" in message for message in person.messages()))
        await person.pilot.pause()
        assert "Press y" in person.sees()  # it was not read yet: it stands
        monkeypatch.setattr("device_app.tui.keyed.READ_S", 0.0)
        await person.presses("y")
        await person.until(lambda: any("Forgotten" in message for message in person.messages()))
