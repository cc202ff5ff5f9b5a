"""Questions about who somebody is, and how to reach them."""

from pathlib import Path

import pytest

from device_app.english.persons import read
from device_app.english.query import parse
from device_app.everyday.persons import Persons
from device_app.everyday.rule import Asked
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW, Ask

ANSWERS: dict[str, tuple[str, list[str]]] = {
    "Who is Petra?": ("who · Petra", ["Petra · 2 days of chat", "> Petra: I lent your drill to Wim"]),
    "how can I reach Rick Moen by mail?": ("e-mail address · Rick Moen", ["rick@moen.example"]),
    "who's Petra to me?": ("who · Petra", ["Petra · 2 days of chat"]),
    "what's ricks surname": ("whole name · Rick Moen", ["Rick Moen."]),
    "i forgot, what is anna's last name": ("whole name · Anna Holt", ["Anna Holt."]),
    "Anna Holt's email address please": ("e-mail address · Anna Holt", ["anna@holt.example"]),
}
NUMBERS = "Numbers\n\nKatja Sirk, plumber: 555 0126\n\nDr Marussig, vet: 555 0163\n\nEmergency vet at night: 555 0199\n"
LINES = """\
Lojze Kos, roofer: 555 0177, not on Sundays.

If the pump fails, call 555 0101 and ask for Mira, or 555 0102 at night.

Vida says that Ivo's number is 555 0103.
"""
BIRTHDAYS = "Jože Žnidar's birthday is on 7 May\n\n"
BIRTHDAYS += "Bruno Kos, birthday on 3 May\n\nAnna: Tom's birthday is on 4 May\n\n5 May 1980: Lena's birthday\n"


@pytest.mark.parametrize("question", ANSWERS)
def test_answers(ask: Ask, question: str) -> None:
    understood, parts = ANSWERS[question]
    ruled = ask(question)
    assert ruled
    assert ruled.understood == understood
    assert [part for part in parts if part not in ruled.text] == []
    assert [item.as_json()["type"] for item in ruled.items] == ["person"]


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("what's Katja Sirk's number", ["Katja Sirk, plumber: 555 0126"]),
        ("phone number of the vet", ["Dr Marussig, vet: 555 0163", "Emergency vet at night: 555 0199"]),
        ("who is Katja Sirk?", ["Katja Sirk, plumber"]),
        ("who is the plumber's neighbour?", []),
        ("Zorblax's number", []),
        ("who is our plumber?", ["Katja Sirk, plumber"]),
        ("who's the vet?", ["Dr Marussig, vet"]),
        ("who is the baker?", []),
        ("when is Bruno's birthday", ["Bruno Kos, birthday on 3 May"]),
        ("when is Katja's birthday", []),
        ("when is Anna's birthday", []),
        ("when is Joze's birthday", ["Jože Žnidar's birthday is on 7 May"]),
        ("when is Jože Žnidar's birthday", ["Jože Žnidar's birthday is on 7 May"]),
        ("when is Tom's birthday", ["Tom's birthday is on 4 May"]),
        ("when is Lena's birthday", ["5 May 1980: Lena's birthday"]),
        ("who is Katja Sirk and what's her number", ["Katja Sirk, plumber: 555 0126"]),
        ("what is the plumber called", ["Katja Sirk, plumber"]),
        ("who is at night?", []),
        (
            "what is the phone number of Lojze",
            ["555 0177\n\n- numbers [1]\n  > Lojze Kos, roofer: 555 0177, not on Sundays."],
        ),
        (
            "what is the phone number of Mira",
            ["> If the pump fails, call 555 0101 and ask for Mira, or 555 0102 at night."],
        ),
    ],
)
def test_lines_of_files_are_quoted(tmp_path: Path, question: str, parts: list[str]) -> None:
    (tmp_path / "numbers.txt").write_text(f"{NUMBERS}\n{LINES}\n{BIRTHDAYS}")
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "numbers.txt"])
    ruled = Persons(store, known_people(store.database)).answer(Asked(parse(question, NOW.date()), NOW))
    assert bool(ruled) == bool(parts)
    assert [part for part in parts if not ruled or part not in ruled.text] == []


