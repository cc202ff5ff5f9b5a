"""The contents and savings of the caches, as read for display."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from storage import counters
from storage.cache_records import CacheRecords, Day
from storage.database import Database
from storage.kv_slices import KVSlices
from storage.qa_entries import Origin, QAEntries

VECTOR = np.ones(4, np.float32)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "jackdaw.db")
    yield database
    database.close()


@pytest.fixture
def records(database: Database) -> CacheRecords:
    return CacheRecords(database)


def _keep(
    database: Database, question: str, answer: str | None = "Petra.", *, origin: Origin = "asked", uses: int = 0
) -> int:
    entries = QAEntries(database)
    kept = entries.put(
        question, "[]", "fake", VECTOR, origin, answer=answer, record={}, sources=[], newest_passage=0, cost_ms=2000.0
    )
    for _ in range(uses):
        entries.used(kept)
    return kept


class _Clock(date):
    """A stand-in for `date` that shows the day a test sets."""

    shown = "2026-11-19"

    @classmethod
    def today(cls) -> "_Clock":
        return cls.fromisoformat(cls.shown)


def test_a_day_says_what_was_answered_before_and_what_that_spared(
    records: CacheRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counters, "date", _Clock)
    counted = counters.Counters(records.database)
    for day in ("2026-10-01", "2026-11-19", "2026-11-20"):
        monkeypatch.setattr(_Clock, "shown", day)
        counted.add(questions=1, kv_tokens_saved=60, kv_tokens_computed=100)
    counted.add(questions=1, kv_evictions=3)
    counted.add(qa_hits=1, qa_ms_saved=1980.5)
    assert records.days("2026-11-01") == [
        Day("2026-11-19", 1, 0, 0.0, 60, 100),
        Day("2026-11-20", 2, 1, 1980.5, 60, 100),
    ]
    assert counted.all()["questions"] == 4


def test_answers_come_the_most_used_first_and_hold_all_the_words(records: CacheRecords) -> None:
    drill = _keep(records.database, "Who has the DRILL?", "Petra, since Élodie moved.")
    saw = _keep(records.database, "Who has the saw?", uses=2)
    assert records.entries() == [saw, drill]
    assert records.entries("petra drill") == [drill]
    assert records.entries("élodie") == [drill]
    assert records.entries("drill saw") == []
    assert records.entries("100%") == []


def test_only_what_was_predicted_answered_and_never_asked_is_suggested(records: CacheRecords) -> None:
    entries = QAEntries(records.database)
    first = _keep(records.database, "Who has the drill?", origin="predicted")
    last = _keep(records.database, "Who has the saw?", origin="predicted")
    stale = _keep(records.database, "Where is the saw?", origin="predicted")
    entries.check(stale, 1, stale=True)
    _keep(records.database, "When is it?", origin="predicted", uses=1)
    _keep(records.database, "Who is it?", origin="asked")
    entries.wait("What waits?", "[]", "fake", VECTOR, "predicted")
    assert records.predicted("fake", 10) == [last, first]
    assert records.predicted("other", 10) == []
    entries.wait("What waits?", "[]", "other", VECTOR, "predicted")
    assert (records.unanswered("fake"), records.unanswered("other"), records.unanswered("none")) == (2, 1, 0)
    assert set(records.vectors([first])) == {first}
    assert records.asked(["Who is it?", "What waits?"]).keys() == {"Who is it?"}


def test_of_what_was_answered_from_a_passage_that_which_it_does_not_tell_is_none(records: CacheRecords) -> None:
    message = _keep(records.database, "Who has the drill?")
    untold = _keep(records.database, "What did the drill cost?", None)
    for entry in (message, untold):
        records.database.execute("INSERT INTO qa_sources VALUES (?, 7)", (entry,))
    assert records.served(7, 5) == ["Who has the drill?"]


def test_the_most_used_are_listed_first_and_say_why_one_has_no_answer(records: CacheRecords) -> None:
    _keep(records.database, "Who has the drill?")
    failed = _keep(records.database, "What did the drill cost?", None)
    QAEntries(records.database).fail(failed, "too long", 0)
    QAEntries(records.database).used(failed)
    first, second = records.most_used(5)
    assert (first["question"], first["answer"], first["failed"], first["uses"]) == (
        "What did the drill cost?",
        None,
        "too long",
        1,
    )
    assert (second["question"], second["failed"], second["stale"]) == ("Who has the drill?", None, False)
    assert records.most_used(1) == [first]


def test_states_are_added_up_by_passage(records: CacheRecords) -> None:
    rows = KVSlices(records.database)
    for name, passage, tokens in (("root", None, 30), ("a", 7, 100), ("b", 7, 100), ("c", 8, 50)):
        rows.put(name, None, "fake", passage, tokens, tokens * 10)
    rows.used(["a", "b", "b"])
    totals = records.states_totals()
    assert (totals.slices, totals.passages, totals.tokens, totals.bytes) == (4, 3, 280, 2800)
    assert records.passages()[0] == 7
    assert set(records.passages()) == {0, 7, 8}
    kept = records.states([7, 9])
    assert list(kept) == [7]
    assert (kept[7].slices, kept[7].tokens, kept[7].size, kept[7].uses, kept[7].title) == (2, 200, 2000, 3, None)
    assert records.passages("no such words") == []
