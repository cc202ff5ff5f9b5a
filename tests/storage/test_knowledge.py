"""The tables of files, documents and passages: what is stored is read back, and nothing is left after a deletion."""

import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.types import Block, Document, Filters, Passage
from storage.database import Database
from storage.holdings import Holdings
from storage.keywords import KeywordIndex
from storage.knowledge import FileState, KnowledgeStore, PreparedDocument
from storage.passages import Ids, show
from storage.vectors import VectorIndex


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeStore:
    return KnowledgeStore(Database(tmp_path_factory.mktemp("store") / "jackdaw.db"))


def put(store: KnowledgeStore, path: bytes, *documents: Document, sha256: str = "a") -> None:
    state = FileState(path, 1, 1, sha256, "recipe")
    with store.database.transaction():
        file_id = store.open_file(state)
        for document in documents:
            cut = [Passage(block.text, number, block.line) for number, block in enumerate(document.blocks)]
            vectors = np.stack([unit(passage.text) for passage in cut])
            store.put(file_id, PreparedDocument(document, "h", cut, vectors))
        store.close_file(file_id, state, {document.key for document in documents})


def unit(text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    vector = np.random.default_rng(list(text.encode())).normal(size=8)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def note(key: str = "", *texts: str, **facts: object) -> Document:
    blocks = tuple(Block(text, line) for line, text in enumerate(texts, 1))
    return Document(key, str(facts.pop("kind", "note")), str(facts.pop("title", "A note")), blocks, **facts)  # type: ignore[arg-type]


def test_what_was_stored_comes_back(store: KnowledgeStore) -> None:
    mail = note("<1>", "Hello there.", "Bye.", kind="mail", date=datetime(2026, 3, 14, 9), people=("Ana", "Bo"))
    put(store, b"/inbox", mail)
    first, second = store.passages_of(b"/inbox")
    assert (first.text, first.line, first.ordinal, first.path) == ("Hello there.", 1, 0, "/inbox")
    assert (second.kind, second.date, second.people) == ("mail", "2026-03-14T09:00:00", ("Ana", "Bo"))
    assert store.file(b"/inbox") == FileState(b"/inbox", 1, 1, "a", "recipe")
    assert store.document_hashes(b"/inbox") == {"<1>": "h"}


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6), min_size=2, max_size=4))
def test_a_passage_that_is_the_same_keeps_its_id(
    tmp_path_factory: pytest.TempPathFactory, versions: list[list[str]]
) -> None:
    store = KnowledgeStore(Database(tmp_path_factory.mktemp("store") / "jackdaw.db"))
    known: dict[str, set[int]] = {}
    for texts in versions:
        put(store, b"/a", note("", *texts))
        passages = store.passages_of(b"/a")
        assert [(passage.text, passage.ordinal, passage.line) for passage in passages] == [
            (text, number, number + 1) for number, text in enumerate(texts)
        ]
        now: dict[str, set[int]] = {}
        for passage in passages:
            now.setdefault(passage.text, set()).add(passage.id)
        for text, ids in now.items():
            kept = min(len(ids), len(known.get(text, ())))
            assert len(ids & known.get(text, set())) == kept
        known = now
        assert store.database.problems() == []
        assert store.database.execute("SELECT COUNT(*) FROM vectors") == [(len(texts),)]


def test_a_new_title_makes_other_passages(store: KnowledgeStore) -> None:
    put(store, b"/a", note("", "The heron stood still.", title="Birds"))
    (before,) = store.passages_of(b"/a")
    put(store, b"/a", note("", "The heron stood still.", title="Herons"))
    (after,) = store.passages_of(b"/a")
    assert (after.title, after.id) == ("Herons", before.id + 1)
    assert KeywordIndex(store.database).search(["birds"], 9).tolist() == []


def test_removing_a_file_removes_every_trace_of_it(store: KnowledgeStore) -> None:
    put(store, b"/a", note("", "The heron stood still."))
    put(store, b"/b", note("", "The kettle sang."))
    store.remove_file(b"/a")
    keywords, vectors = KeywordIndex(store.database), VectorIndex(store.database)
    assert len(keywords.search(["heron"], 5)) == 0
    assert len(keywords.search(["kettle"], 5)) == 1
    assert len(vectors.cosines(unit("x")).ids) == 1
    assert store.database.problems() == []
    assert [store.totals().files, store.totals().documents, store.totals().passages] == [1, 1, 1]
    assert keywords.total() == 1


def test_a_document_that_left_its_file_is_dropped_when_the_file_is_closed(store: KnowledgeStore) -> None:
    put(store, b"/box", note("1", "One."), note("2", "Two."))
    put(store, b"/box", note("2", "Two."), note("3", "Three."), sha256="b")
    assert set(store.document_hashes(b"/box")) == {"2", "3"}
    assert [passage.text for passage in store.passages_of(b"/box")] == ["Two.", "Three."]