@pytest.mark.parametrize(
    "question",
    [
        "Who is coming to the party?",
        "who told me about Petra",
        "what is his number",
        "who has the number of tiles?",
        "who is the author of the book on walls",
        "What does Petra do for a living?",
        "how old is Petra",
        "where does the last name Moen come from",
    ],
)
def test_what_is_no_question_for_a_person(question: str) -> None:
    assert read(question) is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (LINES, "Vida"),
        ("The number of Bill Long is not 555 0960.", "Bill Long"),
        ("Bill Long: old number 555 0960", "Bill Long"),
        ("Bill Long: 555 0960 is no longer in use", "Bill Long"),
        ("Bill Long, born 12/02/1961: 555 0960 or 555 0961", "Bill Long"),
    ],
)
def test_a_number_that_is_perhaps_not_the_persons_is_only_quoted(tmp_path: Path, line: str, name: str) -> None:
    (tmp_path / "numbers.txt").write_text(line)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "numbers.txt"])
    asked = Asked(parse(f"what is the phone number of {name}", NOW.date()), NOW)
    ruled = Persons(store, known_people(store.database)).answer(asked)
    assert ruled
    assert ruled.text.startswith("- ")


MAIL = """From: Mira Volk <mira@volk.example>
To: Runa Fjelde <runa@fjelde.example>
Subject: {subject}
Date: Mon, {day} Oct 2026 10:00:00 +0200

Dear Runa,

{text}

{end}
"""
SIGNED = MAIL.format(
    subject="Fence",
    day=5,
    text="The fence is ready.",
    end="-- \nMira Volk\nVolk Fences Ltd\nTel: +386 41 555 099\nFax 555 1",
)
UNMARKED = MAIL.format(subject="Gate", day=6, text="The gate, too.", end="Kind regards\nMira Volk\nMobile 031 555 222")
OF_OTHER = MAIL.format(subject="Hinges", day=7, text="Ask Tom, he has hinges.", end="Tom Reed's number is 555 0199")
FOOTER = f"{'_' * 40}\nFencers mailing list, tel 555 0777"


@pytest.mark.parametrize(
    ("mails", "question", "starts"),
    [
        (
            [SIGNED],
            "Mira's number",
            "Mira Volk · +386 41 555 099\n\n- 2026-10-05 · Fence [1]\n  > Tel: +386 41 555 099",
        ),
        (
            [UNMARKED],
            "what is Mira Volk's mobile number?",
            "Mira Volk · 031 555 222\n\n- 2026-10-06 · Gate [1]\n  > Mobile",
        ),
        (
            [SIGNED, UNMARKED],
            "Mira's number",
            "Mira Volk\n\n- 2026-10-06 · Gate [1]\n  > Mobile 031 555 222\n- 2026-10-05",
        ),
        ([SIGNED, SIGNED.replace("Fence\n", "More\n")], "Mira's number", "Mira Volk · +386 41 555 099\n\n"),
        ([SIGNED], "how can I reach Mira", "Mira Volk · mira@volk.example\n\n- 2026-10-05 · Fence [1]\n  > Tel:"),
        ([SIGNED], "Runa's number", ""),
        ([OF_OTHER], "Mira's number", ""),
        ([MAIL.format(subject="List", day=8, text="See you.", end=FOOTER)], "Mira's number", ""),
    ],
)
def test_a_number_below_a_mail_is_its_senders(tmp_path: Path, mails: list[str], question: str, starts: str) -> None:
    for number, mail in enumerate(mails):
        (tmp_path / f"{number}.eml").write_text(mail)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([*tmp_path.glob("*.eml")])
    ruled = Persons(store, known_people(store.database)).answer(Asked(parse(question, NOW.date()), NOW))
    assert bool(ruled) == bool(starts)
    assert not ruled or ruled.text.startswith(starts)


