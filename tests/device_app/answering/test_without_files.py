"""Requests that need no file: the action that is planned, who generates the answer, and what is stored."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from device_app.ahead.outlook import likely
from device_app.answering.conclusion import A_SERVER_WRITES, TO_FILES
from device_app.answering.planner import AS_ASKED, NO_FILE, plan
from device_app.answering.state import Action, Retrieved, State
from device_app.commands.history import forget
from device_app.commands.marking import mark_turn
from device_app.commands.turns import last_if_any, was_model_only
from device_app.english.query import Query
from device_app.question.answer import Answer, Found, Wrote
from device_app.question.request import Request
from device_app.settings import Settings
from shared.errors import UsageError
from storage.cache_records import CacheRecords
from storage.database import Database
from storage.qa_entries import QAEntries
from tests.device_app.cache.conftest import work
from tests.device_app.conftest import answered, assistant, options
from tests.devices import device_over

POEM = "Write a poem about the blue drill"
TEXT = "Summarise this text:\nPetra has the drill and the saw.\nShe is in the boathouse."
UNSUITED = "The model is too small."
WITH_DATE = "Translate this into German:\non:Monday the shop is closed."


def request(**facts: Any) -> Request:
    """Return a request. Keywords set fields of `Request` or, if it has no such field, of its options."""
    fields = {name: facts.pop(name) for name in tuple(facts) if name in Request.__dataclass_fields__}
    query = Query(POEM)
    return replace(Request(query, query, lambda: np.zeros(3, np.float32), replace(options(), **facts)), **fields)


CASES: dict[str, tuple[Request, Action]] = {
    "recognised": (request(model_only=NO_FILE), Action("write without files", (NO_FILE,))),
    "recognised, by too small a model": (request(model_only=NO_FILE, unsuited=UNSUITED), Action("decline", (NO_FILE,))),
    "a question of fact": (request(unsuited=UNSUITED), Action("nothing")),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_done_next(case: str) -> None:
    asked, step = CASES[case]
    assert plan(asked, State(retrieved=Retrieved())) == step


@pytest.mark.parametrize(
    ("recognised", "asked", "begins"),
    [
        (True, {}, True),
        (True, {"model_only": True}, False),
        (True, {"model_only": True, "send": True}, True),
        (False, {"model_only": True, "send": True}, True),
        (False, {}, False),
    ],
)
@pytest.mark.parametrize("unsuited", [UNSUITED, ""])
def test_a_model_that_is_too_small_begins_only_on_purpose(
    database: Database, recognised: bool, asked: dict[str, bool], begins: bool, unsuited: str
) -> None:
    room = assistant(database)
    chosen = replace(options(), unsuited=unsuited, **asked)  # type: ignore[arg-type]
    explained = room.explain(POEM if recognised else "Who has the drill?", chosen)
    assert explained.request.server_begins == (begins and bool(unsuited))


def test_what_was_recognised_is_recognised_again_and_what_was_asked_for_is_asked_for_again(database: Database) -> None:
    room = assistant(database)
    store = room.conversations

    def again(question: str, drop: bool = False, **asked: bool) -> bool:
        events = room.ask(question, replace(options(), **asked))  # type: ignore[arg-type]
        for event in events:
            if drop and isinstance(event, Wrote):
                events.close()  # type: ignore[attr-defined]
        return was_model_only(last_if_any(store))

    assert not again(TEXT)
    assert not again("Who has the drill?")
    assert again(TEXT, model_only=True)
    assert not again(TEXT, model_only=True, send=True)
    assert again("Who has the drill?", model_only=True, send=True)
    assert again(TEXT, model_only=True, drop=True)
    turn = last_if_any(store)
    assert turn
    assert (turn.complete, turn.record["model_only"]) == (False, True)
    assert not again(TEXT, drop=True)
    assert not again("Who has the drill?", drop=True)


def test_asked_for_on_purpose_even_a_small_model_writes() -> None:
    asked = replace(
        request(unsuited=UNSUITED), model_only=AS_ASKED, options=replace(options(), model_only=True, unsuited=UNSUITED)
    )
    assert plan(asked, State()) == Action("write without files", (AS_ASKED,))


def test_the_model_writes_from_the_request_alone(database: Database) -> None:
    room = assistant(database)
    events = list(room.ask(TEXT, options()))
    answer = events[-1]
    assert isinstance(answer, Answer)
    assert answer.text == "Petra has the drill and the saw."  # the fake engine repeats the line before the last
    assert not any(isinstance(event, Found) for event in events)
    assert (answer.model_only, answer.hits, answer.evidence, answer.quoted) == (True, (), None, False)
    record = answer.as_json()
    assert (record["origin"], record["model_only"], record["sources"]) == ("device", True, [])
    assert record["trace"]["decided"] == [NO_FILE]
    assert not QAEntries(database).answers(" ".join(TEXT.split()))


def test_no_kept_answer_serves_and_none_is_kept(database: Database) -> None:
    room = assistant(database)
    question = "Who has the drill?"
    answered(room, question, options())
    kept = QAEntries(database).answers(question)
    alone = answered(room, question, replace(options(), model_only=True))
    assert alone.model_only
    assert alone.matched is None
    assert QAEntries(database).answers(question) == kept
    assert answered(room, question, options()).matched


def test_no_attention_states_are_kept(database: Database) -> None:
    room = assistant(database)
    answered(room, TEXT, options())
    assert not list(database.execute("SELECT 1 FROM kv_slices"))


def test_a_small_model_says_what_it_would_take(database: Database) -> None:
    room = assistant(database)
    small = replace(options(), unsuited=UNSUITED)
    answer = answered(room, POEM, small)
    assert answer.text == f"{UNSUITED} {A_SERVER_WRITES} {TO_FILES}"
    assert (answer.found, answer.abstained, answer.model_only) == (False, True, True)
    assert answered(room, POEM, replace(small, model_only=True)).found


def test_filters_and_days_in_a_given_text_are_text(database: Database) -> None:
    room = assistant(database)
    mail = "Translate this mail into German:\nfrom: petra on: 2026-02-30\nThe drill is yours."
    prompt = room.prompt(mail, options())
    assert prompt is not None
    assert mail in prompt.text()


def test_a_follow_up_is_read_with_what_it_follows_on(database: Database) -> None:
    room = assistant(database)
    first = answered(room, TEXT, options())
    prompt = room.prompt("And make it shorter", replace(options(), model_only=True), first.conversation_id)
    assert prompt is not None
    assert f"Earlier answer: {first.text}" in prompt.text()
    other = room.prompt(TEXT, options(), first.conversation_id)
    assert other is not None
    assert "Earlier" not in other.text()


def test_a_pasted_text_of_a_megabyte_is_refused_at_once(database: Database) -> None:
    room = assistant(database)
    with pytest.raises(UsageError, match="characters"):
        list(room.ask(f"Summarise this:\n{'word ' * 200_000}", options()))


def test_what_is_recognised_can_be_explained(database: Database) -> None:
    room = assistant(database)
    explained = room.explain(POEM, replace(options(), unsuited=UNSUITED))
    assert explained.step == Action("decline", (NO_FILE,))
    assert json.dumps(answered(room, POEM, options()).as_json())


def test_a_text_with_a_word_like_a_filter_can_be_deleted_and_marked_and_breaks_no_work_ahead(
    database: Database,
) -> None:
    device = device_over(database, Settings())
    room = device.assistant
    question = answered(room, "Who has the drill?", options())
    alone = answered(room, WITH_DATE, options(), question.conversation_id)
    assert alone.model_only
    store = room.conversations
    assert [text for _, text in store.questions(10)] == ["Who has the drill?"]
    assert CacheRecords(database).turns_after(0) == 1
    work(device)
    assert likely(device, 3, date.today())
    (turn,) = [turn for turn in store.turns(question.conversation_id or 0) if turn.question == WITH_DATE]
    assert mark_turn(device, turn).question == WITH_DATE
    store.begin(WITH_DATE, question.conversation_id)  # and one that was interrupted before anything was written
    assert forget(device, question.conversation_id or 0)
