"""Searching the corpus: the right passages, switches of versions during a search, and no index of another embedder."""

import logging
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from cloud_server.monitoring.load import VectorUse
from cloud_server.retrieval.corpus import Corpus
from cloud_server.retrieval.search import IndexCorpus
from models.fake import FakeEmbedder
from shared.errors import NothingFound, StoreCorrupt, UsageError
from tests.cloud_server.retrieval.conftest import FACTS, Make, Write, numbered

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


def vector(text: str) -> "np.ndarray[tuple[int], np.dtype[np.float32]]":
    embedded: np.ndarray[tuple[int], np.dtype[np.float32]] = FakeEmbedder().embed([text])[0]
    return embedded


def corpus_of(tmp_path: Path, probes: int = 0) -> IndexCorpus:
    return IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint, probes)


def test_the_nearest_come_first_with_their_cosines(builder: Make, source: Write, tmp_path: Path) -> None:
    builder().build([source()])
    corpus: Corpus = corpus_of(tmp_path)
    question = vector("Which mountain of Africa is the second highest?")
    hits = corpus.search(question, 3)
    assert hits[0].title == "Mountains"
    assert [passage.similarity for passage in hits] == sorted((passage.similarity for passage in hits), reverse=True)
    for passage in hits:
        cosine = float(vector(f"{passage.title}\n{passage.text}") @ question)
        assert passage.similarity == pytest.approx(cosine, abs=1e-3)  # kept as halves
        assert passage.score == pytest.approx(max(cosine, 0), abs=1e-3)
    assert corpus.passages([hits[2].id, -1, hits[0].id, 2**53 - 1]) == [
        type(passage)(passage.id, passage.title, passage.path, passage.text, 1.0, 1.0) for passage in (hits[2], hits[0])
    ]
    assert len(corpus) == 3
    assert corpus.search(question, 0) == []


def test_what_the_vectors_take_is_counted(builder: Make, source: Write, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    assert corpus.vector_use() == VectorUse()
    builder().build([source()])
    corpus.refresh()
    assert corpus.vector_use() == VectorUse()
    corpus.search(vector("Where does the Danube end?"), 3)
    use = corpus.vector_use()
    assert 0 < use.read <= use.held
    corpus.search(vector("Where does the Danube end?"), 3)
    assert corpus.vector_use() == use


def test_more_probes_than_clusters_are_all_of_them(builder: Make, source: Write, tmp_path: Path) -> None:
    builder().build([source(facts=numbered(40))])
    corpus = corpus_of(tmp_path, probes=65_536)
    assert len(corpus.search(vector("subject7"), 40)) == 40
    assert len(corpus_of(tmp_path, probes=1).search(vector("subject7"), 40)) < 40


def test_without_an_index_it_is_empty_until_there_is_one(builder: Make, source: Write, tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    with pytest.raises(NothingFound, match="index build"):
        corpus.refresh()
    assert len(corpus) == 0
    assert corpus.search(vector("Danube"), 3) == corpus.passages([0]) == []
    builder().build([source()])
    assert corpus.search(vector("Danube"), 1)[0].title == "Rivers"


def test_the_next_question_is_asked_of_the_new_version_and_old_ids_are_nobodys(
    builder: Make, source: Write, tmp_path: Path
) -> None:
    made, corpus = builder(), corpus_of(tmp_path)
    made.build([source()])
    old = corpus.search(vector("Danube"), 1)[0]
    made.build([source(facts=numbered(8))])
    assert corpus.search(vector("subject5"), 1)[0].title == "Title 5"
    assert len(corpus) == 8
    assert corpus.passages([old.id]) == []


def test_searches_under_way_end_on_the_old_version(builder: Make, source: Write, tmp_path: Path) -> None:
    """Many threads search while versions are replaced: each result comes completely from one version."""
    made, corpus = builder(), corpus_of(tmp_path)
    made.build([source(facts=numbered(12, "version0x"))])
    ended = False

    def search() -> int:
        searches = 0
        while not ended:
            hits = corpus.search(vector("All about nothing else"), 12)
            assert len(hits) == 12
            assert len({passage.text.split("about version")[1][0] for passage in hits}) == 1
            assert len({passage.id >> 32 for passage in hits}) == 1
            searches += 1
        return searches

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(search) for _ in range(4)]
        try:
            for number in range(1, 8):
                made.build([source(facts=numbered(12, f"version{number}x"))])
        finally:
            ended = True
        assert all(passage.result() for passage in running)
    assert "version7x" in corpus.search(vector("Title 1"), 1)[0].text


def test_an_index_of_another_embedder_is_refused_and_the_old_one_kept(
    builder: Make, source: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = corpus_of(tmp_path)
    builder().build([source()])
    assert len(corpus) == 3
    other = FakeEmbedder()
    other.fingerprint = "another"
    builder(other).build([source(facts=numbered(8))])
    with caplog.at_level(logging.ERROR):
        assert [corpus.search(vector("Danube"), 1)[0].title for _ in range(3)] == ["Rivers"] * 3
    assert len(caplog.records) == 1
    with pytest.raises(UsageError, match="made with the embedder another"):
        IndexCorpus(tmp_path / "index", "fake").refresh()


@pytest.mark.parametrize("damage", ["missing", "short", "facts", "pointer"])
def test_a_damaged_index_is_said_to_be_so(builder: Make, source: Write, tmp_path: Path, damage: str) -> None:
    made = builder()
    made.build([source()])
    version = made.index.versions.current()
    if damage == "missing":
        (version / "000000.passages").unlink()
    elif damage == "short":
        os.truncate(version / "vectors.lists", 100)
    elif damage == "facts":
        (version / "index.json").write_text("{}")
    else:
        (tmp_path / "index" / "current").write_text("nowhere")
    with pytest.raises(StoreCorrupt, match="Build the index again"):
        corpus_of(tmp_path).refresh()
    made.build([source(facts=FACTS)])
    assert len(corpus_of(tmp_path)) == 3


@pytest.mark.parametrize("name", ["000000.passages", "vectors.lists", "vectors.clusters", "index.json"])
@pytest.mark.parametrize("opened", [True, False], ids=["while it is searched", "before"])
def test_a_file_that_is_cut_at_any_length_ends_no_process(
    builder: Make, source: Write, tmp_path: Path, name: str, opened: bool
) -> None:
    made = builder()
    made.build([source(facts=numbered(40))])
    file = made.index.versions.current() / name
    corpus = corpus_of(tmp_path)
    if opened:
        corpus.refresh()
    for length in range(file.stat().st_size - 1, 0, -max(1, file.stat().st_size // 40)):
        os.truncate(file, length)
        if opened:
            with suppress(StoreCorrupt):
                corpus.search(vector("Danube"), 5)
        else:
            with pytest.raises(StoreCorrupt):
                corpus_of(tmp_path).refresh()
