"""A question that a rule answers: no model, no socket, no embedding; in the history, not among the kept answers."""

import socket
from dataclasses import replace
from typing import Any

import pytest

from device_app.answering.planner import RULE
from device_app.commands.marking import mark_turn, undo_turn
from device_app.commands.turns import last_if_any
from device_app.question.answer import Answer, Found, Wrote
from device_app.settings import Settings
from models.fake import FakeEmbedder
from storage.database import Database
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
    mark_turn(device, turn)
    assert answered(room, "2+2", options()).origin == "device"
    undo_turn(device, turn)
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
