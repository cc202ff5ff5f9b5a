"""Which questions ask what was said of something, under what heading that stands, and by what it is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge import discourse

ROOF = "the roof"


@pytest.mark.parametrize(
    ("question", "heading", "subject"),
    [
        ("Summarize the discussion about the roof.", "The discussion about the roof", ROOF),
        ("summarise what was said on the roof", "What was said on the roof", ROOF),
        ("Please, summarize my notes on the boathouse", "My notes on the boathouse", "my notes on the boathouse"),
        ("Can you please give me a short summary of the mails from Petra?", "The mails from Petra", None),
        ("Summarize Anna's mails about rent", "Anna's mails about rent", None),
        ("Recap our last talk about the roof", "Our last talk about the roof", None),
        ("What was the debate over long-term care?", "The debate over long-term care", "long-term care"),
        ("What's our biggest disagreement about money?", "Our biggest disagreement about money", "money"),
        ("What is the dispute with the landlord?", "The dispute with the landlord", "the landlord"),
        ("What was said about the roof?", "What was said about the roof", ROOF),
        ("What has been discussed regarding the roof?", "What has been discussed regarding the roof", ROOF),
        ("What was discussed last week?", "What was discussed last week", "last week"),
        ("What did we talk about on Monday?", "What we talked about on Monday", "on Monday"),
        ("What did we discuss in March?", "What we discussed in March", "in March"),
        ("What did the group discuss about the roof?", "What the group discussed about the roof", ROOF),
        ("What did Ann and Tom talk about today?", "What Ann and Tom talked about today", "Ann and Tom about today"),
        ("What does the board discuss over lunch?", "What the board discusses over lunch", "lunch"),
        ("What do they argue about the fence?", "What they argue about the fence", "the fence"),
        ("What did they discussed about the fence?", "What they discussed about the fence", "the fence"),
    ],
)
def test_what_is_asked_for_is_read_from_its_words(question: str, heading: str, subject: str | None) -> None:
    found = discourse.read(question)
    assert found is not None
    assert found.heading == heading
    assert found.subject.lower() == (subject or heading).lower()


@pytest.mark.parametrize(
    "question",
    [
        "",
        "Summarize",
        "Summarize it.",
        "Summarize in French what was said about the rent",
        "When is the dentist?",
        "Who has the blue drill?",
        "What does Adam think about crossplay?",
        "What did Petra say about the drill?",
        "What does Anna comment on the roof?",
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
def test_what_asks_for_something_else_is_none(question: str) -> None:
    assert discourse.read(question) is None


@given(
    st.sampled_from(["Summarize", "recap", "What was said", "What was the debate", "What did", "What did we discuss"]),
    st.text(max_size=300),
)
def test_any_text_is_read(begun: str, text: str) -> None:
    found = discourse.read(f"{begun} {text}")
    assert found is None or (found.heading and found.subject)
