"""Which sentences state a meeting's outcomes, and which questions ask for them."""

import pytest

from device_app.english.outcomes import OUTCOMES, Outcome, OutcomesAsked, asked_for, outcome, words_of

STATED = [
    ("We have decided to repair the roof before the winter.", "decision"),
    ("So it's agreed that Tom gets the two quotes.", "decision"),
    ("Okay , let 's go with the grey slates for the roof .", "decision"),
    ("We'll keep the old gutter for another year then.", "decision"),
    ("I'll send the invoice to Petra on Monday morning.", "action"),
    ("Could you please check the price of the tiles?", "action"),
    ("Somebody has to ask the baker for the spare key.", "action"),
    ("We still need to find out who owns the wall.", "question"),
    ("It is still open whether the bank pays for it.", "question"),
    ("How much should we pay the gardener next year?", "question"),
    ("Should we tell the neighbours about the scaffolding?", "question"),
]


@pytest.mark.parametrize(("sentence", "kind"), STATED)
def test_a_sentence_that_states_an_outcome_is_recognised(sentence: str, kind: Outcome) -> None:
    stated = outcome(sentence)
    assert stated
    assert stated[0] == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Let's go.",
        "The roof has leaked since March, and the hall is wet.",
        "If we decided to repair it now, it would be dear.",
        "I'll ask again, because nobody answered my question.",
        "What time do we have to leave for the train?",
        "I will show you the next slide about the roof.",
        "Thank you all, we will move on to the next item.",
        "Do you know where I have put my blue umbrella?",
        "Um, uh, I mean, like, we'll, um, sort of use, uh, that one there.",
    ],
)
def test_other_sentences_are_none(sentence: str) -> None:
    assert outcome(sentence) is None


def test_the_marks_of_a_transcript_are_left_out() -> None:
    assert words_of("So {disfmarker} we do n't know , {vocalsound} do we ?") == "So we don't know, do we?"


@pytest.mark.parametrize(
    ("question", "outcomes", "meeting"),
    [
        ("Summarize the meeting", OUTCOMES, "the meeting"),
        ("Please recap yesterday's meeting with Petra.", OUTCOMES, "yesterday's meeting with Petra"),
        ("give me the minutes of the house meeting", OUTCOMES, "the house meeting"),
        ("What came out of the call with Tom?", OUTCOMES, "the call with Tom"),
        ("What was decided at the meeting on Monday?", ("decision",), "the meeting on Monday"),
        ("what did we agree on yesterday?", ("decision",), "yesterday"),
        ("What are the action items from the stand-up?", ("action",), "the stand-up"),
        ("What do I have to do after the meeting with Anna?", ("action",), "the meeting with Anna"),
        ("Which questions are still open after the workshop?", ("question",), "the workshop"),
    ],
)
def test_a_question_for_outcomes_names_its_meeting(question: str, outcomes: tuple[Outcome, ...], meeting: str) -> None:
    assert asked_for(question) == OutcomesAsked(outcomes, meeting)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "What was decided?",
        "What was decided about the roof?",
        "Summarize the discussion about the roof",
        "What do I have to do today?",
        "When is the meeting with Petra?",
        "Who came to the meeting?",
        "What did the group discuss about buttons?",
        "Is the shop open on Monday?",
    ],
)
def test_other_questions_are_not_for_outcomes(question: str) -> None:
    assert asked_for(question) is None
