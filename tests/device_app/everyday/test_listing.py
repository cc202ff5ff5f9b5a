"""Questions for lists, counts and single documents, answered from the documents' metadata."""

from pathlib import Path
from typing import Any

import pytest

from device_app.english.query import parse
from device_app.everyday.listing import Listing
from device_app.everyday.rule import Asked
from device_app.everyday.rules import everyday
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW, Ask

ANSWERS: dict[str, tuple[str, list[str]]] = {
    "mails from Rick Moen in October": (
        "mails · from Rick Moen · in October 2026",
        ["2 mails from Rick Moen in October 2026:", "Tiny DNS Swap"],
    ),
    "How many mails did Rick send me?": ("mails · from Rick Moen", ["3 mails from Rick Moen:"]),
    "how many mails did i get in october": ("mails · that you received · in October 2026", ["3 mails"]),
    "Which mails did I send to Anna?": ("mails · to Anna Holt · that you sent", ["1 mail to Anna Holt", "Re: Bees"]),
    "When did I last write to Anna?": ("latest of mails · to Anna Holt · that you sent", ["Re: Bees"]),
    "When did I last write to Petra?": ("latest of days of chat · with Petra", ["9 October 2026"]),
    "all correspondence with Anna": ("mails · with Anna Holt", ["2 mails with Anna Holt"]),
    "what did I get from Anna last month": ("mails · from Anna Holt · in October 2026", ["Bees"]),
    "mails from Tom in September": (
        "mails · from Tom Gray or Tom Reed · in September 2026",
        ["2 mails", "Boat", "Roof"],
    ),
    "Did Anna send me a mail in October?": ("mails · from Anna Holt · in October 2026", ["Yes: 1 mail"]),
    "Did Anna send me a mail in September?": ("mails · from Anna Holt · in September 2026", ["No: your files hold 0"]),
    "who sent me the most mails": ("who sent most · mails · that you received", ["Rick Moen: 3 mails"]),
    "who wrote to me most in September?": (
        "who sent most · mails · that you received · in September 2026",
        [
            "Tom Gray and Tom Reed: each 1 mail that you received in September 2026.",
            "- Tom Gray: 1 mail",
            "- Tom Reed: 1 mail",
        ],
    ),
    "show me the mail with the subject Tiny DNS Swap": (
        "mail · with the subject “tiny dns swap”",
        ["5 October 2026, 09:00 · Rick Moen · Tiny DNS Swap", "> The swap is on Friday."],
    ),
    'who wrote "Bees"': ("mail · with the subject “bees”", ["Anna Holt"]),
    "what is in the mail titled Autumn regatta": ("mails · with the subject “autumn regatta”", ["I found no mails"]),
    "the latest note on the boathouse": ("latest of notes · about “boathouse”", ["19 October 2026 · Boathouse"]),
    "my first boathouse note": ("first of notes · about “boathouse”", ["1 September 2026", "kick-off"]),
    "what did I write in my last diary entry?": ("latest of notes · about “diary”", ["the mayor promised a bench"]),
    "how many notes do I have": ("notes", ["4 notes:"]),
    "when did Rick last write to me": ("latest of mails · from Rick Moen", ["2 November 2026", "Winter plans"]),
    "what was the last thing Petra wrote": (
        "latest of days of chat · from Petra",
        ["9 October 2026", "Orange in the morning"],
    ),
    "show me everything Petra wrote about the drill": (
        "days of chat · from Petra · about “drill”",
        ["about “drill”:", "3 October 2026"],
    ),
    "any news from Anna?": ("mails · from Anna Holt", ["1 mail from Anna Holt", "Bees"]),
    "did anyone write about the bees in October?": (
        "mails · in October 2026 · about “bees”",
        ["Yes: 2 mails"],
    ),
    "notes on the roof of the boathouse": ("notes · about “roof boathouse”", ["1 note", "Boathouse"]),
    "what's Rick's email": ("e-mail address · Rick Moen", ["rick@moen.example"]),
    "email of Anna Holt": ("e-mail address · Anna Holt", ["anna@holt.example"]),
    "anna holt, what's her email": ("e-mail address · Anna Holt", ["anna@holt.example"]),
    "kind:mail from:anna how many mails are there": ("mails", ["2 mails:"]),
    "mails from Rick Mohen in Ocotber": ("mails · from Rick Moen · in October 2026", ["2 mails"]),
    "mails from Zorblax": ("mails · from “zorblax”", ["Nobody in your mails is called “zorblax”."]),
}


@pytest.mark.parametrize("question", ANSWERS)
def test_answers(ask: Ask, question: str) -> None:
    understood, parts = ANSWERS[question]
    ruled = ask(question)
    assert ruled
    assert ruled.understood == understood
    assert [part for part in parts if part not in ruled.text] == []


