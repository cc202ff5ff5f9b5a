"""A question that a rule answers: without model, network or embedding; stored in the history, but not in the answer
cache.
"""

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from device_app.answering.early import is_for_rule
from device_app.answering.planner import RULE
from device_app.commands.marking import mark_turn, undo_turn
from device_app.commands.turns import last_if_any
from device_app.everyday.rule import Everyday
from device_app.knowledge.ingest import Ingestion
from device_app.question.answer import Answer, Found, Wrote
from device_app.settings import Settings
from models.fake import FakeEmbedder
from storage.database import Database
from storage.knowledge import KnowledgeStore
from storage.qa_entries import QAEntries
from tests.device_app.conftest import answered, assistant, options
from tests.devices import device_over


def _refused(*_: Any, **__: Any) -> Any:
    raise AssertionError


def test_no_model_no_embedding_and_no_socket(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeEmbedder, "embed", _refused)
    monkeypatch.setattr(socket, "socket", _refused)
    room = assistant(database, source=_refused)
    events = list(room.ask("What is 15% of 80?", options()))
    assert [type(event) for event in events] == [Found, Wrote, Answer]
    record = events[-1].as_json()  # type: ignore[union-attr]
    assert (record["answer"], record["origin"], record["model"]) == ("15% of 80 = 12", "rule", "")
    assert (record["understood"], record["sources"]) == ("arithmetic · 15% of 80", [])
    assert record["items"] == [{"type": "number", "expression": "15% of 80", "value": "12"}]
    assert record["trace"]["decided"] == [RULE, "understood as: arithmetic · 15% of 80"]
    assert record["egress"] == {"bytes": 0, "items": []}


def test_the_history_keeps_it_and_the_bank_does_not(database: Database) -> None:
    room = assistant(database)
    answer = answered(room, "2+2", options())
    turn = last_if_any(room.conversations)
    assert turn
    assert (turn.answer, turn.record["items"], turn.complete) == ("2 + 2 = 4", list(answer.items), True)
    assert not QAEntries(database).answers("2+2")


def test_marked_wrong_it_steps_aside_until_the_mark_is_taken_back(database: Database) -> None:
    room, device = assistant(database), device_over(database, Settings())
    answered(room, "2+2", options())
    turn = last_if_any(room.conversations)
    assert turn
    assert is_for_rule(device, "2+2")
    mark_turn(device, turn)
    assert not is_for_rule(device, "2+2")
    assert answered(room, "2+2", options()).origin == "device"
    undo_turn(device, turn)
    assert is_for_rule(device, "2+2")
    assert answered(room, "2+2", options()).origin == "rule"


def test_explained_and_prepared_without_a_model(database: Database) -> None:
    room = assistant(database, source=_refused)
    explained = room.explain("2+2", options())
    assert explained.step == explained.otherwise
    assert getattr(explained.step, "kind", "") == "answer by rule"
    prepared = room.prepare(explained.request.query, options(), "predicted", decode=True)
    assert prepared
    assert prepared.at_once


def test_who_asks_for_the_model_gets_it(database: Database) -> None:
    assert answered(assistant(database), "2+2", replace(options(), model_only=True)).origin == "device"


MAIL = "From: Forty <a@b.example>\nSubject: Tiny roof\n\nForty tiles.\n"
CHAT = (
    '{"title": "Petra", "messages": [{"date": "2026-03-02T10:00:00", "from": "Petra", '
    '"text": "The forty tiles came."}]}'
)
TABLE = "item,price\nkettles,3\nladles,5\n"


def _read(database: Database, folder: Path) -> None:
    store = KnowledgeStore(database)
    store.remember_folder(bytes(folder))
    Ingestion(store, FakeEmbedder()).run([folder])


@pytest.mark.parametrize(
    ("name", "before", "after", "question", "old", "new"),
    [
        ("stock.csv", TABLE, TABLE.replace("3", "300"), "What is the price of the kettles?", "3", "300"),
        ("stock.csv", TABLE, f"{TABLE}pans,1\n", "How many rows are in stock.csv?", "2", "3"),
        (
            "2026-03-02_roof.md",
            "# Roof\n\nForty.\n",
            "# Gutter\n\nNine.\n",
            "What did I do on 2 March 2026?",
            "Forty",
            "Nine",
        ),
    ],
)
def test_a_changed_file_is_read_again_first(
    database: Database, notes: Path, name: str, before: str, after: str, question: str, old: str, new: str
) -> None:
    (notes / name).write_text(before)
    _read(database, notes)
    answer = answered(assistant(database), question, options())
    assert (answer.origin, old in answer.text) == ("rule", True)
    (notes / name).write_text(after)
    answer = answered(assistant(database), question, options())
    assert (answer.origin, new in answer.text) == ("rule", True)


@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({"stock.csv": TABLE}, "What is the price of the kettles?"),
        ({"2026-03-02_roof.md": "# Roof\n\nForty tiles.\n"}, "What did I do on 2 March 2026?"),
        ({"2026-03-02_roof.md": "# Roof\n\nForty tiles.\n"}, "List my notes of March 2026"),
        ({"a.eml": "From: a@b.example\nSubject: Tiny roof\n\nForty tiles.\n"}, "Show the mail “Tiny roof”"),
        ({"a.eml": MAIL}, "Who sent me the most mails?"),
        ({"chat.json": CHAT}, "Who told me about the forty tiles?"),
    ],
)
def test_nothing_of_a_deleted_file_is_in_the_answer(
    database: Database, notes: Path, files: dict[str, str], question: str
) -> None:
    for name, text in files.items():
        (notes / name).write_text(text)
    _read(database, notes)
    assert answered(assistant(database), question, options()).origin == "rule"
    assert is_for_rule(device_over(database, Settings()), question)
    for name in files:
        (notes / name).unlink()
    by_rule = is_for_rule(device_over(database, Settings()), question)
    answer = answered(assistant(database), question, options())
    assert by_rule == (answer.origin == "rule")
    assert [stale.state for stale in answer.stale] == ["gone"]
    assert not any(name in hit.passage.path for hit in answer.hits for name in files)
    assert "orty" not in answer.text
    assert "kettles" not in answer.text


@pytest.mark.parametrize(("limit", "known"), [("", "who has the blue drill?"), ("in:cat.md ", "")])
def test_a_rule_knows_the_question_before_a_follow_up_unless_that_had_filters(
    database: Database, monkeypatch: pytest.MonkeyPatch, limit: str, known: str
) -> None:
    room, before = assistant(database), list[str]()
    first = answered(room, f"{limit}who has the blue drill?", options(relevance=0))
    monkeypatch.setattr(Everyday, "answer", lambda _, asked: before.append(asked.before))
    answered(room, "And why?", options(relevance=0), first.conversation_id)
    assert set(before) == {known}


def test_a_follow_up_is_known_to_be_for_a_rule_by_the_question_before_it(database: Database, notes: Path) -> None:
    for name, sender in (("a.eml", "anna"), ("b.eml", "rick")):
        (notes / name).write_text(
            f"From: {sender}@b.example\nSubject: Tiles\nDate: Mon, 02 Mar 2026 10:00:00 +0000\n\nForty.\n"
        )
    _read(database, notes)
    first = answered(assistant(database), "mails from anna in March 2026", options())
    assert first.origin == "rule"
    device = device_over(database, Settings())
    assert is_for_rule(device, "and from rick?", first.conversation_id)
    assert not is_for_rule(device, "and from rick?")
