"""The tables of the answer cache: an answer replaces a waiting question, and becomes stale in the transaction that
deletes its passage.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.types import Block, Document, Passage
from storage.database import Database
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from storage.qa_entries import Entry, Origin, QAEntries, Totals

VECTOR = np.eye(1, 8, dtype=np.float32)[0]


@pytest.fixture
def entries(tmp_path: Path) -> QAEntries:
    return QAEntries(Database(tmp_path / "jackdaw.db"))


def put(entries: QAEntries, question: str, answer: str = "Yes.", sources: Sequence[int] = (), **facts: Any) -> int:
    return entries.put(
        question,
        facts.pop("scope", ""),
        facts.pop("fingerprint", "r"),
        VECTOR,
        facts.pop("origin", "predicted"),
        answer=answer,
        record=facts.pop("record", {}),
        sources=sources,
        newest_passage=facts.pop("newest_passage", 0),
        cost_ms=facts.pop("cost_ms", 10.0),
    )


def only(entries: QAEntries) -> Entry:
    (entry,) = entries.all()
    return entry


def read(entries: QAEntries, count: int) -> tuple[KnowledgeStore, list[int]]:
    """Store passages; return the store and the passages' ids."""
    store = KnowledgeStore(entries.database)
    state = FileState(b"/a", 1, 1, "a", "recipe")
    passages = [Passage(f"Text {number}.", number) for number in range(count)]
    document = Document("", "note", "A note", tuple(Block(passage.text) for passage in passages))
    with entries.database.transaction():
        file = store.open_file(state)
        store.put(file, PreparedDocument(document, "h", passages, np.tile(VECTOR, (count, 1))))
        store.close_file(file, state, {""})
    return store, [passage.id for passage in store.passages_of(b"/a")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    question=st.text(st.characters(exclude_categories=["Cs"])),
    answer=st.text(st.characters(exclude_categories=["Cs"])),
    record=st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.booleans(), max_size=3),
)
def test_what_was_put_comes_back(entries: QAEntries, question: str, answer: str, record: dict[str, Any]) -> None:
    entry = entries.get([put(entries, question, answer, record=record, cost_ms=1.5, newest_passage=9)])
    (value,) = entry.values()
    assert (value.question, value.answer, value.record, value.cost_ms, value.newest_passage, value.stale) == (
        *(question, answer, record, 1.5, 9, False),
    )
    assert value.bytes > len(question.encode()) + len(answer.encode()) + VECTOR.nbytes


def test_a_question_waits_until_it_is_answered(entries: QAEntries) -> None:
    waiting = entries.wait("Who?", "", "r", VECTOR, "predicted")
    assert entries.wait("Who?", "", "r", VECTOR, "predicted") == waiting
    assert [entry.id for entry in entries.unanswered("r")] == [waiting]
    assert entries.unanswered("another fingerprint") == []
    assert put(entries, "Who?") == waiting
    assert entries.unanswered("r") == []
    assert entries.wait("Who?", "", "r", VECTOR, "predicted") == waiting
    assert only(entries).answer == "Yes."


@pytest.mark.parametrize(
    ("first", "then", "origin"),
    [
        ("asked", "predicted", "asked"),
        ("predicted", "asked", "asked"),
        ("predicted", "predicted", "predicted"),
    ],
)
def test_what_was_asked_once_counts_as_asked(entries: QAEntries, first: Origin, then: Origin, origin: Origin) -> None:
    put(entries, "Who?", origin=first)
    put(entries, "Who?", origin=then)
    assert only(entries).origin == origin


def test_scope_and_fingerprint_tell_entries_apart(entries: QAEntries) -> None:
    ids = {
        put(entries, "Who?", scope=scope, fingerprint=fingerprint)
        for scope in ("", "in:/a")
        for fingerprint in ("r", "s")
    }
    assert len(ids) == 4
    assert entries.bytes() == sum(entry.bytes for entry in entries.all())


def test_what_was_asked_is_answered_before_what_was_predicted(entries: QAEntries) -> None:
    predicted = entries.wait("A?", "", "r", VECTOR, "predicted")
    used = entries.wait("B?", "", "r", VECTOR, "predicted")
    asked = entries.wait("C?", "", "r", VECTOR, "asked")
    entries.used(used)
    assert [entry.id for entry in entries.unanswered("r")] == [asked, used, predicted]


