"""Scanning clusters on a GPU, simulated by torch tensors in main memory: no id and no similarity of a result
changes.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_server import build
from cloud_server.retrieval.gpu import GpuFailed, GpuTier
from cloud_server.retrieval.opened import OpenIndex
from cloud_server.retrieval.search import IndexCorpus
from cloud_server.settings import Retrieval, Settings
from models.fake import FakeEmbedder
from shared.errors import StoreError, UsageError
from storage.ivf import Ivf, train
from storage.ivf_files import Codec, Numbers, Vectors, inverted
from storage.ivf_writing import write
from storage.paths import Paths
from tests.cloud_server.retrieval.conftest import FACTS, Make, Write
from tests.faults import until

torch = pytest.importorskip("torch", reason="needs the gpu extra")
pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = [pytest.mark.torch, pytest.mark.faiss]

DIMENSIONS = 16


def unit(count: int, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32)
    scaled: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return scaled


def written(folder: Path, vectors: Vectors, clusters: int, codec: Codec = "f16", memory: int = 10**6) -> Ivf:
    folder.mkdir()
    write(folder, train(vectors, clusters, threads=1), [lambda: vectors], codec=codec, threads=1)
    return Ivf(folder, memory)


def tier_of(held: Ivf, memory: int = 10**6) -> GpuTier:
    return GpuTier(held, memory, "cpu")


def settle(tier: GpuTier) -> None:
    until(lambda: tier.is_idle)


def bring(tier: GpuTier, clusters: Sequence[int], question: object) -> None:
    """Read clusters into memory, and copy them to the GPU."""
    held = tier._vectors
    present = held.present(np.array(clusters, np.int64))
    for _ in held.cache.read(present):
        pass
    tier.hold(question, present)
    settle(tier)


def here(tier: GpuTier) -> set[int]:
    return {cluster for cluster in range(tier._vectors.clusters) if tier.is_here(cluster)}


def check(held: Ivf, tier: GpuTier, questions: Vectors, probed: Sequence[Numbers], most: int) -> None:
    alone = Ivf(held.files.lists.parent)
    for ours, clusters, question in zip(held.scan_many(probed, questions, most, tier), probed, questions, strict=True):
        numbers, products = alone.scan(clusters, question, most)
        assert ours[0].tolist() == numbers.tolist()
        assert ours[1].tobytes() == products.tobytes()


@settings(max_examples=60)
@given(
    count=st.integers(1, 200),
    clusters=st.integers(1, 10),
    copies=st.integers(0, 120),
    probes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    most=st.integers(1, 20),
    rows=st.integers(1, 400),
    memory=st.sampled_from([0, 10**6]),
    codec=st.sampled_from(get_args(Codec)),
    near=st.lists(st.integers(0, 9), max_size=6),
    rounds=st.integers(1, 3),
)
def test_ids_and_distances_are_those_of_faiss_at_the_same_nprobe(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    clusters: int,
    copies: int,
    probes: list[int],
    most: int,
    rows: int,
    memory: int,
    codec: Codec,
    near: list[int],
    rounds: int,
) -> None:
    """Some clusters are on the device and others not; `copies` vectors are repetitions, so that there are ties."""
    vectors = np.concatenate([unit(count), np.resize(unit(count)[: max(1, count // 8)], (copies, DIMENSIONS))])
    held = written(tmp_path_factory.mktemp("ivf") / "a", vectors, min(clusters, count), codec, memory)
    index = inverted(held.files)
    index.add(vectors)
    tier = tier_of(held, rows * (held.files.layout.vector_bytes + 8))
    bring(tier, [cluster % held.clusters for cluster in near], tier)
    questions = np.concatenate([unit(len(probes), seed=5)[:-1], vectors[:1]])
    probed = [held.probe(question, nprobe) for question, nprobe in zip(questions, probes, strict=True)]
    for _ in range(rounds):
        together = held.scan_many(probed, questions, most, tier)
        settle(tier)  # what was missing may be there the next time
        for question, nprobe, ours in zip(questions, probes, together, strict=True):
            index.nprobe = min(nprobe, held.clusters)
            products, numbers = index.search(question[None], most)
            is_hit = numbers[0] >= 0
            assert ours[0].tolist() == numbers[0][is_hit].tolist()
            assert ours[1].tobytes() == products[0][is_hit].tobytes()
    assert not tier._rows._pins


def test_what_is_there_is_not_read_and_what_is_missing_is(tmp_path: Path) -> None:
    held = written(tmp_path / "a", unit(2000), 20)
    tier, question = tier_of(held), unit(1, seed=9)
    clusters = held.probe(question[0], 10)
    bring(tier, clusters[:6].tolist(), tier)
    assert here(tier) == set(clusters[:6].tolist())
    cold = Ivf(tmp_path / "a")
    tier._vectors = cold
    check(cold, tier, question, [clusters], 5)
    read = sum(held.bytes_of(cluster) for cluster in clusters[6:].tolist())
    assert read <= cold.cache.bytes_read <= read + 4 * 8192
    settle(tier)
    assert here(tier) == set(clusters.tolist())  # and now they are there, too


def test_rows_that_hold_another_cluster_now_and_gaps_full_of_nonsense_do_no_harm(tmp_path: Path) -> None:
    vectors = unit(2000)
    held = written(tmp_path / "a", vectors, 20)
    tier = tier_of(held, 900 * (held.files.layout.vector_bytes + 8))
    tier._codes.fill_(float("nan"))
    for start in range(0, 20, 3):
        question = held.cache.read_ahead()
        bring(tier, [cluster % 20 for cluster in range(start, start + 7)], question)
        questions = vectors[start : start + 3]
        check(held, tier, questions, [held.probe(each, 12) for each in questions], 5)
        tier.let_go(question)


class Event:
    """A stand-in for a CUDA event, recorded after the copies that were started before it."""

    def __init__(self) -> None:
        self.is_synchronized = False

    def synchronize(self) -> None:
        self.is_synchronized = True


def test_a_scan_waits_for_every_copy_that_it_needs_and_pinned_memory_is_not_written_to_before_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake of CUDA's streams and events records the order in which the code uses them."""
    held = written(tmp_path / "a", unit(2000), 20)
    tier, question = tier_of(held), unit(1, seed=9)
    recorded: list[Event] = []
    awaited: list[Event] = []

    class Stream:
        def record_event(self) -> Event:
            recorded.append(Event())
            return recorded[-1]

        def wait_event(self, event: Event) -> None:
            awaited.append(event)

    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    tier._stream = Stream()
    bring(tier, range(20), tier)
    assert len(recorded) == len(here(tier)) == 20
    assert [event.is_synchronized for event in recorded] == [True] * 18 + [False] * 2
    clusters = held.probe(question[0], 7)
    check(held, tier, question, [clusters], 5)
    assert set(awaited) == {tier._arrivals[cluster] for cluster in clusters.tolist()}
    assert len(awaited) == 7