ASIDE = (
    "What did Rick say about skiing?",
    "Which mail tells me when the plumber comes?",
    "what does the landlord want",
    "mails",
    "Tiny DNS Swap",
    "And from Anna?",
    "in:notes summarise the roof",
    "Summarize the notes on the blue drill",
    "give me a short summary of the mails from Rick Moen",
    "Who is Rick Moen?",
    "any news from the dentist?",
    "has anyone written about the rent?",
    "any letters from my accountant?",
    "mails from Mum",
    "Rick altered the rules for posting; what is that mail headed?",
    "Did Rick say that the swap is on Friday?",
    "How many mails did she send in October?",
    "How many of them are from Anna?",
    "second mail from Rick Moen",
    "the third note about the boathouse",
    "the second to last mail from Rick Moen",
    "the last mail but one",
    "who ordered the tiles",  # not "titles"
    "who forgot the titles",
    "what for did Rick Moen get 11580",
    "what did Rick Moen get 11580 for",
    "did Rick Moen get 11580",
)


@pytest.mark.parametrize("question", ASIDE)
def test_what_it_leaves_to_others(ask: Ask, question: str) -> None:
    assert ask(question) is None


@pytest.mark.parametrize(
    ("question", "is_month"),
    [
        ("mails from May", False),
        ("mails by May", False),
        ("mails from May Holt", False),
        ("mails from May 2026", True),
        ("mails in May", True),
        ("mails from April to May", True),
        ("mails from June", True),
    ],
)
def test_a_month_is_not_taken_for_the_person_of_that_name(tmp_path: Path, question: str, is_month: bool) -> None:
    for day, name in (("04 May", "Tom Reed <tom@x.example>"), ("08 Jun", "May Holt <may@x.example>")):
        mail = f"From: {name}\nDate: Mon, {day} 2026 09:00:00 +0200\nSubject: Boat\n\nHello.\n"
        (tmp_path / f"{day}.eml").write_text(mail)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path])
    ruled = Listing(store, known_people(store.database)).answer(Asked(parse(question, NOW.date()), NOW))
    assert (ruled is not None and "2026" in ruled.understood) is is_month


def test_all_who_sent_the_most_are_named(tmp_path: Path) -> None:
    names = ["Ada", "Bo", "Cy", "Di", "Ed", "Flo", "Gus"]
    for day, name in enumerate(names, 1):
        mail = f"From: {name} <{name.lower()}@x.example>\nDate: Mon, 0{day} Sep 2026 09:00:00 +0200\n\nHello.\n"
        (tmp_path / f"{name}.eml").write_text(mail)
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path])
    asked = Asked(parse("who sent me the most mail?", NOW.date()), NOW)
    ruled = Listing(store, known_people(store.database)).answer(asked)
    assert ruled
    assert ruled.text.startswith("7 senders: each 1 mail that you received.")
    assert ruled.text.splitlines()[2:] == [f"- {name}: 1 mail" for name in names]
    assert len(ruled.items) == len(names)


@pytest.mark.parametrize("name", ["soup.md", "2027-03-01_soup.md"])
def test_notes_without_a_date_until_today_are_listed_where_the_latest_is_asked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# Soup\n\nLeek and potato.\n")
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / name])
    for question in ("What is my latest note?", "the latest note on soup"):
        asked = Asked(parse(question, NOW.date()), NOW)
        ruled = Listing(store, known_people(store.database)).answer(asked)
        assert ruled
        assert "1 note" in ruled.text
        assert "Soup [1]" in ruled.text
        assert len(ruled.items) == 1


@pytest.mark.parametrize(
    ("before", "question", "same"),
    [
        ("mails from Rick Moen in October", "and from Anna Holt?", "mails from Anna Holt in October"),
        ("How many mails did Rick send me?", "What about from Anna?", "How many mails did Anna send me?"),
        ("mails from Rick Moen in October", "and to Anna?", None),
        ("What is on today?", "and from Anna?", None),
        ("mails from Rick Moen in October", "and from the roof builders that he wrote to?", None),
    ],
)
def test_a_list_is_asked_for_with_another_person(life: Database, before: str, question: str, same: str | None) -> None:
    rules = everyday(KnowledgeStore(life), known_people(life))
    ruled = rules.answer(Asked(parse(question, NOW.date()), NOW, before=before))
    expected = rules.answer(Asked(parse(same, NOW.date()), NOW)) if same else None
    assert (ruled and ruled.text) == (expected and expected.text)
    assert bool(ruled) == bool(same)


def test_the_items_are_the_documents_and_the_sources_their_passages(ask: Ask) -> None:
    ruled = ask("mails from Rick Moen in October")
    assert ruled
    items: list[dict[str, Any]] = [item.as_json() for item in ruled.items]
    assert [(item["type"], item["kind"], item["title"]) for item in items] == [
        ("document", "mail", "Re: Tiny DNS Swap"),
        ("document", "mail", "Tiny DNS Swap"),
    ]
    assert [passage.title for passage in ruled.sources] == ["Re: Tiny DNS Swap", "Tiny DNS Swap"]
    assert "[2]" in ruled.text