def test_the_number_behind_a_trade_and_a_name_stands_first(tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("Vet: Dr Olga Marussig, tel. 041 555 0163\n\nBaker: ask Ivo Hrib, 555 0111\n")
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "numbers.txt"])
    rule = Persons(store, known_people(store.database))
    starts = [
        ruled.text.splitlines()[0]
        for question in ("the vet's number", "number of the baker")
        if (ruled := rule.answer(Asked(parse(question, NOW.date()), NOW)))
    ]
    assert starts == ["041 555 0163", "- numbers [1]"]


@pytest.mark.parametrize(
    ("text", "question", "starts"),
    [
        (
            "Dr Bonetti, Tomaso's doctor: 555 0151",
            "my doctor's number",
            "- numbers [1]\n  > Dr Bonetti, Tomaso's doctor",
        ),
        ("Tomaso's new doctor: 555 0151", "number of my doctor", "- numbers [1]\n  > Tomaso's new doctor"),
        ("The doctor of Tomaso: 555 0151", "my doctor's number", "- numbers [1]\n  > The doctor of Tomaso"),
        ("His doctor: 555 0151", "what is the doctor's number", "- numbers [1]\n  > His doctor"),
        ("Tomaso's doctor: 555 0151\n\nMy doctor: 555 0152", "my doctor's number", "555 0152\n\n- numbers [1]\n  > My"),
        ("My doctor: 555 0152", "my doctor's number", "555 0152\n\n- numbers"),
        ("Here's the doctor: 555 0152", "my doctor's number", "555 0152\n\n- numbers"),
        ("Ivo's dentist: 555 0153", "Ivo's number", "- numbers [1]\n  > Ivo's dentist"),
        ("Ivo's new number: 555 0153", "Ivo's number", "555 0153\n\n- numbers"),
        ("Zoran Hrovat, builder, on the second floor, 555 0108", "phone number of the second floor", ""),
        ("Zoran Hrovat (telephone 555 0117) and the owners, second floor.", "phone number of the second floor", ""),
        ("Hrovat painted the second floor, 555 0117", "phone number of the second floor", ""),
        ("Calls about the boiler: 555 0101", "phone number of the boiler", ""),
        ("second floor: 555 0172", "phone number of the second floor", "555 0172\n\n- numbers"),
        ("555 0163: the vet", "phone number of the vet", "- numbers [1]\n  > 555 0163: the vet"),
        ("Ring 555 0101 and ask for the plumber", "number of the plumber", "- numbers [1]\n  > Ring 555 0101"),
        ("Katja Sirk is our plumber, 555 0126", "the plumber's number", "555 0126\n\n- numbers"),
    ],
)
def test_somebody_without_a_name_is_told_from_others_and_from_what_is_only_mentioned(
    tmp_path: Path, text: str, question: str, starts: str
) -> None:
    (tmp_path / "numbers.txt").write_text(text)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "numbers.txt"])
    ruled = Persons(store, known_people(store.database)).answer(Asked(parse(question, NOW.date()), NOW))
    assert bool(ruled) == bool(starts)
    assert not ruled or ruled.text.startswith(starts)


@pytest.mark.parametrize("question", ["Who has the keys?", "who has got my book"])
def test_a_thing_is_not_taken_for_a_person_of_that_name(tmp_path: Path, question: str) -> None:
    """Whoever is called Keys, or Book People, is not who has the thing."""
    (tmp_path / "who.md").write_text("Nora Keys: nora@keys.example\nBook People: info@book.example\n")
    database = Database(tmp_path / "jackdaw.db")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "who.md"])
    rule = Persons(KnowledgeStore(database), known_people(database))
    assert rule.answer(Asked(parse(question, NOW.date()), NOW)) is None
