"""Keywords, vectors and days, searched together on a real store."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from device_app.english.query import Query, parse
from device_app.knowledge.ingest import Ingestion
from device_app.knowledge.known_people import known_people
from device_app.knowledge.retriever import Retriever, over
from models.fake import FakeEmbedder
from shared.types import Filters
from storage.database import Database
from storage.knowledge import KnowledgeStore

TODAY = date(2026, 11, 21)
DIARY = {
    "2026-03-12.md": "Porridge for breakfast, then a long walk with Petra.",
    "2026-03-14.md": "The boiler broke. Rain all day.",
    "2026-03-20.md": "Rain all day. Nothing broke in the rain.",
    "2026-04-14.md": "Breakfast with Petra on the balcony, and a walk.",
    "letter.md": "Breakfast is served at seven, a walk follows, says Petra.",
}


@pytest.fixture
def retriever(tmp_path: Path) -> Retriever:
    database = Database(tmp_path / "jackdaw.db")
    diary = tmp_path / "diary"
    diary.mkdir()
    january = {f"2026-01-{day:02}.md": f"Nothing but sleet, {day} inches." for day in range(1, 31)}
    for name, text in (DIARY | january).items():
        (diary / name).write_text(f"# Diary\n\n{text}\n")
    embedder = FakeEmbedder()
    store = KnowledgeStore(database)
    Ingestion(store, embedder).run([diary])
    return over(store, embedder, known_people(database))


def texts(retriever: Retriever, question: str, count: int = 1) -> Sequence[str]:
    return [Path(hit.passage.path).name for hit in retriever.search(parse(question, TODAY), count)]


def test_a_day_in_the_question_finds_what_is_from_that_day(retriever: Retriever) -> None:
    assert texts(retriever, "What broke in the rain on 14 March 2026?") == ["2026-03-14.md"]
    assert texts(retriever, "What did I have for breakfast with Petra on 14 April?") == ["2026-04-14.md"]
    assert set(texts(retriever, "What did I do in March?", 3)) == {"2026-03-12.md", "2026-03-14.md", "2026-03-20.md"}


def test_a_day_prefers_but_does_not_exclude(retriever: Retriever) -> None:
    assert "letter.md" in texts(retriever, "Was there breakfast on 14 March 2026?", 9)


def test_a_span_that_covers_most_of_the_store_says_little(retriever: Retriever) -> None:
    assert texts(retriever, "When is breakfast served this year?") == ["letter.md"]


def test_a_filter_holds_whatever_day_is_named(retriever: Retriever) -> None:
    assert texts(retriever, "in:letter.md breakfast on 14 March 2026", 9) == ["letter.md"]
    assert texts(retriever, "after:2026-03 before:2026-03-13 breakfast on 14 March 2026", 9) == ["2026-03-12.md"]


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ("What is on 14 March 2026?", {"2026-03-14.md"}),
        ("What happened in April 2026?", {"2026-04-14.md"}),
        ("What is on today?", set()),
        ("What are my plans for tomorrow?", set()),
        ("on:2026-03-20 what was there?", {"2026-03-20.md"}),
        ("in:letter.md what is it?", {"letter.md"}),
        ("in:letter.md what is on 14 March 2026?", set()),
    ],
)
def test_a_question_for_whatever_there_is_finds_just_that(retriever: Retriever, question: str, files: set[str]) -> None:
    assert set(texts(retriever, question, 9)) == files


def test_no_passage_is_scored_below_the_least_relevance(retriever: Retriever) -> None:
    hits = retriever.search(Query("walk with Petra"), 9)
    least = hits[1].score
    assert [hit.score for hit in retriever.search(Query("walk with Petra"), 9, least)] == [
        hit.score for hit in hits if hit.score >= least
    ]
    assert retriever.search(Query("walk", Filters(kinds=("mail",))), 9) == []
