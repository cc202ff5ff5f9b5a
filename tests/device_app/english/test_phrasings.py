"""The forms of questions, and the words that two forms have to share."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.phrasings import has_known_deeds, masked, same_cues, shown, table

TODAY = date(2026, 11, 20)
NAMES = {"anna", "holt", "petra"}


def is_name(word: str) -> bool:
    return word in NAMES


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("What did Anna Holt send me in June?", "what did NAME send me DATE"),
        ("What's Anna's number?", "what's NAME's number"),
        ("Somebody mentioned the boathouse, who was it?", "somebody mentioned the TOPIC who was it"),
        ("who wrote \u201cTiny DNS Swap\u201d", "who wrote TITLE"),
        ("when did i tell petra about the two mice", "when did i tell NAME about the two TOPIC"),
    ],
)
def test_what_a_question_is_about_is_masked(question: str, form: str) -> None:
    read = masked(question, TODAY, is_name)
    assert read
    assert read.text == form


def test_the_words_go_back_to_their_places() -> None:
    read = masked("The boathouse, when did Petra mention it?", TODAY, is_name)
    assert read
    assert read.filled("when did NAME mention TOPIC") == "when did Petra mention boathouse"
    dated = masked("how is friday looking", TODAY, is_name)
    assert dated
    assert dated.filled("what is on DATE") == "what is on friday"


@pytest.mark.parametrize("question", ["what is on", "", "who are you", "x" * 200])
def test_nothing_to_mask(question: str) -> None:
    assert masked(question, TODAY, is_name) is None


@pytest.mark.parametrize(
    ("form", "other"),
    [
        ("the first mail from NAME", "the last mail from NAME"),
        ("what is NAME's phone number", "what is NAME's email address"),
        ("when did NAME write that the TOPIC is here", "when did NAME write about the TOPIC"),
        ("mails from NAME with attachments", "mails from NAME"),
        ("why did NAME mention TOPIC", "when did NAME mention TOPIC"),
        ("what did NAME not say about TOPIC", "what did NAME say about TOPIC"),
        ("mails from anyone but NAME DATE", "mails from NAME DATE"),
        ("mails besides those from NAME", "mails from NAME"),
        ("what was the second to last mail from NAME", "what was the last mail from NAME"),
        ("what was the subject of the last mail from NAME", "what was the last mail from NAME"),
        ("mails after NAME's mail of DATE", "mails by NAME from DATE"),
        ("mails from NAME before DATE", "mails from NAME after DATE"),
        ("mails from NAME by DATE", "mails from NAME DATE"),
        ("what does DATE mean", "what is on DATE"),
        ("if NAME comes what is on DATE", "what is on DATE"),
        ("what was on the TOPIC on DATE", "is the TOPIC on DATE"),
        ("when will NAME mention TOPIC", "when does NAME mention TOPIC"),
        ("when did i tell NAME about the TOPIC", "when did NAME tell me about the TOPIC"),
        ("has NAME been in touch", "how do i get in touch with NAME"),
    ],
)
def test_words_that_change_the_meaning(form: str, other: str) -> None:
    assert not same_cues(form, other)


@pytest.mark.parametrize(
    ("form", "is_known"),
    [
        ("when did NAME mention the TOPIC", True),
        ("when did NAME really bring up the TOPIC", True),
        ("when did NAME whisper about the TOPIC", True),
        ("when did NAME bring the TOPIC", False),
        ("when did NAME forget to mention the TOPIC", False),
        ("when did i lose the TOPIC", False),
    ],
)
def test_deeds_that_the_table_does_not_have(form: str, is_known: bool) -> None:
    assert has_known_deeds(form) is is_known


def test_all_forms_of_the_table_have_known_deeds() -> None:
    assert all(has_known_deeds(each.text) for each in table())


def test_a_name_that_is_a_month_is_not_put_where_days_are_read() -> None:
    assert masked("what did May say last", TODAY, lambda word: word == "may") is None
    assert masked("what did May Chen say last", TODAY, lambda word: word in ("may", "chen"))


def test_each_form_of_the_table_has_the_masks_of_its_plain_question() -> None:
    masks = {each.text: each.masks for each in table()}
    assert [each.text for each in table() if each.masks != masks[each.plain] or not each.masks] == []
    assert len({each.text for each in table()}) == len(table())
    assert not any(mask in shown(each.text) for each in table() for mask in each.masks)


@given(st.text(max_size=170))
def test_any_text_can_be_masked(text: str) -> None:
    read = masked(text, TODAY, is_name)
    assert read is None or (read.slots and read.filled(" ".join(read.masks)))
