"""Questions that rules predict from a passage, without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.questions import MOST_TOPIC_WORDS, analogues, beginnings, from_passage, subjects, topics
from shared.types import StoredPassage


def passage(
    text: str, kind: str = "note", title: str = "Title", people: tuple[str, ...] = (), ordinal: int = 0
) -> StoredPassage:
    return StoredPassage(1, text, ordinal, None, None, 1, title, kind, None, people, "/a")


def said(text: str) -> StoredPassage:
    return passage(text, "chat", people=("Petra",))


REGATTA = passage("Regatta: Sunday, 3 May 2026\nWhere: Porto", "event", "Regatta")


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (REGATTA, "When is Regatta?"),
        (REGATTA, "Where is Regatta?"),
        (passage("File it.", "task", "Tax return"), "When is Tax return due?"),
        (
            passage("See below.", "mail", "Re: Fwd: Tile quote", ("Ada Orel <ada@orel.example>",)),
            "What did Ada Orel write about Tile quote?",
        ),
        (
            passage("See you.", "mail", "Re: Café on Friday?", ("Ada Orel",)),
            "What did Ada Orel write about Café on Friday?",
        ),
        (passage("Two litres.", "task", "Buy milk! "), "When is Buy milk due?"),
        (passage('The Wi-Fi password is "bora-120".'), "What is the Wi-Fi password?"),
        (passage("The keys are in drawer 3."), "What are the keys?"),
        (passage("Hello. The concert in Oslo starts at 19:30 sharp."), "When is the concert in Oslo?"),
        (passage("The chimney repair was 2,550 euros."), "How much is the chimney repair?"),
        (said("Petra: My flight leaves on Friday."), "When is Petra's flight?"),
        (said("Petra: I lent the blue drill to Wim."), "What did Petra say about blue drill?"),
        (passage("I lent the blue drill to Wim."), "What is written about the blue drill?"),
        (passage("I lent the blue drill to Wim."), "What is written about Wim?"),
    ],
)
def test_a_passage_suggests_what_it_answers(known: StoredPassage, asked: str) -> None:
    assert asked in from_passage(known)


@pytest.mark.parametrize(
    ("known", "unasked"),
    [
        (passage("Is the flight on Friday?"), "When is the flight?"),
        (passage("The weather is fine."), "What is the weather?"),
        (passage("Sent to you.", "mail", "(no subject)", ("Ada",)), "What did Ada write about (no subject)?"),
        (passage("Second half.", "event", "Regatta", ordinal=1), "When is Regatta?"),
        (passage("Where: Porto", "note", "Regatta"), "Where is Regatta?"),
        (passage("Regatta: Sunday\nWhere: Porto", "event", "CANCELLED: Regatta"), "When is CANCELLED: Regatta?"),
        (passage("Note: the blue drill.", "note"), "What does Note say about blue drill?"),
    ],
)
def test_a_passage_suggests_nothing_that_it_does_not_answer(known: StoredPassage, unasked: str) -> None:
    assert unasked not in from_passage(known)


@pytest.mark.parametrize(
    "text",
    [
        "Die Miete beträgt 940 Euro im Monat.",
        "Das Hotel kostet 78 Euro pro Nacht, sagt Marcus Beil.",
        "Le loyer est de 940 euros par mois, avec les charges.",
        "El alquiler es de 940 euros al mes.",
        "L'affitto è di 940 euro al mese, non di più.",
    ],
)
def test_nothing_is_asked_about_the_words_of_another_language(text: str) -> None:
    assert from_passage(passage(text)) == []
    assert from_passage(said(f"Petra: {text}")) == []


def test_an_empty_passage_suggests_nothing() -> None:
    assert from_passage(passage("")) == []


@given(st.text(max_size=300), st.sampled_from(["chat", "mail", "event", "note"]), st.text(max_size=20))
def test_whatever_a_passage_holds_distinct_questions_come_of_it(text: str, kind: str, title: str) -> None:
    asked = from_passage(passage(text, kind, title, ("Ada",)))
    assert len(asked) == len(set(asked))
    assert all(question.endswith("?") for question in asked)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("I lent the blue drill to Wim, and the blue drill broke.", ["lent", "blue drill", "Wim", "blue drill broke"]),
        ("Hey! Let me know, sounds great.", []),
        ("The Wi-Fi network's name", ["Wi-Fi", "name"]),
        ("Who are you?\nWim has the drill.", ["Wim", "drill"]),
        ("double bass\nCarried", ["double bass", "Carried"]),
        ("large blue cordless hammer drill", ["large blue cordless"]),
        ("", []),
    ],
)
def test_topics_are_what_stands_between_words_that_say_nothing(text: str, about: list[str]) -> None:
    assert topics(text) == about


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("I told Petra about our old sofa.", ["Petra", "the old sofa"]),
        ("In October I hummed marches, and Tomaso cooked soup.", ["Tomaso"]),
        ("Rowing with the Medusa on Tuesdays", ["Medusa"]),
        ("Studio Zolla sent an offer.\nAsk Ms Orel.", ["Studio Zolla", "the offer", "Ask Ms Orel"]),
        ("The old lady sat on the wall.", ["the old lady", "the wall"]),
        ("", []),
    ],
)
def test_things_are_named_or_have_an_article(text: str, about: list[str]) -> None:
    assert subjects(text) == about


@given(st.text(max_size=200))
def test_no_topic_is_long(text: str) -> None:
    assert all(1 <= len(topic.split(" ")) <= MOST_TOPIC_WORDS for topic in topics(text))


@pytest.mark.parametrize(
    ("question", "people", "others"),
    [
        ("What did Ada think of it?", ("Ada", "Bo", "Cy"), ["What did Bo think of it?", "What did Cy think of it?"]),
        ("What did Ada Orel think?", ("Ada Orel <ada@orel.example>", "Bo Y <b@x>"), ["What did Bo Y think?"]),
        ("What did Ada think?", ("Ada Orel", "Bo Young"), ["What did Bo think?"]),
        ("What did Ada think?", ("AdaOrel", "BoYoung"), ["What did Bo think?"]),
        ("What did Ada Orel think?", ("AdaOrel", "BoYoung"), ["What did Bo Young think?"]),
        ("What did Orel think?", ("Ada Orel", "Bo"), ["What did Bo think?"]),
        ("What did Ada and Bo think?", ("Ada", "Bo"), []),
        ("What did Adam think?", ("Ada", "Bo"), []),
        ("What did Ada think?", ("Ada Orel", "Ada Young"), []),
        ("When is it?", ("Ada", "Bo"), []),
        ("What did Ada think?", (), []),
    ],
)
def test_the_same_is_asked_of_others(question: str, people: tuple[str, ...], others: list[str]) -> None:
    assert analogues(question, people) == others


@given(st.text(max_size=60), st.lists(st.text(max_size=12), max_size=4))
def test_whatever_people_are_called_no_question_is_asked_again(question: str, people: list[str]) -> None:
    assert question not in analogues(question, people)


@pytest.mark.parametrize(
    ("text", "people", "opening"),
    [
        ("Ada: Hello!\nBo: Hi.\nAda: The key?", ("Ada", "Bo", "Cy"), ["", "What does Ada", "What does Bo"]),
        ("See you at noon.", ("Ada Orel <ada@example.org>", "Bo"), ["", "What does Ada Orel"]),
        ("Ada: Das ist der Schlüssel und nicht die Bohrmaschine.", ("Ada",), [""]),
        ("The drill is lent.", (), [""]),
    ],
)
def test_a_model_goes_on_from_nothing_or_from_who_speaks(
    text: str, people: tuple[str, ...], opening: list[str]
) -> None:
    assert beginnings(passage(text, "chat", people=people)) == opening