def test_what_was_drawn_from_a_passage_goes_with_it(entries: QAEntries) -> None:
    store, passages = read(entries, 3)
    asked = put(entries, "Who?", sources=passages, origin="asked", record={"answer": "Yes."})
    other = put(entries, "When?")
    put(entries, "What?", sources=passages[1:])
    store.remove_file(b"/a")
    left = {entry.id: (entry.stale, entry.answer, entry.record) for entry in entries.all()}
    assert left == {asked: (True, None, {}), other: (False, "Yes.", {})}
    assert [entry.id for entry in entries.unanswered("r")] == [asked]


def test_an_answer_whose_passages_went_while_it_was_written_is_not_kept(entries: QAEntries) -> None:
    store, passages = read(entries, 1)
    store.remove_file(b"/a")
    put(entries, "Who?", sources=passages, record={"answer": "Yes."})
    entry = only(entries)
    assert (entry.stale, entry.answer, entry.record) == (True, None, {})
    put(entries, "Who?", sources=[])
    assert not only(entries).stale


def test_an_answer_is_checked_against_newer_passages_once(entries: QAEntries) -> None:
    entry = put(entries, "Who?", newest_passage=3)
    entries.wait("When?", "", "r", VECTOR, "asked")
    assert [entry_.id for entry_ in entries.unchecked(5)] == [entry]
    entries.check(entry, 5, stale=False)
    assert entries.unchecked(5) == []
    entries.check(entry, 5, stale=True)
    assert entries.unchecked(9) == []


def test_a_question_without_an_answer_waits_again_once_something_newer_bears_on_it(entries: QAEntries) -> None:
    entry = entries.wait("Who?", "", "r", VECTOR, "asked")
    entries.fail(entry, "The model wrote nothing.", 3)
    assert (entries.unchecked(3), [entry_.id for entry_ in entries.unchecked(5)]) == ([], [entry])
    entries.check(entry, 5, stale=False)
    assert (entries.unchecked(5), entries.unanswered("r"), only(entries).failed) == ([], [], "The model wrote nothing.")
    entries.check(entry, 7, stale=True)
    assert (entries.unchecked(9), [entry_.id for entry_ in entries.unanswered("r")]) == ([], [entry])
    assert (only(entries).failed, entries.totals().waiting) == (None, 1)


def test_an_answer_to_the_very_words_is_known_of_while_it_holds(entries: QAEntries) -> None:
    entry = entries.wait("Who?", "", "r", VECTOR, "asked")
    assert not entries.answers("Who?")
    put(entries, "Who?")
    assert (entries.answers("Who?"), entries.answers("When?")) == (True, False)
    entries.check(entry, 1, stale=True)
    assert not entries.answers("Who?")


def test_what_was_answered_meanwhile_has_not_failed(entries: QAEntries) -> None:
    entry = entries.wait("Who?", "", "r", VECTOR, "asked")
    put(entries, "Who?")
    entries.fail(entry, "The model wrote nothing.", 0)
    assert (only(entries).answer, only(entries).failed) == ("Yes.", None)


def test_totals_tell_what_there_is(entries: QAEntries) -> None:
    assert entries.totals() == Totals(0, 0, 0, 0, 0, 0, 0)
    put(entries, "Who?")
    entries.check(put(entries, "When?", origin="asked"), 1, stale=True)
    entries.wait("Where?", "", "r", VECTOR, "predicted")
    entries.fail(entries.wait("Why?", "", "r", VECTOR, "asked"), "The model wrote nothing.", 0)
    assert entries.totals() == Totals(
        entries=4, answered=2, waiting=1, failed=1, stale=1, predicted=2, bytes=entries.bytes()
    )


def test_deleting_an_entry_leaves_nothing_of_it(entries: QAEntries) -> None:
    entries.delete([put(entries, "Who?", sources=[1, 2])])
    for table in ("qa_entries", "qa_vectors", "qa_sources"):
        assert entries.database.execute(f"SELECT COUNT(*) FROM {table}") == [(0,)]
    assert entries.database.execute("SELECT count FROM removals WHERE name = 'qa_entries'") == [(1,)]