def test_many_threads_search_while_clusters_come_and_go(tmp_path: Path) -> None:
    vectors = unit(3000)
    held = written(tmp_path / "a", vectors, 30)
    tier = tier_of(held, 800 * (held.files.layout.vector_bytes + 8))

    def ask(number: int) -> None:
        for round_ in range(8):
            questions = vectors[number * 50 + round_ :][:2]
            ticket = held.cache.read_ahead(tier.on_arrival)
            near = held.present(held.probe(questions[0], 6))
            tier.hold(ticket, near)
            ticket.fetch(near)
            check(held, tier, questions, [held.probe(each, 10) for each in questions], 4)
            ticket.close()
            tier.let_go(ticket)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(ask, range(6)))
    settle(tier)
    assert not tier._rows._pins
    assert not tier._rows._held


@pytest.fixture
def corpus(builder: Make, source: Write, tmp_path: Path) -> IndexCorpus:
    """A small corpus with a GPU cache whose tensors are in main memory (device "cpu")."""
    builder().build([source()])
    return IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint, gpu=partial(GpuTier, memory=10**6, device="cpu"))


def opened(corpus: IndexCorpus) -> OpenIndex:
    index = corpus._current()
    assert index
    assert index.gpu
    return index


def test_look_ahead_brings_clusters_from_disk_to_the_device_before_the_search(corpus: IndexCorpus) -> None:
    vector = FakeEmbedder().embed([FACTS[0][1]])[0]
    index = opened(corpus)
    tier = index.gpu
    assert tier
    ticket = corpus.look_ahead(vector, "hyde")
    clusters = index.vectors.present(index.probe(vector))
    until(lambda: here(tier) == set(clusters))
    before = index.vectors.cache.bytes_read
    assert [passage.text for passage in ticket.provisional(1)] == [FACTS[0][1]]
    assert ticket.search(vector, 1)[0].text == FACTS[0][1]
    assert index.vectors.cache.bytes_read == before
    ticket.close()
    assert not tier._rows._held


