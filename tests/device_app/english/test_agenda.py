"""Which questions are about the calendar, and what they ask about it."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.agenda import read

TODAY = date(2026, 11, 25)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "ask", "words"),
    [
        ("What is on today?", "list", ""),
        ("What's on tomorrow?", "list", ""),
        ("what is on on friday", "list", ""),
        ("What do I have on Friday?", "list", ""),
        ("What have I got on this week?", "list", ""),
        ("Show me my agenda for next week", "list", ""),
        ("my calendar for 3 December", "list", ""),
        ("What is on 3 December?", "list", ""),
        ("Anything planned at the weekend?", "any", ""),
        ("Hey, could you tell me what is on tomorrow, please?", "list", ""),
        ("What does next week look like?", "list", ""),
        ("what was on last Tuesday?", "list", ""),
        ("Which appointments do I have in December?", "list", ""),
        ("What is coming up?", "list", ""),
        ("What does Sunday hold?", "list", ""),
        ("What's planned for the rest of November?", "list", ""),
        ("agenda", "list", ""),
        ("have i got the book club coming up", "when", "book club"),
        ("upcoming appointments this week", "list", ""),
        ("Give me an overview of next week", "list", ""),
        ("What am I supposed to do tomorrow?", "list", ""),
        ("What's the plan for tomorrow?", "list", ""),
        ("whats on tomorow", "list", ""),
        ("todays schedule?", "list", ""),
        ("list everything in the diary for this week", "list", ""),
        ("which events do I have between Monday and Thursday", "list", ""),
        ("Do I have anything on Saturday?", "any", ""),
        ("Is there anything on next Tuesday?", "any", ""),
        ("Do I have plans for tonight?", "any", ""),
        ("Is anything scheduled for Monday?", "any", ""),
        ("How many appointments do I have next week?", "count", ""),
        ("Am I free on Friday afternoon?", "free", ""),
        ("Do I have time tomorrow between 2 and 4?", "free", ""),
        ("Is Thursday evening free?", "free", ""),
        ("Am I busy tomorrow at 3pm?", "busy", ""),
        ("When is my next dentist appointment?", "next", "dentist"),
        ("When's the next book club?", "next", "book club"),
        ("What is my next appointment?", "next", ""),
        ("What's next?", "next", ""),
        ("When is book club this week?", "when", "book club"),
        ("What time is rowing on Thursday?", "when", "row"),
        ("When is the dentist?", "when", "dentist"),
        ("When do the stairs open?", "when", "stair open"),
        ("Which meetings do I have with Petra next week?", "about", "petra"),
        ("Do I have rowing tomorrow?", "whether", "row"),
        ("Is the book club on Wednesday?", "whether", "book club"),
        ("Is the book club still on Wednesday?", "whether", "book club"),
        ("Is the book club still on?", "when", "book club"),
        ("Is the book club happening?", "when", "book club"),
        ("Does the book club take place?", "when", "book club"),
        ("Has the dentist been moved?", "when", "dentist"),
        ("Is the dentist cancelled?", "when", "dentist"),
        ("Is the dentist cancelled on Thursday?", "about", "dentist"),
        ("Was the dentist moved to Friday?", "about", "dentist"),
        ("What is on on Good Friday?", "list", ""),
        ("When is the summer party?", "when", "part"),
    ],
)
def test_questions_about_an_agenda(question: str, ask: str, words: str) -> None:
    asked = read(question, TODAY)
    assert asked
    assert (asked.ask, " ".join(asked.words)) == (ask, words)
    assert asked.window or ask in ("next", "when")


@pytest.mark.parametrize(
    "question",
    [
        "What is today?",
        "What have I moved this week?",
        "When was the dentist postponed?",
        "Is it cancelled?",
        "Is it still on?",
        "What is the plan?",
        "What do I need to do?",
        "When did the dentist call?",
        "Where is the dentist?",
        "What did I do on Saturday?",
        "What did Anna say on Friday?",
        "What was decided last week?",
        "Who is coming tomorrow?",
        "What is the weather tomorrow?",
        "When is the next one?",
        "Is it on Friday?",
        "Is the book club this week or next?",
        "What is on this week or next",
        "What is on on Friday or rowing",
        "A meeting or anything else on Friday?",
        "What is on the shopping list?",
        "What is on the roof?",
        "How many people came on Friday?",
        "Is there anything about the drill in my mails from Friday?",
        "What does Petra have on Friday?",
        "Free on Friday",
        "What happened today?",
        "What was I up to on 11 October?",
        "What was going on last Friday?",
        "Do I have anything on Saturday or on 3 December?",
        "What is on Petra's calendar tomorrow?",
        "Livia's agenda for Monday",
        "x" * 500,
        "?",
        "When does summer begin?",  # in no calendar of the person's
        "how long until winter",
        "when is spring",
        "when does the summer end?",
        "what is Good Friday",
        "What's Easter Monday?",
        "every other Monday",
        "what is on every other Monday",
        "my appointments every second Friday",
        "my last appointment next week",
        "what is the last thing on tomorrow",
        "",
    ],
)
def test_other_questions(question: str) -> None:
    assert read(question, TODAY) is None


@given(st.text(max_size=80))
def test_any_text_is_read_or_left_to_others(text: str) -> None:
    read(text, TODAY)
