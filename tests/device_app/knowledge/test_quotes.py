"""Which sentences are quoted, in what order, and who said them."""

from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge import quotes
from device_app.knowledge.quotes import Quote
from models.fake import FakeEmbedder
from shared.text import count_words

CHAT = "Anna: The roof leaks again. It drips into the hall.\nTom: I can mend the roof on Friday.\nAnna: Fine."
NOTE = "The roof was mended on Friday. The hall is dry and painted."


def found(question: str, *passages: str) -> list[Quote]:
    return quotes.find(question, passages, FakeEmbedder())


def test_what_is_near_is_quoted_in_its_order_with_who_said_it() -> None:
    assert found("What was said about the roof on Friday?", CHAT, NOTE) == [
        Quote(1, "Anna", "The roof leaks again."),
        Quote(1, "Tom", "I can mend the roof on Friday."),
        Quote(2, "", "The roof was mended on Friday."),
    ]


def test_who_speaks_says_every_sentence_of_the_line() -> None:
    (quote,) = found("What drips into the hall?", CHAT)
    assert quote.text == "Anna: It drips into the hall."


def test_where_nothing_is_near_nothing_is_quoted() -> None:
    assert found("a xylophone?", CHAT, NOTE) == []


def test_what_is_too_short_to_say_anything_is_not_quoted() -> None:
    assert found("Fine", "Anna: Fine.") == []
    assert found("the roof") == []
    assert found("the roof", "") == []


def test_no_more_is_quoted_once_there_is_enough() -> None:
    passage = " ".join(f"The roof leaks in place number {place} of many." for place in range(40))
    said = found("the roof leaks in place", passage)
    words = [count_words(quote.sentence) for quote in said]
    assert sum(words[:-1]) < quotes.WORDS <= sum(words)


@given(st.lists(st.text(max_size=200), max_size=4))
def test_what_is_quoted_stands_in_its_passage(passages: list[str]) -> None:
    for quote in quotes.find(" ".join(passages), passages, FakeEmbedder()):
        assert quote.sentence in passages[quote.source - 1]
        assert quote.speaker in passages[quote.source - 1]
