"""Which sentences are quoted, in what order, and who said them."""

from hypothesis import given
from hypothesis import strategies as st

from device_app.knowledge import quotes
from device_app.knowledge.quotes import Quote
from models.fake import FakeEmbedder
from shared.text import count_words
from shared.types import StoredPassage

CHAT = "Anna: The roof leaks again. It drips into the hall.\nTom: I can mend the roof on Friday.\nAnna: Fine."
NOTE = "The roof was repaired on Friday. The hall is dry and painted."


def passage(text: str, *people: str) -> StoredPassage:
    return StoredPassage(1, text, 0, None, None, 1, "Roof", "note", None, people, "roof.md")


def quotes_of(question: str, *texts: str) -> list[Quote]:
    return quotes.find(question, [passage(text, "Anna", "Tom") for text in texts], FakeEmbedder())


def test_what_is_near_is_quoted_in_its_order_with_who_said_it() -> None:
    assert quotes_of("What was said about the roof on Friday?", CHAT, NOTE) == [
        Quote(1, "Anna", "The roof leaks again."),
        Quote(1, "Tom", "I can mend the roof on Friday."),
        Quote(2, "", "The roof was repaired on Friday."),
    ]


def test_who_speaks_says_every_sentence_of_the_line() -> None:
    (quote,) = quotes_of("What drips into the hall?", CHAT)
    assert quote.text == "Anna: It drips into the hall."


def test_nobody_says_what_merely_stands_behind_a_colon() -> None:
    text = "The board decided two things: paint the roof. The hall stays closed until May."
    assert [quote.text for quote in quotes_of("Is the hall closed until May?", text)] == [
        "The hall stays closed until May."
    ]


def test_a_title_alone_is_not_quoted() -> None:
    note = StoredPassage(
        1, "The roof, 3 May\nIt was repaired on Friday.", 0, 1, None, 1, "The roof, 3 May", "note", None, (), "a.md"
    )
    assert [
        quote.sentence for quote in quotes.find("Was the roof repaired on Friday 3 May?", [note], FakeEmbedder())
    ] == ["It was repaired on Friday."]


def test_where_nothing_is_near_nothing_is_quoted() -> None:
    assert quotes_of("a xylophone?", CHAT, NOTE) == []


def test_of_everything_that_is_said_what_is_most_like_the_rest_is_quoted() -> None:
    rest = [f"The roof of house {number} leaks." for number in range(12)]
    said = quotes_of("", " ".join([*rest, "Zebras eat fresh grass."]))
    assert said
    assert {quote.sentence for quote in said} < set(rest)


def test_what_is_too_short_to_say_anything_is_not_quoted() -> None:
    assert quotes_of("Fine", "Anna: Fine.") == []
    assert quotes_of("the roof") == []
    assert quotes_of("the roof", "") == []


def test_what_was_sent_twice_is_quoted_once() -> None:
    twice = "The roof leaks again.", "> The roof leaks again. The hall is wet as well.", "the ROOF leaks again!"
    said = [quote.text.lower() for quote in quotes_of("the roof leaks again", *twice)]
    assert len([text for text in said if "roof" in text]) == 1


def test_no_more_is_quoted_once_there_is_enough() -> None:
    said = quotes_of(
        "the roof leaks in place", " ".join(f"The roof leaks in place {place} of many." for place in range(40))
    )
    words = [count_words(quote.sentence) for quote in said]
    assert sum(words[:-1]) < quotes.WORDS <= sum(words)


@given(st.lists(st.text(max_size=200), max_size=4), st.booleans())
def test_what_is_quoted_stands_in_its_passage(texts: list[str], everything: bool) -> None:
    asked = "" if everything else " ".join(texts)
    for quote in quotes.find(asked, [passage(text) for text in texts], FakeEmbedder()):
        assert quote.text in texts[quote.source - 1]