def test_documents_of_some_days_are_named_and_removed(store: KnowledgeStore) -> None:
    dated = [
        Document(f"day {day}", "chat", f"day {day}", (Block(f"text {day}", 0),), datetime(2026, 8, day, 23, 59))
        for day in (1, 2, 3, 4)
    ]
    put(store, b"/log", *dated, Document("no day", "note", "no day", (Block("text", 0),)))
    put(store, b"/other", dated[1])
    keys = store.keys_dated(b"/log", date(2026, 8, 2), date(2026, 8, 3))
    assert sorted(keys) == ["day 2", "day 3"]
    with store.database.transaction():
        store.remove_documents(b"/log", keys)
    assert set(store.document_hashes(b"/log")) == {"day 1", "day 4", "no day"}
    assert set(store.document_hashes(b"/other")) == {"day 2"}


def test_a_file_that_is_open_is_not_complete(store: KnowledgeStore) -> None:
    put(store, b"/box", note("1", "One."))
    store.open_file(FileState(b"/box", 2, 2, "b", "recipe"))
    known = store.file(b"/box")
    assert known is not None
    assert known.sha256 is None


def test_names_that_are_no_utf8_are_kept_and_shown(store: KnowledgeStore) -> None:
    put(store, b"/caf\xe9.txt", note("", "Coffee."))
    assert store.paths_under(b"/") == [b"/caf\xe9.txt"]
    assert show(b"/caf\xe9.txt").encode() == b"/caf?.txt"


@pytest.mark.parametrize(
    ("folder", "inside"),
    [(b"/a", {b"/a/x", b"/a/b/y"}), (b"/a/b", {b"/a/b/y"}), (b"/a/x", {b"/a/x"}), (b"/", {b"/a/x", b"/a/b/y", b"/ab"})],
)
def test_under_a_folder_means_inside_it(store: KnowledgeStore, folder: bytes, inside: set[bytes]) -> None:
    for path in (b"/a/x", b"/a/b/y", b"/ab"):
        put(store, path, note("", "Text."))
    assert set(store.paths_under(folder)) == inside


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), None),
        (Filters(people=("ana",)), {"mail"}),
        (Filters(people=("ana", "carl")), {"mail", "chat"}),
        (Filters(places=("INBOX",)), {"mail"}),
        (Filters(kinds=("chat", "note")), {"chat", "note"}),
        (Filters(after=date(2026, 3, 14)), {"mail", "chat"}),
        (Filters(before=date(2026, 3, 14)), {"mail"}),
        (Filters(people=("ana",), after=date(2026, 3, 15)), set()),
        (Filters(people=("100%_'\"",)), set()),
        (Filters(kinds=("Mail",)), {"mail"}),
        (Filters(after=date(2026, 3, 15), before=date(2026, 5, 1)), {"chat"}),
        (Filters(after=date.min, before=date.max), {"mail", "chat"}),
    ],
)
def test_filters_narrow_what_may_answer(store: KnowledgeStore, filters: Filters, expected: set[str] | None) -> None:
    put(store, b"/inbox", note("", "x", kind="mail", people=("Ana Silva",), date=datetime(2026, 3, 14, 23, 59)))
    put(store, b"/chats", note("", "x", kind="chat", people=("Carl",), date=datetime(2026, 5, 1)))
    put(store, b"/notes", note("", "x"))
    ids = store.matching(filters)
    kinds = None if ids is None else {passage.kind for passage in store.passages(ids.tolist()).values()}
    assert kinds == expected


@pytest.mark.parametrize(
    "filters",
    [
        Filters(people=("žIŽEK",)),
        Filters(people=("z\N{COMBINING CARON}iz\N{COMBINING CARON}ek",)),
        Filters(places=("ärzte",)),
        Filters(places=("A\N{COMBINING DIAERESIS}rzte",)),
        Filters(places=("STRASSE",)),
        Filters(places=("caf\udce9",)),
    ],
)
def test_filters_pay_no_regard_to_case_in_any_alphabet_nor_to_how_accents_are_put_together(
    store: KnowledgeStore, filters: Filters
) -> None:
    put(
        store,
        "/A\N{COMBINING DIAERESIS}rzte/straße".encode() + b"/caf\xe9.txt",
        note("", "x", people=("Slavoj Žižek",)),
    )
    ids = store.matching(filters)
    assert ids is not None
    assert len(ids) == 1


