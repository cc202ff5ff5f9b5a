"""A quotation must really prove the answer: cases that only look like a proof, each beside a similar case
that is one.
"""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english import query
from device_app.english.units import units
from device_app.knowledge.proof import Subject, asks_whether, decision
from shared.types import StoredPassage

TODAY = date(2026, 11, 23)


def passage(text: str, title: str = "notes", day: str | None = None) -> StoredPassage:
    return StoredPassage(1, text, 0, 1, None, 1, title, "note", day, (), "/home/runa/notes.md")


def proof(question: str, answer: str, text: str, title: str = "notes", day: str | None = None) -> str | None:
    read = [passage(text, title, day)]
    proof = Subject(query.parse(question, TODAY), read).proof(answer, read)
    return proof.sentence if proof else None


BIRTHDAYS = """name: Anna Lindgren; birthday: 1987-05-03; who: cousin
name: Anne Lindgren; birthday: 1985-11-17; who: sister-in-law"""
KEYS = """hook | key | tag | spare is with
1 | front door | none | Odile
3 | bike shed | yellow | nobody"""


@pytest.mark.parametrize(
    ("question", "answer", "text", "sentence"),
    [
        ("When is Anne Lindgren's birthday?", "1985-11-17", BIRTHDAYS, BIRTHDAYS.splitlines()[1]),
        ("How wide is the window?", "150 cm", "The window is 150 cm wide.", "The window is 150 cm wide."),
        (
            "How many days did Maud stay in Lisbon?",
            "11 days",
            "Maud wrote. In Lisbon I stayed eleven days, because they would not let me go.",
            "In Lisbon I stayed eleven days, because they would not let me go.",
        ),
        (
            "What number do I ring for the vet at night?",
            "0161 555 0177",
            "Vet at night 0161 555 0177 (the old number is dead, do not use it)",
            "Vet at night 0161 555 0177 (the old number is dead, do not use it)",
        ),
        (
            "What is the IBAN of the choir?",
            "DE44 5001 0517",
            "The IBAN of the choir is DE44 5001 0517.",
            "The IBAN of the choir is DE44 5001 0517.",
        ),
        ("How many people came in 2024?", "12", "In 2024 12 people came.", "In 2024 12 people came."),
        ("When is the choir?", "19 March", "The choir is on 19 March 2026.", "The choir is on 19 March 2026."),
        ("Should the remote do teletext?", "No", "The remote. Um and no teletext.", "Um and no teletext."),
        ("Who has the spare of the bike shed key?", "nobody", KEYS, "3 | bike shed | yellow | nobody"),
        ("When is the course, in 2 weeks?", "in two weeks", "The course is in 2 weeks.", "The course is in 2 weeks."),
    ],
)
def test_what_holds_the_answer_and_what_was_asked_is_proof(
    question: str, answer: str, text: str, sentence: str
) -> None:
    assert proof(question, answer, text) == sentence


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("When is Anne Lindgren's birthday?", "1987-05-03", BIRTHDAYS),  # another person's row
        ("What shoe size does Bertil take?", "122", "child: Bertil; trousers: 122; gloves: 5"),  # not what was asked
        ("How do I get the boiler repaired?", "get it repaired yourself", "Don't get the boiler repaired yourself."),
        ("Who wrote the rules of the list?", "Dave Farber", "Meng Weng Wong wrote the rules of the list."),
        ("Who brings the ladder?", "Tomasz", "The ladder is long. Tomasz: I can do tea."),  # only says something else
        ("Is the ladder here?", "Tomasz", "Tomasz: the ladder is here, I think"),  # the speaker is no answer to that
        ("May I put plants in the basement?", "Yes", "Can I put plants in the basement?"),  # a question
        (
            "What year did Thomas write the villanelle?",
            "1951",
            "Thomas. The villanelle: first published in 1951, it was written in 1947.",
        ),
        ("What is the IBAN of the choir?", "3249", "The choir. IBAN DE44 5001 0517 5407 3249 31"),  # a part of it
        ("What number has the vet?", "0177.", "The vet has the number 0161 555 0177"),
        ("how old is she now?", "20", "The winner was 20 years old."),  # nobody is named
        ("Which books got five stars?", "Milkman", "book: Milkman; stars: 2"),
    ],
)
def test_what_lacks_one_of_them_is_none(question: str, answer: str, text: str) -> None:
    assert proof(question, answer, text) is None


def test_a_title_decides_nothing() -> None:
    text = "The boat\nBuilt in 1987, lies in the harbour."
    assert proof("Do I own a boat?", "No", text, title="The boat") is None
    assert proof("Do I own a boat?", "No", text, title="notes") == "The boat"


def test_a_proof_is_of_the_day_that_was_asked_about() -> None:
    question, text = "When is choir on 14 March 2026?", "Choir begins at 19:30."
    assert proof(question, "19:30", text, day="2026-03-21T00:00:00") is None
    assert proof("When does choir begin on 21 March 2026?", "19:30", f"{text} 21 March 2026, 3", day=None) is None
    assert (
        proof("When is choir on 21 March?", "19:30", "Choir on 21 March 2026: 19:30") == "Choir on 21 March 2026: 19:30"
    )


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Is it warm?", True),
        ("The radiators are gurgling, should I bleed them?", True),
        ("Don't they close at six?", True),
        ("Is it Monday or Tuesday?", False),
        ("When is it?", False),
        ("wifi password", False),
    ],
)
def test_whether_yes_or_no_is_asked_for(question: str, whether: bool) -> None:
    assert asks_whether(question) == whether


@pytest.mark.parametrize(("answer", "decided"), [("Yes, they do", "yes"), ("No.", "no"), ("Norway", ""), ("", "")])
def test_what_an_answer_decides(answer: str, decided: str) -> None:
    assert decision(answer) == decided


def test_a_row_is_understood_with_its_heading_and_not_with_its_neighbours() -> None:
    *_, shed = units(passage(KEYS, "keys"))
    assert shed.is_row
    assert "spare is with" in shed.around
    assert "Odile" not in shed.around


TEXTS = st.text(alphabet="ab cd.?!,:;|\n0129éß'’-", max_size=200)


@given(TEXTS, TEXTS.filter(str.strip), TEXTS)
def test_whatever_is_written_a_proof_stands_in_the_passage_and_holds_the_answer(
    text: str, question: str, answer: str
) -> None:
    read = [passage(text)]
    subject = Subject(query.Query(question), read)
    proof = subject.proof(answer, read)
    assert not proof or (proof.sentence in text and 0 < proof.share <= 1 and subject.asked.text == question)
    assert not proof or asks_whether(question) or subject.stands_in(answer, read)
