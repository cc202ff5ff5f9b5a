"""Answers in the words of the files, which no model writes: the room's own, and those made ahead."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from device_app.answer import Answer, Found, Wrote
from device_app.assistant import Assistant
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.query import parse
from device_app.sources.local import LocalSource
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.conftest import answered, assistant, options

DAY = date(2026, 3, 1)
ASKED = "What was said about the leaking roof?"
QUOTED = options(summaries="quoted", relevance=0.05)
TEXT = """\
What was said about the leaking roof:

- Anna: The leaking roof drips into the hall. [1]
- Tom: I have a man for the leaking roof. [1]
- The leaking roof needs new tiles. [2]"""


def never() -> LocalSource:
    raise AssertionError("the model was waited for")


@pytest.fixture
def roof(database: Database, notes: Path) -> Database:
    """With a chat and a note about a roof."""
    (notes / "chat.md").write_text(
        "Anna: The leaking roof drips into the hall.\n\nTom: I have a man for the leaking roof.\n\nAnna: Good.\n"
    )
    (notes / "roof.md").write_text("# Tiles\n\nThe leaking roof needs new tiles. Tiles are dear.\n")
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([notes])
    return database


def added(database: Database, path: Path, text: str) -> None:
    path.write_text(text)
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([path.parent])


def quoting(database: Database) -> Assistant:
    """A room that needs no model."""
    return assistant(database, never)


def test_what_was_said_is_answered_in_the_words_of_the_files_without_a_model(roof: Database) -> None:
    events = list(quoting(roof).ask(ASKED, QUOTED))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert [type(event) for event in events] == [Found, Wrote, Answer]
    assert [event.text for event in events if isinstance(event, Wrote)] == [TEXT]
    record = answer.as_json()
    assert (record["answer"], record["quoted"], record["found"], record["abstained"]) == (TEXT, True, True, False)
    assert (record["origin"], record["model"], record["support"]) == ("device", "", "word for word")
    assert [Path(source["path"]).name for source in record["sources"]] == ["chat.md", "roof.md"]
    assert [step["name"] for step in record["trace"]["steps"]] == ["look up", "retrieve", "quote"]
    assert 0 < record["trace"]["ttft_ms"] <= record["trace"]["total_ms"]


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        (ASKED, options()),
        ("Is the roof leaking into the hall?", QUOTED),
        (ASKED, replace(QUOTED, together=True)),
    ],
)
def test_else_the_model_writes(roof: Database, question: str, chosen: object) -> None:
    answer = answered(assistant(roof), question, chosen)  # type: ignore[arg-type]
    assert (answer.quoted, answer.model) == (False, "fake")


def test_where_nothing_near_is_said_the_model_reads_what_there_is(database: Database, notes: Path) -> None:
    added(database, notes / "roof.md", "# The leaking roof\n\nMonday: no.\n")
    assert not answered(assistant(database), ASKED, QUOTED).quoted


def test_what_follows_on_the_question_before_is_written(roof: Database) -> None:
    room = assistant(roof)
    first = answered(room, ASKED, QUOTED)
    assert first.quoted
    assert not answered(room, "And what was said about it then?", QUOTED, first.conversation_id).quoted


def test_it_is_quoted_from_the_files_that_the_question_is_limited_to(roof: Database) -> None:
    answer = answered(quoting(roof), f"in:roof.md {ASKED}", QUOTED)
    assert answer.text.endswith(":\n\n- The leaking roof needs new tiles. [1]")
    assert [Path(hit.passage.path).name for hit in answer.hits] == ["roof.md"]


def test_a_passage_of_which_nothing_is_quoted_is_no_source(roof: Database, notes: Path) -> None:
    added(roof, notes / "aside.md", "The leaking roof: leaking.\n")
    room = quoting(roof)
    best, *_ = room.retriever.search(parse("the leaking roof", DAY), 3)
    assert Path(best.passage.path).name == "aside.md"
    answer = answered(room, ASKED, QUOTED)
    assert answer.text == TEXT
    assert [Path(hit.passage.path).name for hit in answer.hits] == ["chat.md", "roof.md"]


def test_it_is_kept_and_serves_until_more_is_said(roof: Database, notes: Path) -> None:
    room = quoting(roof)
    answered(room, ASKED, QUOTED)
    again = answered(room, ASKED, QUOTED)
    assert (again.origin, again.quoted, again.text) == ("qa_bank", True, TEXT)
    added(roof, notes / "more.md", "The leaking roof was mended on Friday.\n")
    anew = answered(room, ASKED, QUOTED)
    assert (anew.origin, anew.quoted) == ("device", True)
    assert "mended on Friday" in anew.text


@pytest.mark.parametrize("decode", [True, False])
def test_ahead_of_the_question_it_takes_no_model_either(roof: Database, decode: bool) -> None:
    room = quoting(roof)
    asked = parse(ASKED, DAY)
    prepared = room.prepare(asked, QUOTED, "predicted", decode=decode)
    assert prepared is not None
    assert not prepared.abstained
    assert room.missing(asked, QUOTED) == 0
    assert answered(room, ASKED, QUOTED).origin == "qa_bank"


def test_why_tells_what_would_be_quoted(roof: Database) -> None:
    _, hits, quoted = quoting(roof).why(ASKED, QUOTED)
    assert (quoted, [Path(hit.passage.path).name for hit in hits]) == (True, ["chat.md", "roof.md"])
    _, hits, quoted = quoting(roof).why(ASKED, options())
    assert (quoted, len(hits)) == (False, 1)