@given(st.datetimes(timezones=st.sampled_from([None, UTC, timezone(timedelta(hours=-9, minutes=-30))])), st.dates())
def test_a_day_is_compared_with_the_day_that_is_written(when: datetime, day: date) -> None:
    store = KnowledgeStore(_shared_database())
    put(store, b"/dated", note("", "x", date=when))
    for around in (day, when.date()):
        for filters, passes in (
            (Filters(after=around), when.date() >= around),
            (Filters(before=around), when.date() <= around),
        ):
            ids = store.matching(filters)
            assert ids is not None
            assert bool(len(ids)) is passes
    store.remove_file(b"/dated")


def test_days_are_looked_up_in_their_index(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    execute = store.database.execute
    plan: list[str] = []

    def explained(sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        plan.extend(row[3] for row in execute(f"EXPLAIN QUERY PLAN {sql}", parameters))
        return execute(sql, parameters)

    monkeypatch.setattr(store.database, "execute", explained)
    store.matching(Filters(after=date(2026, 3, 14), before=date(2026, 3, 14)))
    assert any("documents_by_date (date>? AND date<?)" in step for step in plan), plan


@given(st.text(max_size=40))
def test_any_term_is_looked_up_literally(term: str) -> None:
    # Nothing in it is query syntax, so nothing in it is an error.
    index = KeywordIndex(_shared_database())
    assert len(index.search([term], 5)) == index.held(term, 5) <= 5


def test_keywords_rank_and_obey_the_limits(store: KnowledgeStore) -> None:
    put(store, b"/a", note("", "blue kettle", "a kettle, a kettle and a blue kettle", "red pot"))
    index = KeywordIndex(store.database)
    ids = index.search(["kettles", "blue"], 5)
    passages = store.passages(ids.tolist())
    assert [passages[identity].text for identity in ids.tolist()] == [
        "blue kettle",
        "a kettle, a kettle and a blue kettle",
    ]
    assert list(index.search(["kettle"], 5, among=ids[1:])) == [ids[1]]
    assert len(index.search([], 5)) == len(index.search(["kettle"], 5, among=ids[:0])) == 0
    assert [index.held("kettle", most) for most in (1, 5)] == [1, 2]


def test_a_restricted_search_costs_little_more_than_a_free_one(store: KnowledgeStore) -> None:
    put(store, b"/a", note("", *(f"the kettle number {number}" for number in range(3000))))
    index = KeywordIndex(store.database)
    among = np.array([passage.id for passage in store.passages_of(b"/a")])

    def seconds(among: Ids | None) -> float:
        begin = time.perf_counter()
        index.search(["kettle"], 5, among=among)
        return time.perf_counter() - begin

    assert min(seconds(among) for _ in range(3)) < 10 * min(seconds(None) for _ in range(3)) + 0.02


@given(st.lists(st.text("abcdef", min_size=1, max_size=6), min_size=1, max_size=30, unique=True), st.integers(1, 40))
def test_vector_search_is_exact(texts: list[str], count: int) -> None:
    database = _shared_database()
    store = KnowledgeStore(database)
    store.remove_file(b"/v")
    put(store, b"/v", note("", *texts))
    index = VectorIndex(database)
    cosines = index.cosines(unit("query"))
    ids = cosines.best(count)
    expected = sorted((float(unit(text) @ unit("query")) for text in texts), reverse=True)[:count]
    assert np.allclose(cosines.of(ids), expected, atol=1e-6)
    assert cosines.of(np.array([10**9])).tolist() == [-1.0]
    assert cosines.best(count, among=ids[-1:]).tolist() == ids[-1:].tolist()


def test_an_index_follows_what_others_store_and_remove(store: KnowledgeStore) -> None:
    other = KnowledgeStore(Database(store.database.path))
    index = VectorIndex(store.database)
    assert len(index.cosines(unit("x")).best(9)) == 0
    put(other, b"/a", note("", "one", "two"))
    put(other, b"/b", note("", "three"))
    assert len(index.cosines(unit("x")).best(9)) == 3
    other.remove_file(b"/a")
    put(other, b"/c", note("", "four"))
    texts = {passage.text for passage in store.passages(index.cosines(unit("x")).best(9).tolist()).values()}
    assert texts == {"three", "four"}


_DATABASES: list[Database] = []


def _shared_database() -> Database:
    if not _DATABASES:
        import tempfile
        from pathlib import Path

        _DATABASES.append(Database(Path(tempfile.mkdtemp()) / "jackdaw.db"))
    return _DATABASES[0]


def test_folders_and_the_files_beside_them_are_told_with_what_they_hold(store: KnowledgeStore) -> None:
    store.remember_folder(b"/notes")
    store.remember_folder(b"/empty")
    put(store, b"/notes/a.md", note("", "one", "two"))
    put(store, b"/notes/in/b.md", note("", "three"))
    put(store, b"/notes more/c.md", note("", "four"))
    store.note_skipped(b"/notes/scan.pdf", "broken PDF")
    store.note_skipped(b"/gone.md", "no such file")
    rows = [
        (holding.path, holding.files, holding.passages, holding.skipped, holding.is_folder)
        for holding in Holdings(store.database).all()
    ]
    assert rows == [
        (b"/empty", 0, 0, 0, True),
        (b"/gone.md", 0, 0, 1, False),
        (b"/notes", 2, 3, 1, True),
        (b"/notes more/c.md", 1, 1, 0, False),
    ]
    assert [bool(holding.changed_at) for holding in Holdings(store.database).all()] == [False, False, True, True]
    store.remember_folder(b"/")
    first = Holdings(store.database).all()[0]
    assert (first.path, first.files, first.skipped) == (b"/", 3, 2)


def test_the_files_of_a_folder_come_in_pages_those_that_could_not_be_read_first(store: KnowledgeStore) -> None:
    put(store, b"/notes/b.md", note("", "one", "two"))
    put(store, b"/notes/a.md", note("", "three"))
    put(store, b"/elsewhere.md", note("", "four"))
    store.note_skipped(b"/notes/z.pdf", "broken PDF")
    listed = [(file.path, file.passages, file.reason) for file in Holdings(store.database).files_under(b"/notes", 10)]
    assert listed == [(b"/notes/z.pdf", 0, "broken PDF"), (b"/notes/a.md", 1, None), (b"/notes/b.md", 2, None)]
    assert [file.path for file in Holdings(store.database).files_under(b"/notes", 1, 1)] == [b"/notes/a.md"]
    assert [passage.text for passage in store.passages_of(b"/notes/b.md", 1)] == ["one"]


def test_passages_are_spread_over_files_and_kinds(store: KnowledgeStore) -> None:
    for number in range(40):
        put(store, b"/%d.md" % number, note("", f"note {number}", "its second passage"))
    put(store, b"/mail.eml", note("", "a mail", kind="mail"))
    spread = store.spread(8)
    assert 4 <= len(spread) <= 12
    assert {passage.kind for passage in spread} == {"note", "mail"}
    assert all(passage.ordinal == 0 for passage in spread)


def test_the_text_of_all_files_is_at_most_their_size_and_that_of_their_passages(store: KnowledgeStore) -> None:
    assert store.text_bytes() == 0
    put(store, b"/notes/a.md", note("", "one", "two"))
    size = store.database.execute("SELECT size FROM files")[0][0]
    assert store.text_bytes() == min(size, 2000) > 0
    store.database.execute("UPDATE files SET size = 5000000")
    assert store.text_bytes() == 2000


def test_what_was_first_read_since_yesterday_is_new(store: KnowledgeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def on(day: int) -> None:
        monkeypatch.setattr("storage.knowledge._now", lambda: f"2026-11-{day:02}T09:00:00+00:00")

    def mails(*days: int) -> list[Document]:
        return [
            note(f"<{day}>", "Hello.", kind="mail", title=f"Mail {day}", date=datetime(2026, 11, day, 8))
            for day in days
        ]

    since, today = datetime(2026, 11, 24, tzinfo=UTC), date(2026, 11, 25)
    on(20)
    put(store, b"/inbox", *mails(10, 11))
    assert store.new_since(since, today) is None
    on(24)
    put(store, b"/inbox", *mails(10, 11, 23))
    assert store.new_since(since, today) is None  # no other file tells old from new
    put(store, b"/inbox", *mails(10, 11))
    on(20)
    put(store, b"/notes", note("", "Old."))
    on(25)
    put(store, b"/inbox", *mails(10, 11, 23, 22))
    put(store, b"/dates", note("e", "Then.", kind="event", title="Party", date=datetime(2026, 12, 24, 8)))
    new = store.new_since(since, today)
    assert new
    assert new.kinds == {"mail": 2, "event": 1}
    assert new.newest.title == "Mail 23"


def test_dated_passages_are_those_that_match_of_kinds_and_days_the_latest_first(store: KnowledgeStore) -> None:
    for day in (9, 10, 11, 12):
        mail = note(f"<{day}>", f"Moved {day}.", kind="mail", title="A", date=datetime(2026, 11, day, 23, 59))
        put(store, b"/%d.eml" % day, mail)
    put(store, b"/b.md", note("", "Moved too.", date=datetime(2026, 11, 11)))
    put(store, b"/c.eml", note("", "Nothing.", kind="mail", date=datetime(2026, 11, 11)))

    def texts(most: int, *kinds: str) -> list[str]:
        dated = store.dated('"moved"', kinds, date(2026, 11, 10), date(2026, 11, 11), most)
        return [passage.text for passage in dated]

    assert texts(9, "mail") == ["Moved 11.", "Moved 10."]
    assert texts(9, "mail", "note") == ["Moved 11.", "Moved too.", "Moved 10."]
    assert texts(1, "mail") == ["Moved 11."]
    assert texts(9) == []
