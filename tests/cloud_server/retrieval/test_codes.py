"""An index with RaBitQ codes in memory: built, extended, searched and damaged; it never reads whole clusters."""

import gc
import logging
import os
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from cloud_server.retrieval.index import Progress, shortage
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.versions import Versions
from models.fake import FakeEmbedder
from shared.errors import StoreCorrupt, StoreError, UsageError
from storage.ivf import Ivf
from storage.ivf_files import LISTS, Clusters
from storage.rabitq_files import CODES, RabitqCodes, read_codes
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.cloud_server.retrieval.test_failing_disk import broken
from tests.cloud_server.retrieval.test_tickets import check_nothing_is_held, vector
from tests.faults import until

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

PASSAGES = 120


def corpus_of(folder: Path, memory: int = 1_000_000) -> IndexCorpus:
    return IndexCorpus(folder, FakeEmbedder.fingerprint, probes=8, memory=memory)


@pytest.fixture
def index(builder: Make, source: Write, tmp_path: Path) -> Path:
    """An index of a few clusters with RaBitQ codes."""
    builder(shard_passages=128, codec="rabitq").build([source(facts=numbered(PASSAGES))])
    return tmp_path / "index"


def clusters_read(corpus: IndexCorpus) -> int:
    opened = corpus._current()
    assert opened
    return opened.vectors.cache.bytes_read


def test_it_is_searched_as_an_index_of_halves(index: Path, builder: Make, source: Write) -> None:
    """The index is so small that all codes in the searched clusters are ranked again by their float16 vectors, so that
    both results are equal.
    """
    questions = [vector(f"subject{number} and more") for number in range(0, PASSAGES, 7)]
    coded = [corpus_of(index).search(question, 5) for question in questions]
    assert clusters_read(corpus_of(index)) == 0
    builder(shard_passages=128).build([source(facts=numbered(PASSAGES))])
    for question, hits in zip(questions, coded, strict=True):
        theirs = corpus_of(index).search(question, 5)
        assert [(hit.text, hit.similarity) for hit in hits] == [(hit.text, hit.similarity) for hit in theirs]


def test_what_is_added_gets_codes(index: Path, builder: Make, source: Write) -> None:
    made, stages = builder(), list[Progress]()
    made.on_progress = stages.append
    made.add([source("more.jsonl", numbered(9, "fresh"))])
    assert made.index.describe()["codec"] == "rabitq"
    corpus = corpus_of(index)
    for title, text in (numbered(9, "fresh")[3], numbered(PASSAGES)[7]):
        assert text in {hit.text for hit in corpus.search(vector(f"{title}\n{text}"), 3)}
    written = [(progress.done, progress.total) for progress in stages if progress.stage == "writing"]
    assert written[-1] == (2 * 9 + PASSAGES + 9,) * 2
    assert written == sorted(written)


def test_nothing_is_read_ahead_and_the_passages_are_those_of_a_search(index: Path) -> None:
    plain, ahead = corpus_of(index), corpus_of(index)
    for number in range(12):
        ticket = ahead.look_ahead(vector(f"subject{number}"), "hyde")
        assert ticket.provisional(3) == ahead.provisional(vector(f"subject{number}"), 3) == []
        ticket.refine(vector(f"subject{number} and more"))
        asked = vector(f"subject{number} and more of it")
        assert ticket.search(asked, 5) == plain.search(asked, 5)
        assert ticket.coverage
        assert (ticket.coverage.clusters, ticket.coverage.bytes_ahead) == (0, 0)
        ticket.close()
    assert clusters_read(ahead) == 0
    check_nothing_is_held(ahead)


def test_questions_are_searched_together(index: Path) -> None:
    corpus = corpus_of(index)
    near = [vector(f"subject{number}") for number in range(20)]
    assert corpus.search_many(near, 3) == [corpus.search(each, 3) for each in near]
    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(lambda each: corpus.search(each, 3), near)) == corpus.search_many(near, 3)


def test_too_little_memory_is_refused_with_what_is_needed(
    index: Path, builder: Make, caplog: pytest.LogCaptureFixture
) -> None:
    needed = builder().index.describe()["memory_bytes"]
    assert isinstance(needed, int)
    assert needed == (Versions(index).current() / CODES).stat().st_size
    corpus_of(index, needed).refresh()
    corpus = corpus_of(index, needed - 1)
    for _ in range(2):
        with pytest.raises(UsageError, match=r"retrieval\.memory_mb"):
            corpus.refresh()
    with caplog.at_level(logging.ERROR):
        assert corpus_of(index, needed - 1).search(vector("subject1"), 3) == []
    assert "of memory, and retrieval.memory_mb is" in caplog.records[0].__dict__["detail"]
    assert shortage(builder().index, needed / 1e6) == ""
    assert "Set it to 1 at least" in shortage(builder().index, needed / 2e6)
    assert shortage(builder().index, 3 * needed / 1e6, 3) == ""
    assert "in each of 3 processes" in shortage(builder().index, 2.9 * needed / 1e6, 3)


def test_an_index_without_codes_needs_no_memory(builder: Make, source: Write) -> None:
    made = builder()
    made.build([source()])
    assert made.index.describe()["memory_bytes"] is None
    assert shortage(made.index, 0.001) == ""


