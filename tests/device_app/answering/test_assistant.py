"""The assistant, on a real store with a fake engine and embedder: the answers that it gives to questions."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from device_app.inference.local import LocalSource
from device_app.knowledge.ingest import Ingestion
from device_app.question.answer import NOTHING_FOUND, Answer, Found, Wrote
from models.fake import FakeEmbedder, FakeEngine
from shared.errors import ContextFull, EngineError, StoreError, UsageError
from shared.prompt import CHATML
from storage.cache_records import CacheRecords
from storage.conversations import ConversationStore
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.conftest import NOTES, answered, assistant, options

STEPS = ["look up", "retrieve", "load", "prefill", "decode", "evidence"]


class MuteEngine(FakeEngine):
    """A fake engine that ends every answer at once: every token counts as the end."""

    def is_end(self, token: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("question", "text", "file"),
    [
        ("Who has the drill?", "Petra has borrowed the blue drill.", "drill.md"),
        ("When does the dentist see me?", "The dentist sees me on Tuesday at nine.", "dentist.md"),
    ],
)
@pytest.mark.parametrize("arrangement", ["prompt", "rows"])
def test_an_answer_comes_from_the_passage_that_holds_it(
    database: Database, question: str, text: str, file: str, arrangement: str
) -> None:
    answer = answered(assistant(database), question, options(arrangement=arrangement))
    assert answer.text == text
    assert answer.hits[0].passage.path.endswith(file)
    assert answer.evidence is not None
    assert (answer.evidence.source, answer.evidence.sentence) == (1, text)


def test_the_stream_is_what_was_found_then_text_then_the_answer(database: Database) -> None:
    events = list(assistant(database).ask("Who has the drill?", options()))
    assert isinstance(events[0], Found)
    assert isinstance(events[-1], Answer)
    pieces = [event.text for event in events[1:-1] if isinstance(event, Wrote)]
    assert len(pieces) == len(events) - 2
    assert "".join(pieces).strip() == events[-1].text


def test_the_record_has_the_contract_of_ask_json(database: Database) -> None:
    record = answered(assistant(database), "Who has the drill?", options()).as_json()
    assert {"answer", "origin", "sources", "cache", "trace", "egress", "model"} <= set(record)
    assert {"id", "path", "title", "snippet", "score", "side"} <= set(record["sources"][0])
    assert {"hit", "similarity", "matched"} <= set(record["cache"]["qa"])
    assert set(record["cache"]["kv"]) == {
        *("segments_cached", "tokens_cached", "segments_moved", "tokens_moved"),
        *("tokens_recomputed", "tokens_prefilled"),
    }
    assert record["cache"]["kv"]["tokens_prefilled"] > 0
    assert [step["name"] for step in record["trace"]["steps"]] == STEPS
    assert 0 < record["trace"]["ttft_ms"] <= record["trace"]["total_ms"]
    assert (record["origin"], record["egress"], record["found"]) == ("device", {"bytes": 0, "items": []}, True)
    assert record["abstained"] is False


def test_where_nothing_is_relevant_the_model_is_not_asked(database: Database) -> None:
    def never() -> LocalSource:
        raise AssertionError("the model was loaded")

    answer = answered(assistant(database, never), "zeppelin", options(relevance=0.9))
    assert (answer.text, answer.found, answer.hits) == (NOTHING_FOUND, False, ())
    assert answer.as_json()["abstained"] is True


def test_a_copy_is_named_with_its_source(database: Database, tmp_path: Path) -> None:
    (tmp_path / "notes" / "drill copy.md").write_text(NOTES["drill.md"])
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "notes"])
    (source,) = answered(assistant(database), "Who has the drill?", options()).as_json()["sources"]
    assert {Path(path).name for path in (source["path"], *source["copies"])} == {"drill.md", "drill copy.md"}


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    assert not answered(assistant(Database(tmp_path / "empty.db")), "Who?", options()).found


def test_what_the_caches_did_stays_counted_though_what_it_was_counted_of_is_gone(database: Database) -> None:
    room = assistant(database)
    first = answered(room, "When does the dentist see me?", options())
    answered(room, "When does the dentist see me?", options())
    (day,) = CacheRecords(database).days("2000-01-01")
    assert (day.questions, day.hits, day.tokens_joined) == (2, 1, first.trace.tokens_cached)
    assert 0 < day.tokens_prefilled == first.trace.tokens_prefilled
    room.bank.clear()
    room.conversations.delete(first.conversation_id)
    assert CacheRecords(database).days("2000-01-01") == [day]
    all_told = room.bank.counters.all()
    assert (all_told["questions"], all_told["qa_hits"], all_told["qa_ms_saved"]) == (2, 1, day.ms_saved)


def test_passages_that_do_not_fit_are_left_out_from_the_weakest(database: Database) -> None:
    asked = ("Who has the drill?", options(3, max_tokens=60, relevance=0))
    prompt = assistant(database).prompt(*asked)
    assert prompt is not None
    small = LocalSource(FakeEngine(context=LocalSource(FakeEngine(), CHATML).count(prompt) + 30), CHATML)
    answer = answered(assistant(database, lambda: small), *asked)
    assert len(answer.hits) == 2
    assert answer.hits[0].passage.path.endswith("drill.md")


def test_a_long_answer_asked_for_costs_no_passage(database: Database) -> None:
    answer = answered(assistant(database), "Who has the drill?", options(3, max_tokens=8192, relevance=0))
    assert len(answer.hits) == 3
    assert answer.text == answered(assistant(database), "Who has the drill?", options(3, relevance=0)).text


@pytest.mark.parametrize("arrangement", ["prompt", "rows"])
def test_where_the_room_is_short_the_answer_is_cut(database: Database, arrangement: str) -> None:
    asked = ("Who has the drill?", options(arrangement=arrangement, fresh=True))
    prompt = assistant(database).prompt(*asked)
    assert prompt is not None
    taken = LocalSource(FakeEngine(), CHATML).count(prompt)
    tight = LocalSource(FakeEngine(context=taken + 10), CHATML)
    assert answered(assistant(database, lambda: tight), *asked).text == "Petra has"
    full = LocalSource(FakeEngine(context=taken - 1), CHATML)
    with pytest.raises(ContextFull, match=r"raise model\.context"):
        answered(assistant(database, lambda: full), *asked)


def test_an_answer_is_cut_at_max_tokens(database: Database) -> None:
    answer = answered(assistant(database), "Who has the drill?", options(max_tokens=5))
    assert (answer.text, answer.cut, answer.as_json()["cut"]) == ("Petra", True, True)
    assert not answered(assistant(database), "Who has the drill?", options(fresh=True)).cut


def test_a_stream_that_is_dropped_leaves_the_partial_answer_marked(database: Database) -> None:
    room = assistant(database)
    stream = room.ask("Who has the drill?", options())
    text = ""
    for event in stream:
        if isinstance(event, Wrote):
            text += event.text
            if len(text) == 5:
                break
    stream.close()  # type: ignore[attr-defined]
    conversation = room.conversations.latest()
    assert conversation is not None
    (turn,) = room.conversations.turns(conversation)
    assert (turn.answer, turn.complete) == ("Petra", False)


def test_what_is_shown_stands_in_the_history_before_it_is_shown(database: Database) -> None:
    """A process may be killed at any moment. The stream is not closed before the history is read."""
    room = assistant(database)
    text = ""
    for event in (stream := room.ask("Who has the drill?", options())):
        if isinstance(event, Wrote):
            text += event.text
            (turn,) = room.conversations.turns(room.conversations.latest() or 0)
            assert (turn.answer, turn.complete) == (text.strip(), False)
    (turn,) = room.conversations.turns(room.conversations.latest() or 0)
    assert (turn.answer, turn.complete) == (text, True)
    stream.close()  # type: ignore[attr-defined]


def test_a_history_that_cannot_be_written_meanwhile_costs_no_answer(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, write = assistant(database), ConversationStore.write

    def written(store: ConversationStore, turn: int, answer: str, record: Any = None, **how: Any) -> None:
        if record is None:
            raise StoreError("locked")
        write(store, turn, answer, record, **how)

    monkeypatch.setattr(ConversationStore, "write", written)
    answer = answered(room, "Who has the drill?", options())
    assert [turn.answer for turn in room.conversations.turns(answer.conversation_id or 0)] == [answer.text]


def test_a_wrong_question_is_refused_and_leaves_no_trace(database: Database) -> None:
    room = assistant(database)
    with pytest.raises(UsageError):
        answered(room, "x" * 50_000, options())
    assert room.conversations.latest() is None


def test_the_steps_of_an_answer_that_is_ended_early_are_whole(database: Database, tmp_path: Path) -> None:
    (tmp_path / "notes" / "saw.md").write_text("Petra has the old saw. " * 4)
    Ingestion(KnowledgeStore(database), FakeEmbedder()).run([tmp_path / "notes"])
    answer = answered(assistant(database), "Who has the old saw?", options())
    assert answer.text == "Petra has the old saw."
    assert [name for name, _ in answer.trace.steps] == STEPS


def test_a_model_that_writes_nothing_is_told_and_leaves_no_answer(database: Database) -> None:
    room = assistant(database, lambda: LocalSource(MuteEngine(), CHATML))
    with pytest.raises(EngineError, match=r"wrote nothing.*--temperature 0\.7.*another model"):
        answered(room, "Who has the drill?", options())
    conversation = room.conversations.latest()
    assert conversation is not None
    (turn,) = room.conversations.turns(conversation)
    assert (turn.answer, turn.complete) == ("", False)


def test_history_holds_what_was_printed(database: Database) -> None:
    room = assistant(database)
    answer = answered(room, "Who has the drill?", options())
    (turn,) = room.conversations.turns(answer.conversation_id)
    assert (turn.answer, turn.complete) == (answer.text, True)
    assert turn.record["sources"][0]["path"].endswith("drill.md")
    assert datetime.fromisoformat(turn.asked_at).tzinfo is not None


def test_weights_that_follow_the_text_change_no_answer_before_they_are_due_and_send_nothing(database: Database) -> None:
    asked = options(passages=3, arrangement="rows", relevance=0.0)
    plain = answered(assistant(database), "Who has the drill?", asked)
    for every in (1, 8, 1024):
        answer = answered(assistant(database), "Who has the drill?", replace(asked, weights_every=every, fresh=True))
        assert not answer.as_json()["egress"]["bytes"]
        if every == 1024:
            assert answer.text == plain.text
