"""Faults of the app's environment: malicious text, very much output, a terminal that shrinks, missing models."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from device_app.tui.actions import parse
from models.catalog import Entry, Weights
from models.fake import FakeEngine
from shared.errors import AdapterRejected, EngineError, GaveWay, PullFailed
from storage.conversations import ConversationStore
from tests.devices import PulledDevice

DRILL = "Who has the blue drill?"
HOSTILE = "\x1b]52;c;T1dORUQ=\x07\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe [red]markup[/red] [@click=app.quit]x[/]"
BROKEN = "```python\nnever closed\n| a | b |\n|--\n**bold [link](javascript:alert(1)) <script>x</script> ~~\n- \n  1. #"


async def test_hostile_text_is_shown_and_not_obeyed(person: Any, store: ConversationStore, record: Any) -> None:
    facts = record("", HOSTILE)
    facts["sources"][0] |= {"title": HOSTILE, "path": f"/home/{HOSTILE}.md", "snippet": HOSTILE}
    facts["evidence"] = {"source": 1, "sentence": f"{HOSTILE} it says", "share": 0.9}
    store.write(store.begin(HOSTILE).id, HOSTILE, facts)
    async with person.at(120, 40):
        await person.presses("ctrl+o", "enter", "enter")
        await person.until(lambda: person.chat.transcript.views)
        for keys in ((), ("escape", "1"), ("escape", "w")):
            await person.presses(*keys)
            await person.pilot.pause(0.1)
            seen = person.sees()
            assert not [sign for sign in seen.replace("\n", "") if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0]
            assert "\u202e" not in seen
            assert "[2J" in seen or keys
        assert person.app.is_running


@pytest.mark.parametrize("command", ["/settings", "/search", "/conversations", "/cache answers", "/add"])
async def test_what_is_pasted_into_any_line_is_shown_and_not_obeyed(person: Any, command: str) -> None:
    async with person.at():
        await person.sends(command)
        await person.until(lambda: isinstance(person.app.focused, Input))
        person.app.post_message(events.Paste(HOSTILE))
        await person.until(lambda: "52;c;T1dORUQ=" in person.app.focused.value)
        for text in (person.app.focused.value, person.sees().replace("\n", "")):
            assert not [sign for sign in text if ord(sign) < 32 or 0x7F <= ord(sign) < 0xA0 or sign == "\u202e"]


async def test_what_is_copied_does_no_harm_where_it_is_pasted(person: Any) -> None:
    async with person.at():
        person.app.copy_to_clipboard(f"{HOSTILE} half a pair \ud800")
        assert person.app.clipboard.isprintable()
        assert "half a pair" in person.app.clipboard


@pytest.mark.parametrize("text", [BROKEN, "# " * 500, "`" * 999, "> " * 60 + "deep", "|" * 300, "\n" * 300 + "x"])
async def test_broken_markdown_is_shown_somehow(person: Any, store: ConversationStore, record: Any, text: str) -> None:
    store.write(store.begin("What?").id, text, record("", text))
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: person.chat.transcript.views)
        assert "nothing left this device" in person.sees()


async def test_html_in_an_answer_is_text(person: Any, store: ConversationStore, record: Any) -> None:
    store.write(store.begin("What?").id, "It is <b>bold</b> & so on.", record("", ""))
    async with person.at():
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: "It is <b>bold</b> & so on." in person.sees())


async def test_a_flood_of_pasted_text_is_refused_and_a_page_is_taken(person: Any) -> None:
    async with person.at():
        person.chat.composer.post_message(events.Paste("x" * 200_000))
        await person.until(person.messages)
        assert "has 200,000 characters; at most" in person.messages()[0]
        assert person.chat.composer.text == ""
        person.chat.composer.post_message(events.Paste("two\r\nlines \x1b[31mred"))
        await person.until(lambda: person.chat.composer.text)
        assert person.chat.composer.text == "two\nlines [31mred"


async def test_a_flood_that_comes_as_keys_is_refused_when_sent(person: Any) -> None:
    async with person.at():
        await person.sends("x" * 5_000)
        assert any("has 5,000 characters; at most" in message for message in person.messages())
        assert not person.chat.transcript.views


async def test_a_model_that_fails_is_told_and_the_next_question_is_answered(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        with monkeypatch.context() as broken:

            def refuse(*_: object) -> None:
                raise EngineError("The model fell over. Try again.")

            broken.setattr("models.fake.FakeEngine.prefill", refuse)
            await person.asks(DRILL)
            assert "✗ The model fell over. Try again." in person.sees()
        await person.asks(DRILL)
        assert "● device" in person.sees()


async def test_an_adapter_that_is_not_used_is_told_and_the_bare_model_answers(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def adapter(*_: object) -> None:
        raise AdapterRejected("The adapter \x1b[2Jhere.gguf is not used: it is cut short.")

    monkeypatch.setattr(Weights, "adapter", adapter)
    async with person.at():
        await person.until(lambda: "! The adapter [2Jhere.gguf is not used: it is cut short." in person.sees())
        await person.asks(DRILL)
        assert "● device" in person.sees()


@pytest.mark.parametrize("begins", [True, False])
async def test_an_answer_comes_back_when_the_one_in_its_place_fails(
    person: Any, notes: Path, store: ConversationStore, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    async with person.at(80, 40):
        for question in (DRILL, "Who has the old saw?"):
            await person.asks(question)
        before = store.turns(1)
        with monkeypatch.context() as broken:

            def refuse(*_: object) -> None:
                raise EngineError("The model fell over. Try again.")

            broken.setattr(f"models.fake.FakeEngine.{'decode' if begins else 'prefill'}", refuse)
            for edited in (False, True):
                if edited:
                    await person.presses("escape", "up", "e")
                    await person.sends("Is the dentist on a Tuesday?")
                else:
                    await person.presses("ctrl+r")
                await person.until(
                    lambda: any("The earlier answer is shown again." in message for message in person.messages())
                )
                await person.settled()
                assert store.turns(1) == before
                assert [view.question for view in person.chat.transcript.views] == [DRILL, "Who has the old saw?"]
                assert any("The model fell over." in message for message in person.messages())
                person.messages().clear()
            assert person.chat.composer.text == "Is the dentist on a Tuesday?"


async def test_an_answer_comes_back_when_the_one_in_its_place_was_stopped_before_a_word(
    person: Any, notes: Path, store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with person.at():
        await person.asks(DRILL)
        before = store.turns(1)
        opened = Event()

        def waits(*_: object) -> None:
            opened.wait()
            raise GaveWay("Stopped.")

        monkeypatch.setattr("models.fake.FakeEngine.prefill", waits)
        await person.presses("ctrl+r")
        await person.until(lambda: store.turns(1) != before)
        await person.presses("escape")
        opened.set()
        await person.settled()
        assert store.turns(1) == before
        await person.until(lambda: "● device" in person.sees())


@pytest.mark.long
@pytest.mark.parametrize("size", [(20, 8), (4, 2)])
async def test_the_terminal_may_become_any_size(person: Any, notes: Path, size: tuple[int, int]) -> None:
    async with person.at(120, 40):
        await person.asks(DRILL)
        for keys in ((), ("escape", "1"), ("escape", "f")):
            await person.presses(*keys)
            await person.pilot.resize_terminal(*size)
            await person.until(lambda: max(map(len, person.sees().split("\n"))) <= size[0])
            await person.pilot.resize_terminal(120, 40)
        await person.presses("escape")


AREAS = (
    "/knowledge",
    "/cache",
    "/cache answers",
    "/cache states",
    "/settings",
    "/model",
    "/private",
    "/help",
    "/search",
    "/conversations",
)


@pytest.mark.long
async def test_every_screen_may_shrink_while_an_answer_is_written(
    person: Any, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = FakeEngine.decode

    def slowly(*given: Any) -> Any:
        time.sleep(0.2)
        return decode(*given)

    monkeypatch.setattr("models.fake._next", lambda held: 97 + hash((len(held),)) % 26)  # writes on and on
    monkeypatch.setattr(FakeEngine, "decode", slowly)
    async with person.at(120, 40):
        await person.sends(DRILL)
        for command in AREAS:
            await person.app.perform(parse(command)[0].id)
            for size in ((20, 8), (120, 40)):
                await person.pilot.resize_terminal(*size)
                await person.pilot.pause()
                assert max(map(len, person.sees().split("\n"))) <= size[0]
            while person.app.screen is not person.chat:
                person.app.pop_screen()
                await person.pilot.pause()
        assert person.chat.answering
        person.chat.action_stop()
        await person.settled()
        assert "stopped before its end" in person.sees()


async def test_a_terminal_that_shrinks_leaves_the_person_writing(person: Any) -> None:
    async with person.at(120, 40):
        await person.presses("ctrl+o")
        await person.pilot.resize_terminal(60, 20)
        await person.until(lambda: person.app.focused is person.chat.composer)
        await person.presses(*"on")
        assert person.chat.composer.text == "on"


async def test_in_the_smallest_terminal_a_question_is_answered(person: Any, notes: Path) -> None:
    async with person.at(20, 8):
        await person.asks(DRILL)
        assert "borrowed" in person.sees() or person.chat.transcript.max_scroll_y > 0


@pytest.fixture
def absent(person: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let no model be on the device until the returned function is called."""
    here: list[bool] = []
    person.make = PulledDevice
    monkeypatch.setattr(Weights, "state", lambda *_: "present" if here else "missing")
    return lambda: here.append(True)


