"""An answer whose whole text and end reach the screen together, as when files are quoted."""

from typing import Any

import pytest

from device_app.tui import messages
from device_app.tui.chat.answer import AnswerText
from device_app.tui.edge.answers import Answers, Request
from device_app.tui.edge.facts import Turn


@pytest.mark.long
@pytest.mark.parametrize(
    "size", [(40, 20), *(pytest.param(size, marks=pytest.mark.long) for size in ((80, 24), (120, 40)))]
)
async def test_the_screen_lives_on_however_many_lines_there_are(
    person: Any, record: Any, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    asked: list[Request] = []
    monkeypatch.setattr(Answers, "ask", lambda _, request: asked.append(request))
    async with person.at(*size):
        for bullets in range(1, 9):
            await person.sends("What was said about the boathouse?")
            text = "\n".join(["The boathouse:", "", *(f"- The roof leaks, {number} [1]" for number in range(bullets))])
            turn = Turn(bullets, 1, asked[-1].question, text, True, record(asked[-1].question, text), "2026-11-21")
            person.chat.post_message(messages.Wrote(asked[-1].ticket, text))
            person.chat.post_message(messages.Finished(asked[-1].ticket, turn))
            await person.until(lambda: person.chat.status.doing == "ready")
            assert person.chat.is_running
            assert person.chat.transcript.views[-1].query_one(AnswerText).parts[-1].piece.text == text
            assert f"The roof leaks, {bullets - 1}" in person.sees()


async def test_an_answer_is_stopped_in_the_moment_a_part_of_it_begins(person: Any, notes: Any) -> None:
    async with person.at():
        await person.asks("Who has the blue drill?")
        answer = person.chat.query_one(AnswerText)
        await answer.write("".join(f"- line {number}\n" for number in range(8)))
        await answer.settle(None)
        assert not answer.is_written
