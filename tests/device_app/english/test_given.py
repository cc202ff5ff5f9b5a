"""Which requests may contain a private text of the user, so that they are not sent to a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.given import MOST_CHARACTERS, may_hold_text

HOLD_TEXT = (
    "Hi: translate this into German: the account balance is negative and the divorce is final",
    "At 10:30 a meeting starts. Translate into French: the divorce is final and the house is sold",
    "Please explain this: the tumour is malignant and has spread to the liver",
    "Please explain this the tumour is malignant and has spread to the liver",
    "Please explain：the tumour is malignant",
    "Translate 'I was fired because of an illness' into German",
    "Translate ‘I was fired’ into German",
    'Translate "I am pregnant by the neighbour" into German',
    'Explain "I am ill"',
    "Explain „ich bin krank“",
    "Explain «je suis malade»",
    "Explain 「病気です」",
    "Explain `I am ill`",
    "Explain kindly <mail>I am ill</mail>",
    "Write a title for 'My illness' and for ‘My divorce’",
    "Write a poem about a “fine day” and 'I am ill'",
    "Translate into German: I am ill",
    "Translate into German I was diagnosed with depression and lost the job",
    "Could you please translate I am ill into German?",
    "I was diagnosed with depression. Translate it into German",
    "I was diagnosed with depression, translate it into German",
    "I was diagnosed with depression (lost the job) then correct it",
    "I need a German translation of I was diagnosed with depression",
    "How do I say I was fired in German?",
    "Correct I has been diagnosed with depression",
    "Summarise the divorce is final and the house is sold",
    "Reply to him that the divorce is final",
    "Proofread I has been fired",
    "Act as a doctor. The cough has lasted for three weeks",
    "Is the sentence below polite? Send it at once",
    "Shorten\u2028the divorce is final",
    "Write a poem\rthe divorce is final",
    "Write a poem\x0bthe divorce is final",
    "Write a poem\x85the divorce is final",
    "Write a poem\n\nthe divorce is final",
    "I am 35 and have depression. Write a poem.",
    "I was fired yesterday. Write a cover letter for a bakery",
    "I've a lump in the breast. Explain what a biopsy is.",
    "Write an email to a client saying that I'm ill",
    "Write a letter to the bank that we cannot pay",
    "Our marriage is over. Write a poem",
    "Create a login form with the password hunter2 for admin",
    "Generate a QR code for the WiFi password hunter2",
    "Write a note with the PIN 4711",
    "Write an advert with the number 0316 555 0199",
    f"Write a poem about {'the sea ' * (MOST_CHARACTERS // 8)}",
)
HOLD_NONE = (
    "Write a poem about autumn",
    "write a birthday card for a sister",
    "Write a poem about a dog's life, and don't make it long",
    "Write a poem about the kids' toys",
    "Explain quantum entanglement",
    "Can you help me write a cover letter for a bakery?",
    "Tell me a joke",
    "Tell me a story about a fox and a hare",
    "Why is the sky blue?",
    "Come up with five names for a boat",
    "Act as a travel guide",
    "Translate it into German, please",
    "Translate into German:",
    "Write a poem in German",
    "Define entropy\n",
    "I'd like you to compose a limerick about tea",
    "I need a poem about tea",
    "Explain how I can tie a bowline",
    "Write an email to my boss about a day off",
    "Create a function that checks a password of 8 characters",
    "Calculate 15 percent of 84,000",
)


@pytest.mark.parametrize("request_text", HOLD_TEXT)
def test_in_doubt_a_request_holds_a_text(request_text: str) -> None:
    assert may_hold_text(request_text)


@pytest.mark.parametrize("request_text", HOLD_NONE)
def test_a_request_of_one_plain_sentence_holds_none(request_text: str) -> None:
    assert not may_hold_text(request_text)


@given(st.text(max_size=40), st.sampled_from("\n\r\x0b\x0c\x1c\x85\u2028\u2029"))
def test_a_text_in_a_further_line_is_found_whatever_stands_above_it(above: str, line_break: str) -> None:
    assert may_hold_text(f"Write a poem {above}{line_break}I am ill")
