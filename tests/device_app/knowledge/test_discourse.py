"""Which questions ask what was said of something, under what heading that stands, and by what it is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge import discourse


@pytest.mark.parametrize(
    ("question", "heading", "subject"),
    [
        ("Summarize the discussion about the new roof.", "The discussion about the new roof", "the new roof"),
        ("summarise what was said on the rent", "What was said on the rent", "the rent"),
        ("Can you please sum up my notes on the boathouse?", "My notes on the boathouse", "the boathouse"),
        ("Give me a short summary of the mails from Petra", "The mails from Petra", "the mails from Petra"),
        ("Recap the plan for June", "The plan for June", "the plan for June"),
        ("What was the debate over long-term care?", "The debate over long-term care", "long-term care"),
        ("What's our biggest disagreement about money?", "Our biggest disagreement about money", "money"),
        ("What was said about the drill?", "What was said about the drill", "the drill"),
        ("What has been discussed regarding the lift?", "What has been discussed regarding the lift", "the lift"),
        ("What did we talk about on Monday?", "What we talked about on Monday", "on Monday"),
        ("What did the group discuss about the shape?", "What the group discussed about the shape", "the shape"),
        ("What does Anna comment on the tiles?", "What Anna comments on the tiles", "the tiles"),
        ("How do they argue about the fence?", "How they argue about the fence", "the fence"),
        ("What did they discussed about the fence?", "What they discussed about the fence", "the fence"),
        ("WHAT DID WE DEBATE?", "WHAT WE debated", "WHAT WE debated"),
    ],
)
def test_what_is_asked_for_is_read_from_its_words(question: str, heading: str, subject: str) -> None:
    assert discourse.read(question) == discourse.Discourse(heading, subject)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "When is the dentist?",
        "Who has the blue drill?",
        "What does Adam think about crossplay?",
        "What did Petra say about the drill?",
        "How do you say zest for life in French?",
        "What time is the discussion?",
        "When did we discuss the roof?",
        "What do the strains suggest about the plague?",
        "What was the price of the summary?",
        "Summarize",
    ],
)
def test_what_asks_for_a_fact_is_none(question: str) -> None:
    assert discourse.read(question) is None


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    said = discourse.read(text)
    assert said is None or (said.heading and said.subject)