async def test_missing_models_are_offered_and_fetched(
    person: Any, notes: Path, absent: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pull(_self: Weights, entry: Entry, progress: Callable[[str, int, int], None]) -> bool:
        progress("Downloading", 40_000_000, 80_000_000)
        if entry.kind == "embedder":
            absent()
        return True

    monkeypatch.setattr(Weights, "pull", pull)
    async with person.at():
        assert "Models to download" in person.sees()
        assert "Enter downloads them" in person.sees()
        await person.presses("enter")
        await person.until(lambda: person.chat.status.doing == "ready")
        await person.asks(DRILL)
        assert "● device" in person.sees()


async def test_a_fetch_that_fails_may_be_tried_again(
    person: Any, absent: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pull(*_: object) -> bool:
        raise PullFailed("There is no network. Try again later.")

    monkeypatch.setattr(Weights, "pull", pull)
    async with person.at():
        for attempt in (1, 2):
            await person.presses("enter")
            await person.until(lambda attempt=attempt: len(person.messages()) == attempt)
        assert "There is no network." in person.messages()[0]


async def test_an_empty_store_says_how_to_begin(person: Any) -> None:
    async with person.at(120, 40):
        assert "/add" in person.sees()
        assert "No conversations yet" in person.sees()
        await person.asks(DRILL)
        seen = " ".join(person.sees().split())
        assert "nothing found" in seen
        assert "Nothing has been read yet. Begin with: jackdaw add ~/Documents" in seen


async def test_nothing_found_says_which_filter_matches_nothing(person: Any, notes: Path) -> None:
    async with person.at():
        await person.asks("kind:zebra who?")
        assert "kind:zebra matches nothing that was read. Kinds that were read: note." in " ".join(
            person.sees().split()
        )


async def test_a_link_is_named_and_not_followed(
    person: Any, store: ConversationStore, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    store.write(store.begin("What?").id, "[my bank](https://evil.example/?q=secret)", record("", ""))
    async with person.at():
        monkeypatch.setattr(person.app, "open_url", lambda url, **_: opened.append(url))
        await person.presses("ctrl+o", "enter")
        await person.until(lambda: "my bank" in person.sees())
        row = next(row for row, line in enumerate(person.sees().split("\n")) if "my bank" in line)
        await person.pilot.click(offset=(person.sees().split("\n")[row].index("my bank") + 1, row))
        await person.until(person.messages)
        assert person.messages() == ["https://evil.example/?q=secret"]
        assert opened == []
