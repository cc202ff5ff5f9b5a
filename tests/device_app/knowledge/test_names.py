"""Which requests contain a name, an address or a number from the user's files."""

from pathlib import Path

import pytest

from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.names import holds_known_name
from models.fake import FakeEmbedder
from storage.database import Database
from storage.keywords import KeywordIndex
from storage.knowledge import KnowledgeStore

MAIL = "From: {} <{}>\nTo: Me Myself <me@home.example>\nSubject: Hello\nDate: Mon, 2 Mar 2026 10:00:00 +0100\n\n{}\n"
SENDERS = {"Will Hart": "wh@one.example", "June Field": "jf@two.example", "Bill Mark": "bm@six.example"}
NUMBERS = (
    "my phone is 555-123-4567, and hers is (0171) 765 43 21",
    "the account is 123456789012",
    "the savings are at DE89 3704 0044 0532 0130 00, and the rest at FR7630006000011234567890189",
    "the house has the code 81726",
    "the fax is 06 12 34 56 78",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeStore:
    folder = tmp_path_factory.mktemp("names")
    database = Database(folder / "jackdaw.db")
    files = folder / "files"
    files.mkdir()
    for number in range(30):
        text = f"we will pay the bill in may {number}, and rose seeds, mark it can be\n"
        (files / f"a{number:02}.md").write_text(text)
    for number, text in enumerate(NUMBERS):
        (files / f"n{number}.md").write_text(f"{text}\n")
    for number, (name, address) in enumerate(SENDERS.items()):
        (files / f"z{number}.eml").write_text(MAIL.format(name, address, "see you soon"))
    knowledge = KnowledgeStore(database)
    Ingestion(knowledge, FakeEmbedder()).run([Path(files)])
    return knowledge


@pytest.mark.parametrize(
    "request_text",
    [
        "Write a letter to Will",
        "write a letter to will",
        "Will: write a poem",
        "Write a letter to June",
        "write a letter to june",
        "write a letter to bill",
        "Write a letter to mark",
        "Write a mail to jf at two",
        "Write a story about 555-123-4567",
        "Write a story about 555 123 4567",
        "Write a story about 5551234567",
        "Write a story about +1 (555) 123.4567",
        "Write a story about 555/123/4567 and 15 cats",
        "Write a story about +49 171 7654321",
        "Write a story about 1234 5678 9012",
        "Write a story about 1234-5678-9012, 20 times",
        "Write a story about DE89370400440532013000",
        "Write a story about DE89 3704 0044 0532 0130 00",
        "Write a story about FR76 3000 6000 0112 3456 7890 189",
        "Write a story about 8 17 26",
        "Write a story about 0612345678",
        f"Write a story about {'123 ' * 20}",
        "Write to me@nowhere.example",
    ],
)
def test_who_and_what_the_files_hold_is_known(store: KnowledgeStore, request_text: str) -> None:
    assert holds_known_name(request_text, KeywordIndex(store.database), store)


@pytest.mark.parametrize(
    "request_text",
    [
        "Write a poem about May",
        "Write a poem about the rose",
        "Write a poem about April in German",
        "Please write a story that they would read to us",
        "Write a story about 12 cats and 30 dogs",
        "Write a story about 99887766",
        "Write a story about 99-88-77",
        f"Write a story about {'9' * 40}",
        "Write a poem in 2026",
    ],
)
def test_what_anybody_may_say_is_not(store: KnowledgeStore, request_text: str) -> None:
    assert not holds_known_name(request_text, KeywordIndex(store.database), store)
