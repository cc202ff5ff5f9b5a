"""Marking an answer as wrong in the app, and answers whose files have changed."""

from pathlib import Path

from device_app.cache.answers.wrong import MARKED
from storage.conversations import ConversationStore
from tests.device_app.tui.conftest import DRILL, Person

PETRA = "Petra has borrowed the blue drill."


async def test_a_marked_answer_is_not_given_again(person: Person, notes: Path, store: ConversationStore) -> None:
    async with person.at(80, 40):
        await person.asks(DRILL)
        assert PETRA in person.sees()
        await person.sends("/wrong")
        await person.until(lambda: "you marked this as wrong" in person.sees())
        assert "until its files or the model change" in person.messages()[-1]
        await person.sends("/regen")
        await person.until(lambda: MARKED[:40] in person.sees())
        await person.settled()
        assert "Nearest passages:" in person.sees()
        assert PETRA not in (person.chat.transcript.views[-1].answer)


async def test_once_more_takes_it_back(person: Person, notes: Path) -> None:
    async with person.at(80, 40):
        await person.asks(DRILL)
        await person.sends("/wrong")
        await person.until(lambda: "you marked this as wrong" in person.sees())
        await person.presses("escape", "i")
        await person.until(lambda: "you marked this as wrong" not in person.sees())
        assert person.messages()[-1] == "No longer marked as wrong."
        await person.sends("/regen")
        await person.settled()
        assert person.chat.transcript.views[-1].answer == PETRA


async def test_it_is_still_shown_as_wrong_when_the_conversation_is_opened_again(person: Person, notes: Path) -> None:
    async with person.at(80, 40):
        await person.asks(DRILL)
        await person.sends("/wrong")
        await person.until(lambda: "you marked this as wrong" in person.sees())
    async with person.at(80, 40):
        await person.chat.open_conversation(1)
        await person.until(lambda: "you marked this as wrong" in person.sees())


async def test_where_there_is_no_answer_that_is_said(person: Person, notes: Path) -> None:
    async with person.at(80, 40):
        await person.asks("in:nowhere Who has the drill?")
        await person.sends("/wrong")
        await person.until(lambda: person.messages() and "not answered" in person.messages()[-1])


async def test_a_file_that_changed_is_read_again_and_one_that_is_gone_is_named(person: Person, notes: Path) -> None:
    async with person.at(80, 40):
        await person.asks(DRILL)
        (notes / "drill.md").write_text("# Tools\n\nAnton has borrowed the blue drill.")
        await person.asks(DRILL)
        assert "Anton has borrowed" in person.sees()
        (notes / "drill.md").unlink()
        await person.asks(DRILL)
        assert "drill.mdisgone" in "".join(person.sees().split())  # a long path is broken anywhere
