"""The look-ahead for a question: the same passages as without it, but sooner; and no cluster stays reserved
afterwards.
"""

import gc
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cloud_server.retrieval.corpus import Ticket, Vector
from cloud_server.retrieval.lookahead import MOST_OF_OWN, LookaheadMode, budget
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.tickets import IndexTicket
from models.fake import FakeEmbedder
from shared.errors import StoreCorrupt
from storage.ivf_files import LISTS
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.faults import until

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

PASSAGES = 60


def vector(text: str) -> Vector:
    embedded: Vector = FakeEmbedder().embed([text])[0]
    return embedded


@pytest.fixture
def index(builder: Make, source: Write, tmp_path: Path) -> Path:
    """An index of a few clusters."""
    builder(shard_passages=64).build([source(facts=numbered(PASSAGES))])
    return tmp_path / "index"


def corpus_of(index: Path, probes: int = 4, mode: LookaheadMode = "progressive") -> IndexCorpus:
    return IndexCorpus(index, FakeEmbedder.fingerprint, probes, mode=mode)


def waits(ticket: IndexTicket) -> None:
    """Wait until no cluster is being read ahead or queued."""
    assert ticket._index
    ahead = ticket._index.vectors.cache.ahead
    until(lambda: not ahead._running)


def check_nothing_is_held(corpus: IndexCorpus) -> None:
    opened = corpus._current()
    assert opened
    cache = opened.vectors.cache
    until(lambda: not cache.ahead._running)
    assert not cache.ahead.held()
    assert {resident.pins for resident in cache._residents} <= {0}


@pytest.mark.parametrize("mode", ["paper", "progressive"])
def test_the_passages_are_those_of_a_search_without_it(index: Path, mode: LookaheadMode) -> None:
    plain, ahead = corpus_of(index), corpus_of(index, mode=mode)
    for number in range(20):
        ticket: Ticket = ahead.look_ahead(vector(f"subject{number}"), "hyde")
        ticket.refine(vector(f"subject{number} and more"))
        asked = vector(f"subject{number} and more of it")
        assert ticket.search(asked, 5) == plain.search(asked, 5)
        ticket.close()
    check_nothing_is_held(ahead)


def test_what_was_read_ahead_covers_the_question(index: Path) -> None:
    ticket = corpus_of(index).look_ahead(vector("subject7"), "hyde")
    waits(ticket)
    assert [passage.title for passage in ticket.provisional(1)] == ["Title 7"]
    ticket.search(vector("subject7"), 3)
    coverage = ticket.coverage
    assert coverage
    assert coverage.ready == coverage.clusters > 0
    assert coverage.bytes_ready == coverage.bytes
    assert 0 < coverage.bytes_ahead <= 2 * coverage.bytes
    assert coverage.bytes_wasted == coverage.bytes_ahead - coverage.bytes


def test_who_asks_at_once_learns_that_there_is_no_time(index: Path) -> None:
    corpus = corpus_of(index)
    corpus.look_ahead(vector("subject1"), "plain").search(vector("subject1"), 3)
    corpus._times._means["plain"] = 0.0
    ticket = corpus.look_ahead(vector("subject40"), "plain")
    waits(ticket)
    ticket.search(vector("subject40"), 3)
    assert ticket.coverage
    assert ticket.coverage.bytes_ahead == 0


def test_half_of_the_budget_is_kept_for_what_is_being_written(index: Path) -> None:
    halves = {}
    for mode in ("paper", "progressive"):
        corpus = corpus_of(index, probes=6, mode=mode)
        corpus._times.learn("hyde", 100.0, is_refined=True)
        ticket = corpus.look_ahead(vector("subject1"), "hyde")
        waits(ticket)
        assert ticket._index
        assert ticket._ahead
        cache, read = ticket._index.vectors.cache, ticket._index.vectors.cache.bytes_read
        halves[mode] = sum(map(ticket._index.vectors.bytes_of, ticket._ahead.held))
        ticket.refine(vector("subject50"))
        waits(ticket)
        assert (cache.bytes_read > read) == (mode == "progressive")
        own = sum(map(ticket._index.vectors.bytes_of, ticket._index.needed(ticket._index.probe(vector("subject1")))))
        ticket.close()
    assert halves["progressive"] <= MOST_OF_OWN * own / 2 < halves["paper"]


def test_the_first_question_of_a_pipeline_reads_no_more_than_its_budget(index: Path) -> None:
    corpus = corpus_of(index, probes=1)
    ticket = corpus.look_ahead(vector("subject8"), "hyde")
    waits(ticket)
    ticket.refine(vector("subject12"))
    waits(ticket)
    opened = ticket._index
    assert opened
    own = (opened.probe(vector(f"subject{number}")) for number in (8, 12))
    most = MOST_OF_OWN * max(sum(map(opened.vectors.bytes_of, opened.vectors.present(clusters))) for clusters in own)
    ticket.search(vector("subject12"), 3)
    assert ticket.coverage
    assert 0.5 * most < ticket.coverage.bytes_ahead <= most


