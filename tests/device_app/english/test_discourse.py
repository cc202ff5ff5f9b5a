"""Which questions ask what was said about a topic, and what the topic is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.discourse import SaidBy, said_by, subject


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Summarize the discussion about the roof.", "the roof"),
        ("summarise what was said on the roof", "the roof"),
        ("Summarize what we discussed about the roof", "the roof"),
        ("Please, summarize my notes on the boathouse in two sentences", "my notes on the boathouse"),
        ("Can you please give me a short summary of the mails from Petra?", "the mails from Petra"),
        ("Recap our last talk about the roof", "the roof"),
        ("What was the debate over long-term care?", "long-term care"),
        ("What's our biggest disagreement about money?", "money"),
        ("What was the argument with Tom about?", "Tom"),
        ("What was said about the roof?", "the roof"),
        ("Tell me what was said about the roof", "the roof"),
        ("Do you remember what was said about the roof?", "the roof"),
        ("What's being said about the roof?", "the roof"),
        ("What has been discussed regarding the roof?", "the roof"),
        ("What was discussed last week?", "last week"),
        ("What was discussed in October 2026?", "in October 2026"),
        ("What did we talk about on Monday?", "on Monday"),
        ("What have we discussed about the roof?", "the roof"),
        ("What did the group discuss about the roof?", "the roof"),
        ("What do they argue about the fence?", "the fence"),
        ("What did they discussed about the fence?", "the fence"),
        ("What did Ann and Tom talk about today?", "Ann and Tom, today"),
    ],
)
def test_what_it_is_about_is_read_from_its_words(question: str, about: str) -> None:
    assert subject(question) == about


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Summarize",
        "Summarize it.",
        "Summarize this conversation",
        "Summarize how photosynthesis works",
        "Summarize in French what was said about the rent",
        "When is the dentist?",
        "Who has the blue drill?",
        "What does Adam think about crossplay?",
        "What does Anna comment on the roof?",
        "What did Petra say about the drill?",
        "What was said by Runa?",
        "What was said about?",
        "What is said on page 3?",
        "What was said about the roof and how much will it cost?",
        "How do you say zest for life in French?",
        "How do I comment out a line in Python?",
        "How did they talk Anna into selling?",
        "What did they talk Anna into?",
        "How did the price debated change?",
        "What time is the discussion?",
        "When did we discuss the roof?",
        "What did we talk about?",
        "What do the strains suggest about the plague?",
        "What was the price of the summary?",
        "What is the date of the discussion about the rent?",
        "What is the dispute resolution deadline?",
        "What is the conversation id of ticket 4?",
        "What is the discussion forum password for Mara?",
        "What is the maximum number of arguments to foo?",
        "What is the dispute about?",
        "What is said to be the tallest mountain?",
    ],
)
def test_what_asks_for_something_else_is_about_nothing(question: str) -> None:
    assert subject(question) == ""


@given(
    st.sampled_from(
        ["Summarize", "recap", "What was said", "What was the debate about", "What did", "What did we discuss"]
    ),
    st.text(max_size=300),
)
def test_what_it_is_about_stands_in_the_question(opening: str, text: str) -> None:
    question = f"{opening} {text}"
    about = subject(question)
    assert about in question or " and " in question


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What did Anna text about Friday?", SaidBy("Anna", "", "Friday")),
        ("what did Anna Berg text me about the drill", SaidBy("Anna Berg", "", "the drill")),
        ("What did I say about the boathouse?", SaidBy("I", "", "the boathouse")),
        ("Tell me what did I write to Petra about the drill?", SaidBy("I", "Petra", "the drill")),
        ("What did I tell Anna Berg about Friday?", SaidBy("I", "Anna Berg", "Friday")),
        ("What did Petra say about the drill?", None),
        ("What did they text about the drill?", None),
        ("What did I say?", None),
        ("What did I say about it?", None),
        ("What did I say about Ben and when is the party?", None),
        ("", None),
    ],
)
def test_whose_own_words_are_asked_for(question: str, said: SaidBy | None) -> None:
    assert said_by(question) == said


@given(st.text(max_size=200))
def test_any_text_is_read_for_whose_words_it_asks(text: str) -> None:
    said_by(f"What did {text} about {text}")
