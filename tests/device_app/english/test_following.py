"""Which questions are follow-ups, which cannot be understood without the question before."""

from datetime import date

import pytest

from device_app.english.following import begins_as_question, for_other_days, is_follow_up
from device_app.english.query import parse

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    "question",
    [
        # It goes on.
        "And what did it cost?",
        "And on Friday?",
        "and the drill?",
        "But who paid?",
        "Ok, and why?",
        "What about Petra?",
        "How about the ladder?",
        "And what is the budget?",
        "And when is the dentist?",
        # It points at what it does not name.
        "who was it from?",
        "When is it?",
        "What did Anna say about it?",
        "What did the plumber say about that?",
        "Where did Petra buy it?",
        "Did she like the drill?",
        "What is her phone number?",
        "What did Petra give her?",
        "Who did they invite?",
        "When was that?",
        "How much is that flight?",
        "Who were those people?",
        "Is this paid?",
        "Which one is older?",
        "Where is the blue one?",
        "Who was there?",
        "What did we eat there?",
        "Who else came to the party?",
        "What happened then?",
        # It names nothing of its own.
        "Why?",
        "When?",
        "How much?",
        "Since when?",
        "From whom?",
        "Who paid?",
        "Which hotel?",
        "Why Petra?",
        "What was the price?",
        "What is the total amount?",
        "Where did we stay?",
        "When is the appointment?",
    ],
)
def test_it_leans(question: str) -> None:
    assert is_follow_up(parse(question, TODAY))


@pytest.mark.parametrize(
    "question",
    [
        "what's zora's number",
        "what is the vet's address?",
        "When is the dentist?",
        "when is the dentist",
        "What is the capital of Mongolia?",
        "Who has the blue drill?",
        "who is petra?",
        "Where is Bergen?",
        "What is quantum entanglement?",
        "What's photosynthesis?",
        "Where do I work?",
        "Who owes me money?",
        "What did Tomaso's double bass cost?",
        "What is the price of the tile quote?",
        "How many teaspoons of cardamom does Mormor really use in her almond cake?",
        "What did Runa and Tomaso pay for the flat when they bought it?",
        "When is the dentist appointment, now that it has been moved?",
        "Did Anna say that she was ill?",
        "When has Toyota said it will close its plant?",
        "What tool do potters use to see their glaze?",
        "What did Petra borrow instead of the ladder?",
        "Where is the drill that Petra borrowed?",
        "Petra has my drill. When does she bring it back?",
        "How many rooms are there in the flat?",
        "Is there a receipt for the oven?",
        "What did Petra buy this week?",
        "Does one of the drills belong to Petra?",
        "What is on tomorrow?",
        "What happened on Friday?",
        "from:anna what did she order?",
        "in:mail anything?",
        "dentist",
        "winter tyres invoice",
        "So when is the dentist?",
        "And when is Olga's next inspection due?",
        "And who brought the blue drill back?",
        "Wann ist der Zahnarzt?",
    ],
)
def test_it_stands_alone(question: str) -> None:
    assert not is_follow_up(parse(question, TODAY))


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("Who has", True),
        ("did Anna", True),
        ("“What", True),
        ("The blue drill", False),
        ("whose", True),
        ("wholly", False),
    ],
)
def test_a_question_is_seen_by_its_first_word(text: str, begins: bool) -> None:
    assert begins_as_question(text) is begins


@pytest.mark.parametrize(
    ("question", "before", "whole"),
    [
        ("And in November?", "How much was spent in October?", "How much was spent in November?"),
        ("what about May", "How much was spent in October?", "How much was spent in May?"),
        ("And in May?", "How much was spent in October 2024?", "How much was spent in May 2024?"),
        ("And last week?", "How much was spent?", "How much was spent last week?"),
        ("And in November, and why?", "How much was spent in October?", None),
        ("In November?", "How much was spent in October?", None),
        ("And on bread?", "How much was spent in October?", None),
        ("And in May?", "How much was spent on 3 May and on 8 June?", None),
    ],
)
def test_a_follow_up_asks_the_question_for_other_days(question: str, before: str, whole: str | None) -> None:
    assert for_other_days(question, before, TODAY) == whole