def test_time_in_the_queue_is_not_learned_as_time_of_writing(index: Path) -> None:
    corpus = corpus_of(index)
    for queued_s, written_s in ((500.0, 20.0), (900.0, 20.0)):
        ticket = corpus.look_ahead(vector("subject1"), "hyde")
        ticket._since -= queued_s
        ticket.starts()
        ticket._since -= written_s
        ticket.search(vector("subject2"), 1)
    assert corpus._times.mean("hyde") == pytest.approx(20.0, abs=5.0)


def test_questions_that_are_open_at_once_share_the_memory(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[int] = []

    def seen(question: int, rate: float, seconds: float | None, memory: int) -> tuple[int, int]:
        shares.append(memory)
        return budget(question, rate, seconds, memory)

    monkeypatch.setattr("cloud_server.retrieval.tickets.budget", seen)
    corpus = corpus_of(index)
    first, _second = (corpus.look_ahead(vector(f"subject{number}"), "hyde") for number in (1, 20))
    _third = corpus.look_ahead(vector("subject40"), "hyde")
    first.refine(vector("subject2"))
    first.close()
    _fourth = corpus.look_ahead(vector("subject3"), "hyde")
    whole = shares[0]
    assert shares == [whole, whole // 2, whole // 3, whole // 3, whole // 3]


def test_every_round_of_a_question_may_look_ahead(index: Path) -> None:
    corpus = corpus_of(index)
    ticket = corpus.look_ahead(vector("subject1"), "iterative")
    for number in range(2, 6):
        ticket.refine(vector(f"subject{number}"))
        waits(ticket)
        ticket.search(vector(f"subject{number}"), 1)
        assert ticket.coverage
        assert ticket.coverage.ready == ticket.coverage.clusters
    ticket.close()
    check_nothing_is_held(corpus)


def test_without_an_index_it_finds_nothing_and_after_it_was_closed_what_any_search_finds(
    tmp_path: Path, builder: Make, source: Write
) -> None:
    corpus = IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint)
    ticket = corpus.look_ahead(vector("subject1"), "hyde")
    ticket.refine(vector("subject1"))
    assert ticket.search(vector("subject1"), 3) == ticket.provisional(3) == []
    builder().build([source(facts=numbered(8))])
    assert ticket.search(vector("subject1"), 1)[0].title == "Title 1"
    ticket.close()
    ticket.refine(vector("subject2"))
    assert ticket.search(vector("subject2"), 1)[0].title == "Title 2"
    assert ticket.search(vector("subject2"), 0) == []


def test_another_version_is_searched_as_soon_as_it_is_current_and_the_old_one_is_freed(
    index: Path, builder: Make, source: Write
) -> None:
    corpus = corpus_of(index)
    ticket, forgotten = corpus.look_ahead(vector("subject1"), "hyde"), corpus.look_ahead(vector("subject2"), "hyde")
    assert ticket._index
    old = weakref.ref(ticket._index.vectors.cache)
    builder().build([source(facts=numbered(9, "fresh"))])
    assert ticket.search(vector("All about fresh3 and nothing else."), 1)[0].text.startswith("All about fresh3")
    forgotten.close()
    until(lambda: gc.collect() >= 0 and old() is None)
    check_nothing_is_held(corpus)


def test_a_file_that_is_cut_fails_the_question_and_nothing_is_held(index: Path) -> None:
    corpus = corpus_of(index, probes=PASSAGES)
    assert corpus._current()  # it is open before it is cut
    (lists,) = index.rglob(LISTS)
    with lists.open("r+b") as stream:
        stream.truncate(100)
    ticket = corpus.look_ahead(vector("subject30"), "hyde")
    with pytest.raises(StoreCorrupt, match="cut short"):
        ticket.search(vector("subject30"), 3)
    check_nothing_is_held(corpus)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["begin", "refine", "provisional", "search", "close", "forget"]),
            st.integers(0, 2),
            st.integers(0, PASSAGES - 1),
        ),
        max_size=12,
    )
)
def test_nothing_is_left_behind_whatever_is_done(index: Path, steps: Sequence[tuple[str, int, int]]) -> None:
    corpus, plain = corpus_of(index), corpus_of(index)
    tickets: dict[int, IndexTicket] = {}
    for what, which, number in steps:
        near = vector(f"subject{number}")
        ticket = tickets.get(which)
        if what == "begin":
            tickets[which] = corpus.look_ahead(near, f"pipeline{which}")
        elif what == "forget":
            tickets.pop(which, None)
        elif ticket and what == "search":
            assert ticket.search(near, 3) == plain.search(near, 3)
        elif ticket and what == "refine":
            ticket.refine(near)
        elif ticket and what == "provisional":
            ticket.provisional(2)
        elif ticket:
            ticket.close()
    ticket = None  # of those that were forgotten, nothing is closed
    for ticket in tickets.values():
        ticket.close()
    check_nothing_is_held(corpus)


def test_a_ticket_is_closed_by_another_thread_while_it_searches(index: Path) -> None:
    corpus, plain = corpus_of(index), corpus_of(index)
    with ThreadPoolExecutor(6) as threads:
        for number in range(30):
            near = vector(f"subject{number}")
            ticket = corpus.look_ahead(near, "hyde")
            hits = threads.submit(ticket.search, near, 3)
            threads.submit(ticket.refine, near)
            threads.submit(ticket.close).result()
            assert hits.result() == plain.search(near, 3)
            ticket.close()
    check_nothing_is_held(corpus)
