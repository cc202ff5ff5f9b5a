"""Once the nearer half of a search's clusters is read, its probable passages are known, and their prompts are
prefilled.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cloud_server.pipelines import provisional
from cloud_server.retrieval.search import IndexCorpus
from models.fake import FakeEmbedder
from shared.protocol import messages as m
from storage import residents
from storage.list_file import ListFile, pages
from tests.cloud_server.retrieval.conftest import Make, Write, numbered
from tests.companion import Phone, Serve
from tests.faults import until
from tests.scripted import Scripted

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

QUESTION = "All about subject7?"
PROBES = 6


class HalfRead:
    """An index whose searches read the nearer half of their clusters, and then wait until `rest` is set."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.corpus = IndexCorpus(folder, FakeEmbedder.fingerprint, PROBES)
        self.vector = FakeEmbedder().embed([QUESTION])[0]
        self.first, self.rest = threading.Event(), threading.Event()
        opened = self.corpus._current()
        assert opened
        clusters = opened.vectors.present(opened.probe(self.vector))
        extents = [pages(*opened.vectors._layout.extent(cluster))[0] for cluster in clusters]
        nearer = set(extents[: -(-len(clusters) // 2)])
        assert set(extents) > nearer
        self.cache, self.clusters = opened.vectors.cache, clusters
        read = ListFile.read

        def slowly(file: ListFile, parts: Sequence[memoryview], first: int, length: int) -> None:
            assert (self.first if first in nearer else self.rest).wait(30)
            read(file, parts, first, length)

        monkeypatch.setattr(ListFile, "read", slowly)
        monkeypatch.setattr(residents, "MOST_PARTS", 1)  # otherwise neighbours of the nearer half would come with it
        monkeypatch.setattr(provisional, "LOOK_S", 0.01)


@pytest.fixture
def half_read(builder: Make, source: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HalfRead:
    builder(shard_passages=64).build([source(facts=numbered(60))])
    return HalfRead(tmp_path / "index", monkeypatch)


def test_nothing_is_said_before_the_nearer_half_is_there(half_read: HalfRead) -> None:
    corpus, vector = half_read.corpus, half_read.vector
    search = threading.Thread(target=corpus.search, args=(vector, 3))
    search.start()
    assert corpus.provisional(vector, 3) == []
    half_read.first.set()
    until(lambda: corpus.provisional(vector, 3))
    early = corpus.provisional(vector, 3)
    assert not all(map(half_read.cache.is_ready, half_read.clusters))
    half_read.rest.set()
    search.join()
    assert early == corpus.search(vector, 3)
    assert corpus.provisional(vector, 0) == []


def asked(serve: Serve, corpus: IndexCorpus, meanwhile: Callable[..., None], pipeline: m.Pipeline) -> tuple[str, int]:
    """Return the answer to a question, and how many tokens of its prompt were prefilled already."""
    served = serve(Scripted({"Write a short passage": QUESTION}), retrieval={"anchored": False})
    phone = Phone(served.url, served.token()).connects()
    request = phone.asks(QUESTION, passages=3, pipeline=pipeline)
    meanwhile(served.server.generation.load)
    ended = phone.until_ended(request)
    assert isinstance(ended, m.Finished), ended
    return phone.text(request), ended.usage.cached


@pytest.mark.parametrize("pipeline", ["plain", "hyde"])
def test_an_answer_is_the_same_with_its_passages_prefilled_while_the_disk_is_read(
    half_read: HalfRead, serve: Serve, pipeline: m.Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.companion.FewPassages", lambda: half_read.corpus)
    computed: list[int] = []

    def not_more(tokens: int) -> bool:
        computed.append(tokens)
        return computed[-10:].count(tokens) == 10

    def meanwhile(load) -> None:  # type: ignore[no-untyped-def]
        half_read.first.set()
        until(lambda: load.provisional > 3 * len("All about subject7"))
        until(lambda: not_more(load.provisional))
        assert not half_read.rest.is_set()
        half_read.rest.set()

    sooner = asked(serve, half_read.corpus, meanwhile, pipeline)
    later = asked(serve, half_read.corpus, lambda _: None, pipeline)  # all is in memory now
    assert sooner == (later[0], computed[-1])
    assert later[1] == 0
