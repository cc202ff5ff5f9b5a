"""Rules and search filters know the same people, under all their names, and know who the user is."""

import json
from collections.abc import Callable
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.english import query
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.rules import everyday
from device_app.everyday.showing import DocumentItem
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import KnownPeople, known_people
from models.fake import FakeEmbedder
from shared.types import SearchFilters
from storage.database import Database
from storage.knowledge import KnowledgeStore

NOW = datetime.fromisoformat("2026-11-20T18:00:00+01:00")
RUNA, WORK = "Runa Fjelde <runa@fjelde.example>", "Runa Fjelde <rf@boats.example>"
MAILS = (
    ("Jake Watson <jake@w.example>", RUNA, "Tea"),
    ("JakeWatson <jw@work.example>", RUNA, "Cups"),
    ("jake@w.example", WORK, "Spoons"),
    ("Patrick Jakeson <pat@j.example>", RUNA, "Boats"),
    ("Anna Berg <anna@berg.example>", RUNA, "Bees"),
    ("Anna Lang <anna@lang.example>", RUNA, "Honey"),
    (RUNA, "Anna Berg <anna@berg.example>", "Re: Bees"),
    (WORK, "Anna Lang <anna@lang.example>", "Re: Honey"),
)
JAKE = "CN=JakeWatson:mailto:jw@work.example"
CHAT = (("2026-10-03T10:00:00", "Jake Watson", "The kettle whistles."), ("2026-10-03T10:01:00", "Runa", "It does."))

TITLES = {
    "jake": ["Cups", "Spoons", "Tea"],
    "JakeWatson": ["Cups", "Spoons", "Tea"],
    "Jake Watson": ["Cups", "Spoons", "Tea"],
    "jake@w.example": ["Spoons", "Tea"],
    "anna berg": ["Bees"],
    "anna": ["Bees", "Honey"],
    "runa": ["Re: Bees", "Re: Honey"],
    "Patrick": ["Boats"],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeStore:
    """A store whose people have several names and addresses."""
    folder = tmp_path_factory.mktemp("files")
    for number, (sender, to, subject) in enumerate(MAILS):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = sender, to, subject
        mail["Date"] = datetime.fromisoformat(f"2026-10-{number + 1:02}T09:00:00+02:00")
        mail.set_content("Hello.")
        (folder / f"{number}.eml").write_bytes(bytes(mail))
    call = ("BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:1", "SUMMARY:Call", "DTSTART:20261124T100000Z", f"ATTENDEE;{JAKE}")
    (folder / "a.ics").write_text("\r\n".join((*call, "END:VEVENT", "END:VCALENDAR", "")))
    said = [{"date": date, "from": speaker, "text": text} for date, speaker, text in CHAT]
    (folder / "chat.json").write_text(json.dumps({"title": "Jake", "messages": said}))
    store = KnowledgeStore(Database(tmp_path_factory.mktemp("store") / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([folder])
    return store


@pytest.fixture(scope="module")
def people(store: KnowledgeStore) -> KnownPeople:
    return known_people(store.database)


@pytest.fixture
def ask(store: KnowledgeStore, people: KnownPeople) -> Callable[[str], Ruled]:
    def answer(question: str) -> Ruled:
        ruled = everyday(store, people).answer(Asked(query.parse(question, NOW.date()), NOW))
        assert ruled
        return ruled

    return answer


def titles(ruled: Ruled) -> list[str]:
    return sorted(item.title for item in ruled.items if isinstance(item, DocumentItem))


@pytest.mark.parametrize("name", TITLES)
def test_a_rule_and_a_filter_find_the_same_mails(
    name: str, ask: Callable[[str], Ruled], store: KnowledgeStore, people: KnownPeople
) -> None:
    filters = people.widened(SearchFilters(senders=(name,), kinds=("mail",)))
    assert titles(ask(f"mails from {name}")) == TITLES[name]
    assert set(TITLES[name]) <= {each.title for each in store.latest(filters)}
    if name != "jake":  # a filter also matches a part of a name: Jakeson
        assert sorted(each.title for each in store.latest(filters)) == TITLES[name]


def test_a_filter_in_a_question_finds_a_person_under_all_names(ask: Callable[[str], Ruled]) -> None:
    assert titles(ask("from:jakewatson kind:mail how many mails are there")) == TITLES["JakeWatson"]


def test_who_asks_is_the_one_guess_until_it_is_confirmed(
    ask: Callable[[str], Ruled], store: KnowledgeStore, people: KnownPeople
) -> None:
    sent = SearchFilters(senders=("me",), kinds=("mail",))
    for names, mails in (([], ["Re: Bees", "Re: Honey"]), (["Anna Berg"], ["Bees"])):
        people.state_me(names)
        assert sorted(each.title for each in store.latest(people.widened(sent))) == mails
        assert titles(ask("How many mails did I send?")) == mails
        assert len(titles(ask("how many mails did i get"))) == len(MAILS) - len(mails)
    people.state_me([])


def test_an_event_is_found_by_another_name_of_somebody_in_it(ask: Callable[[str], Ruled]) -> None:
    for name in ("Jake Watson", "JakeWatson"):
        assert "24 November" in ask(f"When is my next call with {name}?").text


def test_without_a_guess_it_says_that_it_does_not_know_who_asks(tmp_path: Path) -> None:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Anna Berg <anna@berg.example>", RUNA, "Bees"
    (tmp_path / "a.eml").write_bytes(bytes(mail))
    store = KnowledgeStore(Database(tmp_path / "jackdaw.db"))
    Ingestion(store, FakeEmbedder()).run([tmp_path / "a.eml"])
    asked = Asked(query.parse("How many mails did I send?", NOW.date()), NOW)
    ruled = everyday(store, known_people(store.database)).answer(asked)
    assert ruled
    assert "jackdaw me set NAME" in ruled.text


def test_who_sent_most_is_counted_by_person(ask: Callable[[str], Ruled]) -> None:
    assert ask("who sent me the most mails").text.startswith("Jake Watson: 3 mails")


def test_two_people_of_one_name_are_named(ask: Callable[[str], Ruled]) -> None:
    for question in ("mails from Anna", "Did Anna send me a mail?", "when did Anna last write to me"):
        assert ask(question).text.endswith("Two people are called Anna: Anna Berg and Anna Lang.")
    assert "called Anna" not in ask("mails from Anna Berg").text


def test_who_is_known_from_elsewhere_is_not_called_unknown(ask: Callable[[str], Ruled]) -> None:
    assert ask("when did JakeWatson say that the kettle whistles").text.startswith("3 October 2026")
    assert "Nobody" in ask("mails from Zorblax").text


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(TITLES)), st.sampled_from([str.upper, str.lower, str.title, " {} ".format]))
def test_how_a_name_is_typed_makes_no_difference(
    store: KnowledgeStore, people: KnownPeople, name: str, typed: Callable[[str], str]
) -> None:
    ruled = everyday(store, people).answer(Asked(query.parse(f"mails from {typed(name)}", NOW.date()), NOW))
    assert ruled
    assert titles(ruled) == TITLES[name]


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=20))
def test_no_name_breaks_a_rule(store: KnowledgeStore, people: KnownPeople, name: str) -> None:
    ruled = everyday(store, people).answer(Asked(query.parse(f"mails from {name}", NOW.date()), NOW))
    assert ruled is None or ruled.text