def test_a_gpu_is_left_alone_and_that_is_said(index: Path, caplog: pytest.LogCaptureFixture) -> None:
    def no_tier(_: Ivf) -> None:
        raise AssertionError

    corpus = IndexCorpus(index, FakeEmbedder.fingerprint, probes=8, gpu=no_tier)  # type: ignore[arg-type]  # not called
    with caplog.at_level(logging.WARNING):
        assert corpus.search(vector("subject1"), 1)
    assert [record.message for record in caplog.records] == [
        "retrieval.gpu_mb is not used: the codec of the index is rabitq, whose codes are in memory"
    ]


def test_one_read_of_some_fails_and_the_questions_that_are_answered_are_answered_right(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of(index)
    expected = {number: corpus.search(vector(f"subject{number}"), 5) for number in range(PASSAGES)}
    # A group of questions whose read fails is searched one by one, which hides single failures: there are many.
    monkeypatch.setattr(os, "preadv", broken(5))
    failed, right = [0], [0]

    def ask(seed: int) -> None:
        for step in range(30):
            number = (seed * 17 + step * 7) % PASSAGES
            try:
                hits = corpus.search(vector(f"subject{number}"), 5)
            except StoreError as error:
                assert "input/output error" in str(error)
                failed[0] += 1
            else:
                assert hits == expected[number]
                right[0] += 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(4)))
    assert failed[0]
    assert right[0]
    monkeypatch.undo()
    assert corpus.search(vector("subject3"), 5) == expected[3]


@pytest.mark.parametrize("name", [CODES, LISTS])
@pytest.mark.parametrize("opened", [True, False], ids=["while it is searched", "before"])
def test_a_file_that_is_cut_at_any_length_ends_no_process(index: Path, name: str, opened: bool) -> None:
    file = Versions(index).current() / name
    corpus = corpus_of(index)
    expected = corpus.search(vector("subject1"), 5) if opened else []
    for length in range(file.stat().st_size - 1, 0, -max(1, file.stat().st_size // 40)):
        os.truncate(file, length)
        if opened and name == CODES:
            assert corpus.search(vector("subject1"), 5) == expected
        elif opened:
            with suppress(StoreCorrupt):
                corpus.search(vector("subject1"), 5)
        else:
            with pytest.raises(StoreCorrupt, match="Build the index again"):
                corpus_of(index).refresh()


def test_a_new_version_is_searched_and_the_old_codes_are_freed(index: Path, builder: Make, source: Write) -> None:
    corpus = corpus_of(index)
    opened = corpus._current()
    assert opened
    old = weakref.ref(opened.codes)
    for codec in ("f16", "rabitq"):
        builder(codec=codec).build([source(facts=numbered(9, codec))])
        title, text = numbered(9, codec)[3]
        assert corpus.search(vector(f"{title}\n{text}"), 1)[0].text == text
        opened = corpus._current()
        assert opened
        assert (opened.codes is None) == (codec == "f16")
    until(lambda: gc.collect() >= 0 and old() is None)


def test_the_old_codes_are_freed_before_the_new_ones_are_read(
    index: Path, builder: Make, source: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpus_of(index)
    ticket = corpus.look_ahead(vector("subject1"), "hyde")  # has the old version open
    opened = corpus._current()
    assert opened
    old, freed = weakref.ref(opened.codes), list[bool]()

    def read(held: Clusters, memory: int) -> RabitqCodes:
        freed.append(gc.collect() >= 0 and old() is None)
        return read_codes(held, memory)

    monkeypatch.setattr("storage.rabitq.read_codes", read)
    builder(codec="rabitq").build([source(facts=numbered(9))])
    assert corpus.search(vector("subject3"), 1)
    assert freed == [True]
    ticket.close()


def test_the_old_version_is_searched_without_its_codes_if_the_new_one_cannot_be_opened(
    index: Path, builder: Make, source: Write
) -> None:
    corpus = corpus_of(index)
    expected = corpus.search_many([vector(f"subject{number}") for number in range(9)], 5)
    builder(codec="rabitq").build([source(facts=numbered(9))])
    os.truncate(Versions(index).current() / CODES, 9)
    assert corpus.search_many([vector(f"subject{number}") for number in range(9)], 5) == expected
    with pytest.raises(StoreCorrupt):
        corpus.refresh()
    builder(codec="rabitq").build([source(facts=numbered(9))])
    assert len(corpus) == 9


def test_a_question_reads_pages_and_not_clusters(
    builder: Make, source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder(shard_passages=4096, codec="rabitq").build([source(facts=numbered(3000))])
    corpus = IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint)
    corpus.refresh()
    real, lengths = os.preadv, list[int]()

    def preadv(descriptor: int, parts: Sequence[memoryview], place: int) -> int:
        lengths.append(sum(map(len, parts)))
        return real(descriptor, list(parts), place)

    monkeypatch.setattr(os, "preadv", preadv)
    assert corpus.search(vector("subject7"), 1)
    opened = corpus._current()
    assert opened
    probed = opened.probe(vector("subject7"))
    assert 0 < sum(lengths) <= 100 * 8192 < sum(map(opened.vectors.bytes_of, opened.vectors.present(probed)))
