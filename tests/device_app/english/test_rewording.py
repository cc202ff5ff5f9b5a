"""Putting a question more plainly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.rewording import plain

NAMES = frozenset({"zoran", "hrovat", "jonas", "katja", "jon", "will", "bill"})

PLAIN = {
    # The sentence around a question.
    "sorry, any idea when the book club is, i keep forgetting": "when the book club is",
    "i've completely forgotten who the plumber is": "who the plumber is",
    "not sure if there's a mail from Anna": "is there a mail from Anna",
    "just need to know whether i'm free on the 24th": "am i free on the 24th",
    "can you check if i have anything on sunday": "do i have anything on sunday",
    "could you find out if Zoran sent me a bill": "did Zoran sent me a bill",
    "can you find me what Anna wrote": "what Anna wrote",
    "could you help me find out when Anna moves": "when Anna moves",
    "hey, can you help me? when is the dentist": "when is the dentist",
    "help me with when Anna moves": "when Anna moves",
    "i wish i knew when Anna moves": "when Anna moves",
    "i'll need to know when Anna moves": "when Anna moves",
    "i know i know, but when does Anna move": "when does Anna move",
    "I wonder whether there's a mail from Anna": "is there a mail from Anna",
    "could i have the phone number of the vet please": "the phone number of the vet",
    "jog my memory: what time is the opening?": "what time is the opening",
    # Words in short, and words that ask for nothing.
    "whats on tmrw": "whats on tomorrow",
    "gimme the msgs from anna": "give me the messages from anna",
    "what time is it in tokyo rn": "what time is it in tokyo right now",
    "find the bill, can you show me": "find the bill",
    "whats on tmrw please tell me": "whats on tomorrow",
    "a mail from toni, i think it was in may": "a mail from toni, in may",
    # Names without the apostrophe of their genitive; Jonas is a name.
    "hrovats number": "hrovat's number",
    # Time for somebody.
    "can we see Katja on Friday?": "am i free on Friday",
    "could I meet up with Zoran Hrovat tomorrow evening": "am i free tomorrow evening",
    "do we have time for Katja next Monday?": "am i free next Monday",
    "mums birthday": "mum's birthday",
    "jonas mails": "jonas mails",
    "cats food": "cats food",
    "bills number": "bill's number",
    # The subject before the question.
    "the book club, when is it": "when is the book club",
    "bruno gherlani who is that": "who is bruno gherlani",
    "book club - when": "when is book club",
    "the vet, what's her number": "what's the vet's number",
}


@pytest.mark.parametrize("question", PLAIN)
def test_it_is_put_plainly(question: str) -> None:
    assert plain(question, NAMES.__contains__) == PLAIN[question]


@pytest.mark.parametrize(
    "question",
    [
        "what did Petra say about the drill",
        "when is the opening",
        "did i tell Anna when the party is",
        "that's not what i asked",
        "who knows who fixed the roof",
        "mails from Rick Moen in October",
        "When is the opening?",
        "I'm trying to remember with whom I was on 3 May",
        "have we asked when the party is",
        "did we confirm when the party is?",
        "did i say when the party is",
        "should we know who is coming",
        "don't remind me when the dentist is",
        "i never want to hear who won",
        "somebody asked when the dentist is",
        "will you be there when the party is",
        "is it ok if i bring Tom",
        "what is on right now",
        "a meeting or anything else on Friday",
        "a meeting or something on Friday",
        "who would you recommend",
        "is there a parcel for me?",
        "which mails are for me",
        "what did Tom buy for me",
        "can we help when Anna moves",
        "can you help when Anna moves?",
        "could you help me when Anna moves",
        "can we talk when Anna moves",
        "will you work when Anna moves",
        "I like it when Anna moves",
        "any chance you can help when Anna moves",
        "I know when Anna moves",
        "we will know when Anna moves",
        "I still remember who the plumber is",
        "what did Anna show me",
        "what do I need to know",
        "which mails did i forget",
        'whos the author of "wats up"',
        "who wrote “gimme shelter” rn",
        "who wrote 'gimme shelter' rn",
        "wills from october",
        "bills from october",
        "jons number",
        "x " * 200,
        "",
    ],
)
def test_other_questions_stay_as_they_are(question: str) -> None:
    assert plain(question, NAMES.__contains__) == question


@given(st.text(max_size=250))
def test_any_text_is_accepted(text: str) -> None:
    assert isinstance(plain(text, NAMES.__contains__), str)


@pytest.mark.parametrize(
    "question", ["can we see the results on Friday?", "can we visit the shop on Friday?", "can I see Katja"]
)
def test_only_time_for_somebody_depends_on_the_calendar(question: str) -> None:
    assert "free" not in plain(question, NAMES.__contains__)
