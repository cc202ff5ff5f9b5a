"""A long answer: parts far from the visible area are not rendered, and are rendered again when they are scrolled into
view.
"""

import asyncio
from typing import Any

import pytest

from device_app.tui import messages
from device_app.tui.chat.answer import AnswerText, Folded, Part
from device_app.tui.edge.answers import Answers
from storage.conversations import ConversationStore

LONG = "\n\n".join(f"Paragraph {number}. " + "word " * 60 for number in range(120))


def blank(person: Any) -> list[bool]:
    return [part.blank for part in person.chat.query_one(AnswerText).parts]


async def opened(person: Any) -> None:
    await person.chat.open_conversation(1)
    await person.until(lambda: not blank(person)[-1])


async def settled(person: Any) -> None:
    await person.pilot.pause()
    transcript = person.chat.transcript
    await person.until(lambda: transcript._due is None and not transcript._folds and not transcript._changes)


async def test_of_a_long_answer_only_what_is_near_is_mounted(
    person: Any, store: ConversationStore, record: Any
) -> None:
    store.write(store.begin("What?").id, LONG, record("", LONG))
    async with person.at():
        await opened(person)
        assert blank(person)[0]
        person.chat.transcript.scroll_home(animate=False)
        await person.until(lambda: not blank(person)[0] and blank(person)[-1])
        await person.until(lambda: "Paragraph 0." in person.sees())


async def test_what_is_read_stays_where_it_is_while_other_parts_come_and_go(
    person: Any, store: ConversationStore, record: Any
) -> None:
    store.write(store.begin("What?").id, LONG, record("", LONG))
    async with person.at():
        await opened(person)
        transcript = person.chat.transcript
        await settled(person)
        before = blank(person)
        transcript.release_anchor()
        places = {part: part.region for part in person.chat.query(Part)}
        scrolled = transcript.scroll_y
        transcript.scroll_relative(y=-45, animate=False, immediate=True)
        moved = scrolled - transcript.scroll_y
        # Parts may come from here on, so that what lies where now is told by what lay where before.
        part = next(part for part, place in places.items() if place.bottom + moved > transcript.region.y)
        row = places[part].y + moved
        await settled(person)
        assert blank(person) != before
        assert part.region.y == row


async def test_who_scrolls_while_parts_come_is_not_brought_back(
    person: Any, store: ConversationStore, record: Any
) -> None:
    store.write(store.begin("What?").id, LONG, record("", LONG))
    async with person.at():
        await opened(person)
        transcript, answer = person.chat.transcript, person.chat.query_one(AnswerText)
        transcript.scroll_up(animate=False)
        await settled(person)

        async def change() -> None:
            answer.parts[0].styles.height = 50
            transcript.scroll_home(animate=False, immediate=True)

        await transcript.keep_place(change())
        await person.until(lambda: "Paragraph 0." in person.sees())


async def grow(part: Part | Folded) -> None:
    part.styles.height = part.outer_size.height + 5


async def test_several_changes_at_once_leave_what_is_read_where_it_is(
    person: Any, store: ConversationStore, record: Any
) -> None:
    store.write(store.begin("What?").id, LONG, record("", LONG))
    async with person.at():
        await opened(person)
        transcript, answer = person.chat.transcript, person.chat.query_one(AnswerText)
        transcript.release_anchor()
        transcript.scroll_relative(y=-60, animate=False, immediate=True)
        await settled(person)
        part = next(part for part in person.chat.query(Part) if part.region.bottom > transcript.region.y)
        row, first = part.region.y, transcript.scroll_y
        for above in answer.parts[:3]:
            await transcript.keep_place(grow(above))
        await person.until(lambda: transcript.scroll_y != first)
        await person.pilot.pause()
        assert (part.region.y, transcript.scroll_y) == (row, first + 15)


async def test_a_question_that_fills_the_view_stays_where_it_is_while_parts_above_it_come(
    person: Any, store: ConversationStore, record: Any
) -> None:
    conversation = store.begin("What?").conversation_id
    store.write(store.turns(conversation)[0].id, LONG, record("", LONG))
    store.write(store.begin("Why? " + "word " * 790, conversation).id, "Because.", record("", "Because."))
    async with person.at():
        await person.chat.open_conversation(1)
        question, transcript = person.chat.query(".question").last(), person.chat.transcript
        await person.until(lambda: question.region.height > transcript.region.height)
        transcript.release_anchor()
        transcript.scroll_to(y=transcript.scroll_y + question.region.y + 9, animate=False, immediate=True)
        await settled(person)
        assert question.region.y < transcript.region.y < transcript.region.bottom < question.region.bottom
        row, first = question.region.y, transcript.scroll_y
        await transcript.keep_place(grow(person.chat.query(AnswerText).first().parts[0]))
        await person.until(lambda: transcript.scroll_y != first)
        await person.pilot.pause()
        assert question.region.y == row


async def test_a_long_answer_is_copied_whole(person: Any, store: ConversationStore, record: Any) -> None:
    store.write(store.begin("What?").id, LONG, record("", LONG))
    async with person.at():
        await opened(person)
        await person.sends("/copy")
        assert person.app.clipboard == LONG


@pytest.mark.long
async def test_an_answer_that_grows_stays_few_widgets(person: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Answers, "ask", lambda *_: None)
    async with person.at():
        await person.sends("What?")
        for number in range(100):
            person.chat.post_message(messages.Wrote(1, f"{number}. " + "word " * 30 + "\n"))
            if number % 10 == 9:
                await person.pilot.pause()
        await person.until(lambda: len(person.chat.query(Folded)) > 3)
        assert len(person.chat.query("Part *")) < 250
        assert "99." in person.sees()


@pytest.mark.long
@pytest.mark.parametrize("width", [40, 120])
@pytest.mark.parametrize("waits_s", [(0, 0), (0.11, 0), (0.11, 0.05), (0.11, 0.11)])
async def test_a_long_answer_is_there_in_another_width(
    person: Any, store: ConversationStore, record: Any, width: int, waits_s: tuple[float, float]
) -> None:
    """Which parts are rendered is decided 0.1 s after a change or after the layout, however late the layout is."""
    store.write(store.begin("What?").id, LONG, record("", LONG))
    async with person.at():
        await opened(person)
        await asyncio.sleep(waits_s[0])
        await person.pilot.resize_terminal(width, 24)
        await asyncio.sleep(waits_s[1])
        person.chat.transcript.scroll_home(animate=False)
        await person.until(lambda: "Paragraph 0." in person.sees())
