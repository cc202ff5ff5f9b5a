"""A few files of one user, read as usual, and the rules that answer everyday questions from them."""

import json
from collections.abc import Callable
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import pytest

from device_app.english import query
from device_app.everyday.rule import Asked, Ruled
from device_app.everyday.rules import everyday
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore

NOW = datetime.fromisoformat("2026-11-20T18:00:00+01:00")
ME = "Runa Fjelde <runa@fjelde.example>"
MAILS = (
    ("Rick Moen <rick@moen.example>", ME, "Tiny DNS Swap", "2026-10-05", "The swap is on Friday."),
    ("Rick Moen <rick@moen.example>", ME, "Re: Tiny DNS Swap", "2026-10-07", "It went well."),
    ("Rick Moen <rick@moen.example>", ME, "Winter plans", "2026-11-02", "Shall we ski?"),
    ("Anna Holt <anna@holt.example>", ME, "Bees", "2026-10-06", "The bees are fed."),
    (ME, "Anna Holt <anna@holt.example>", "Re: Bees", "2026-10-08", "Thank you!"),
    ("Tom Reed <tom@reed.example>", ME, "Boat", "2026-09-01", "The boat leaks."),
    ("Tom Gray <tom@gray.example>", ME, "Roof", "2026-09-02", "The roof is dry."),
)
NOTES = {
    "diary/2026-11-14_market.md": "# Saturday 14 November: the market\n\nBought chestnuts with Anna, met the mayor.\n",
    "diary/2026-11-16_monday.md": "# Monday\n\nOn Saturday the mayor promised a bench. Today it rained.\n",
    "notes/2026-10-19_boathouse.md": "# Boathouse\n\nThe roof needs forty tiles.\n",
    "notes/2026-09-01_boathouse_kickoff.md": "# Boathouse: kick-off\n\nWe begin in spring.\n",
}
CHAT = (
    ("2026-10-03T10:00:00", "Petra", "I lent your drill to Wim last week."),
    ("2026-10-03T10:01:00", "Runa Fjelde", "No hurry."),
    ("2026-10-09T09:00:00", "Runa Fjelde", "The cat has a new dose, two tablets."),
    ("2026-10-09T09:05:00", "Petra", "Orange in the morning, I will remember."),
    ("2026-10-09T09:06:00", "Petra", "Where is the ladder? The parcels are here."),
)


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A store with one user's mails, notes and chats."""
    folder = tmp_path_factory.mktemp("life")
    for number, (sender, to, subject, day, text) in enumerate(MAILS):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = sender, to, subject
        mail["Date"] = datetime.fromisoformat(f"{day}T09:00:00+02:00")
        mail.set_content(text)
        (folder / f"{number}.eml").write_bytes(bytes(mail))
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    said = [{"date": date, "from": speaker, "text": text} for date, speaker, text in CHAT]
    (folder / "chat.json").write_text(json.dumps({"title": "Petra", "messages": said}))
    database = Database(tmp_path_factory.mktemp("store") / "jackdaw.db")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([folder])
    return database


Ask = Callable[[str], Ruled | None]


@pytest.fixture
def ask(life: Database) -> Ask:
    """Return the answer of the rules to a question that is asked at the time NOW."""
    rules = everyday(KnowledgeStore(life), known_people(life))
    return lambda question: rules.answer(Asked(query.parse(question, NOW.date()), NOW))


def folder_of(path: str) -> str:
    """Return a file's name without its folders."""
    return Path(path).name