@pytest.mark.parametrize("step", ["_chosen", "nonzero"])
def test_a_device_that_fails_is_done_without(
    corpus: IndexCorpus, step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = opened(corpus)
    tier = index.gpu
    assert tier
    bring(tier, list(range(index.vectors.clusters)), tier)
    vector = FakeEmbedder().embed([FACTS[1][1]])[0]

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("CUDA error: out of memory")

    monkeypatch.setattr(GpuTier if step == "_chosen" else torch.Tensor, step, fails)
    if step == "nonzero":
        with pytest.raises(GpuFailed, match="out of memory"):
            index.vectors.scan_many([index.probe(vector)], vector[None], 1, tier)
    for _ in range(2):
        assert corpus.search(vector, 1)[0].text == FACTS[1][1]
    assert [record.message for record in caplog.records].count(
        "the GPU failed, and is not used until the next start"
    ) == 1
    assert not tier.is_here(0)
    assert not tier._rows._pins


@pytest.mark.parametrize("step", ["_chosen", "nonzero"])
def test_a_search_too_large_for_the_device_is_done_without_and_the_next_with_it(
    corpus: IndexCorpus, step: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    index = opened(corpus)
    tier = index.gpu
    assert tier
    bring(tier, list(range(index.vectors.clusters)), tier)
    vector = FakeEmbedder().embed([FACTS[1][1]])[0]

    def too_large(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("tried to allocate 2 GiB")

    with monkeypatch.context() as patched:
        patched.setattr(GpuTier if step == "_chosen" else torch.Tensor, step, too_large)
        assert corpus.search(vector, 1)[0].text == FACTS[1][1]
    assert caplog.messages == ["a search is too large for the GPU, and is done by the processor"]
    assert tier.is_here(0)
    assert not tier._rows._pins
    assert corpus.search(vector, 1)[0].text == FACTS[1][1]


def test_an_index_is_searched_without_a_device_that_has_no_room(
    builder: Make, source: Write, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    builder().build([source()])

    def full(_: Ivf) -> GpuTier:
        raise StoreError("The GPU has no 9 bytes. Lower retrieval.gpu_mb.")

    corpus = IndexCorpus(tmp_path / "index", FakeEmbedder.fingerprint, gpu=full)
    assert corpus.search(FakeEmbedder().embed([FACTS[2][1]])[0], 1)[0].text == FACTS[2][1]
    assert "the index is searched without a GPU" in caplog.messages


def test_without_torch_the_setting_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    own = Settings(retrieval=Retrieval(gpu_mb=100.0))
    with pytest.raises(UsageError, match=r"pip install 'jackdaw\[gpu\]'"):
        build.corpus(Paths.locate({"JACKDAW_HOME": str(tmp_path)}), own, "fake")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_where_there_is_no_gpu_the_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"retrieval\.gpu_mb needs a GPU with CUDA"):
        GpuTier(written(tmp_path / "a", unit(50), 2), 10**6)
