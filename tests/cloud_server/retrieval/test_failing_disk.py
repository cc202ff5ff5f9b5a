"""A disk that sometimes fails or is slow: a question that needs the failing read gets an error, and others go on."""

import errno
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from cloud_server.retrieval.search import IndexCorpus
from cloud_server.retrieval.searcher import LANES
from models.fake import FakeEmbedder
from shared.errors import StoreCorrupt, StoreError
from shared.protocol.messages import PublicPassage
from storage.ivf_files import LISTS
from storage.list_file import pages
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.cloud_server.retrieval.test_tickets import check_nothing_is_held, vector
from tests.faults import until

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

Read = Callable[[int, Sequence[memoryview], int], int]


@pytest.fixture
def corpus(builder: Make, source: Write, tmp_path: Path) -> IndexCorpus:
    """A corpus with so little memory that hardly any cluster stays in it."""
    builder(shard_passages=128).build([source(facts=numbered(120))])
    return IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint, probes=8, memory=20_000)


def broken(every: int) -> Read:
    """Return a read function that fails with EIO at every `every`-th read."""
    real, reads, lock = os.preadv, [0], threading.Lock()

    def read(descriptor: int, parts: Sequence[memoryview], place: int) -> int:
        with lock:
            reads[0] += 1
            fails = reads[0] % every == 0
        if fails:
            raise OSError(errno.EIO, "Input/output error")
        return real(descriptor, list(parts), place)

    return read


def test_one_read_of_a_hundred_fails_and_the_questions_that_are_answered_are_answered_right(
    corpus: IndexCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {number: corpus.search(vector(f"subject{number}"), 5) for number in range(120)}
    monkeypatch.setattr(os, "preadv", broken(100))
    failed, right = [0], [0]

    def ask(seed: int) -> None:
        for step in range(60):
            number = (seed * 17 + step * 7) % 120
            near = vector(f"subject{number}")
            ticket = corpus.look_ahead(near, "hyde") if step % 2 else None
            try:
                hits = ticket.search(near, 5) if ticket else corpus.search(near, 5)
            except StoreError as error:
                assert "input/output error" in str(error)  # both are looked at
                failed[0] += 1
            else:
                assert hits == expected[number]
                right[0] += 1
            finally:
                if ticket:
                    ticket.close()

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(ask, range(6)))
    assert failed[0]
    assert right[0] > 250
    monkeypatch.undo()
    check_nothing_is_held(corpus)
    assert corpus.search(vector("subject3"), 5) == expected[3]


def test_while_one_read_takes_long_others_are_answered(corpus: IndexCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = IndexCorpus(corpus._versions.folder, FakeEmbedder.fingerprint, probes=2, memory=20_000)
    expected = corpus.search(vector("subject1"), 5)
    opened = corpus._current()
    assert opened
    probed = [opened.vectors.present(opened.probe(vector(f"subject{number}"))) for number in range(120)]
    # A question with one of the same clusters may have to wait, too.
    other = next(number for number in range(120) if not set(probed[90]) & set(probed[number]))
    slow_cluster = probed[90][0]
    place_of_slow, _ = pages(*opened.vectors._layout.extent(slow_cluster))
    real, may_go_on, waits = os.preadv, threading.Event(), threading.Event()

    def read(descriptor: int, parts: Sequence[memoryview], place: int) -> int:
        if place <= place_of_slow < place + sum(map(len, parts)):  # alone, or with neighbours
            waits.set()
            assert may_go_on.wait(30)
        return real(descriptor, list(parts), place)

    other_expected = corpus.search(vector(f"subject{other}"), 5)
    fresh = IndexCorpus(corpus._versions.folder, FakeEmbedder.fingerprint, probes=2, memory=20_000)
    monkeypatch.setattr(os, "preadv", read)
    with ThreadPoolExecutor(2) as threads:
        slow = threads.submit(fresh.search, vector("subject90"), 5)
        until(waits.is_set)
        started = time.monotonic()
        assert fresh.search(vector(f"subject{other}"), 5) == other_expected
        assert time.monotonic() - started < 20
        assert not slow.done()
        may_go_on.set()
        assert slow.result(30)
    assert fresh.search(vector("subject1"), 5) == expected


def test_what_is_in_memory_is_searched_while_as_many_groups_as_may_be_wait_for_the_disk(
    builder: Make, source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder(shard_passages=128).build([source(facts=numbered(120))])
    corpus = IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint, probes=2)
    expected = corpus.search(vector("subject1"), 5)
    opened = corpus._current()
    assert opened
    unread = [
        number
        for number in range(120)
        if not any(map(opened.is_near, opened.vectors.present(opened.probe(vector(f"subject{number}")))))
    ]
    real, may_go_on = os.preadv, threading.Event()

    def read(descriptor: int, parts: Sequence[memoryview], place: int) -> int:
        assert may_go_on.wait(30)
        return real(descriptor, list(parts), place)

    monkeypatch.setattr(os, "preadv", read)
    with ThreadPoolExecutor(LANES + 1) as threads:
        slow: list[Future[list[PublicPassage]]] = []
        try:
            for number in unread[:LANES]:  # one after the other, so that they are no group
                slow.append(threads.submit(corpus.search, vector(f"subject{number}"), 5))
                until(lambda: corpus._reading._lanes == LANES - len(slow))
            assert threads.submit(corpus.search, vector("subject1"), 5).result(5) == expected
            assert not any(search.done() for search in slow)
        finally:
            may_go_on.set()
        assert all(search.result(30) for search in slow)


def test_texts_that_the_disk_does_not_give_fail_the_question_that_needs_them(
    corpus: IndexCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = corpus.search(vector("subject1"), 5)
    real, reads = os.pread, [0]

    def read(descriptor: int, length: int, place: int) -> bytes:
        reads[0] += 1
        if reads[0] == 4:
            raise OSError(errno.EIO, "Input/output error")
        return real(descriptor, length, place)

    monkeypatch.setattr(os, "pread", read)
    ticket = corpus.look_ahead(vector("subject1"), "hyde")
    with pytest.raises(StoreError, match="input/output error"):
        ticket.search(vector("subject1"), 5)
    check_nothing_is_held(corpus)
    assert ticket.search(vector("subject1"), 5) == corpus.search(vector("subject1"), 5) == expected
    ticket.close()


@pytest.mark.parametrize("left", [0, 5000])
def test_lists_that_are_cut_fail_what_needs_them_with_a_name(corpus: IndexCorpus, tmp_path: Path, left: int) -> None:
    ticket = corpus.look_ahead(vector("subject1"), "hyde")
    (lists,) = (tmp_path / "index").rglob(LISTS)
    os.truncate(lists, left)
    errors = 0
    for number in range(0, 120, 5):
        try:
            corpus.search(vector(f"subject{number}"), 5)
        except StoreCorrupt as error:
            assert str(lists) in str(error)  # some are answered from memory
            errors += 1
    assert errors
    ticket.close()
    check_nothing_is_held(corpus)


def test_lists_that_are_renamed_or_replaced_are_read_as_they_were(corpus: IndexCorpus, tmp_path: Path) -> None:
    expected = {number: corpus.search(vector(f"subject{number}"), 5) for number in range(0, 120, 10)}
    (lists,) = (tmp_path / "index").rglob(LISTS)
    lists.rename(lists.with_name("elsewhere"))
    lists.write_bytes(b"another file")
    for number, hits in expected.items():
        assert corpus.search(vector(f"subject{number}"), 5) == hits
