"""Search by RaBitQ codes in memory with exact vectors on disk: the ranking, the reads, and the errors for damaged
files.
"""

import errno
import os
import struct
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import NotWritable, StoreCorrupt, StoreError, UsageError
from storage.ivf import Ivf, train
from storage.ivf_files import CLUSTERS, LISTS, Codec, Numbers, Vectors, inverted
from storage.ivf_writing import write
from storage.list_file import PAGE
from storage.rabitq import RERANKED, RabitqSearch
from storage.rabitq_files import CODES, codes_bytes, rabitq_index, read_codes

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

DIMENSIONS = 16
MEMORY = 10_000_000


def unit(count: int, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32)
    scaled: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return scaled


def written(
    folder: Path, vectors: Vectors, clusters: int, base: Ivf | None = None, codec: Codec = "rabitq", block: int = 100
) -> Ivf:
    folder.mkdir()
    blocks = [partial(np.copy, vectors[start : start + block]) for start in range(0, len(vectors), block)]
    centroids = base.centroids if base else train(vectors, clusters, threads=1)
    write(folder, centroids, blocks, base=base.files if base else None, codec=codec, threads=1)
    return Ivf(folder)


def same(ours: tuple[Numbers, Vectors], theirs: tuple[Numbers, Vectors]) -> bool:
    """Return whether two search results have the same numbers and inner products, bit for bit."""
    return ours[0].tolist() == theirs[0].tolist() and ours[1].tobytes() == theirs[1].tobytes()


def coded_by_faiss(held: Ivf, vectors: Vectors) -> Any:
    """Return FAISS's own RaBitQ index of these vectors, rounded to float16, with each vector in the cluster that it has
    here.
    """
    import faiss

    index = rabitq_index(held.files)
    clusters = index.quantizer.search(vectors, 1)[1]
    halves = vectors.astype(np.float16).astype(np.float32)
    index.add_core(len(vectors), faiss.swig_ptr(halves), None, faiss.swig_ptr(clusters))
    return index


@given(
    count=st.integers(1, 300),
    clusters=st.integers(1, 20),
    copies=st.integers(0, 60),
    nprobe=st.integers(1, 20),
    most=st.integers(1, 30),
    reranked=st.integers(1, 400),
)
def test_candidates_are_ranked_as_faiss_ranks_their_halves_ties_too(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    clusters: int,
    copies: int,
    nprobe: int,
    most: int,
    reranked: int,
) -> None:
    """For comparison, FAISS's own float16 index gets only the candidates, in the same clusters and order."""
    vectors = np.concatenate([unit(count), np.resize(unit(count)[: max(1, count // 8)], (copies, DIMENSIONS))])
    held = written(tmp_path_factory.mktemp("rabitq") / "a", vectors, min(clusters, count))
    search = RabitqSearch(held, MEMORY, reranked)
    codes = read_codes(held.files, MEMORY)
    for question in (*unit(2, seed=5), vectors[0]):
        probed = held.probe(question, nprobe)
        ranked = max(reranked, 10 * most)
        candidates = codes.numbers[search.candidates(probed, question, ranked)].astype(np.int64)
        expected = by_faiss(held, vectors, candidates[:ranked], question, most, len(probed))
        while ranked < len(candidates) and {*expected[0].tolist()} & {*candidates[ranked // 2 : ranked].tolist()}:
            ranked *= 2
            expected = by_faiss(held, vectors, candidates[:ranked], question, most, len(probed))
        assert same(search.scan(probed, question, most), expected)


def by_faiss(
    held: Ivf, vectors: Vectors, candidates: Numbers, question: Vectors, most: int, nprobe: int
) -> tuple[Numbers, Vectors]:
    index = inverted(held.files)
    index.add_with_ids(vectors[np.sort(candidates)], np.sort(candidates))
    index.nprobe = nprobe
    products, numbers = index.search(question[None], most)
    return numbers[0][numbers[0] >= 0], products[0][numbers[0] >= 0]


@given(
    count=st.integers(1, 300),
    clusters=st.integers(1, 20),
    copies=st.integers(0, 60),
    nprobe=st.integers(1, 20),
    most=st.integers(1, 400),
)
def test_where_all_that_is_probed_is_reranked_it_is_the_exact_search(
    tmp_path_factory: pytest.TempPathFactory, count: int, clusters: int, copies: int, nprobe: int, most: int
) -> None:
    vectors = np.concatenate([unit(count), unit(count)[:copies]])
    held = written(tmp_path_factory.mktemp("rabitq") / "a", vectors, min(clusters, count))
    search = RabitqSearch(held, MEMORY, len(vectors))
    for question in (*unit(2, seed=5), vectors[0]):
        probed = held.probe(question, nprobe)
        assert same(search.scan(probed, question, most), held.scan(probed, question, most))


@given(
    count=st.integers(1, 300),
    clusters=st.integers(1, 20),
    copies=st.integers(0, 60),
    nprobe=st.integers(1, 20),
    most=st.integers(1, 200),
)
def test_candidates_are_those_of_faiss_own_index_of_codes(
    tmp_path_factory: pytest.TempPathFactory, count: int, clusters: int, copies: int, nprobe: int, most: int
) -> None:
    """If several candidates have the lowest accepted score, either index may choose among them differently."""
    vectors = np.concatenate([unit(count), unit(count)[:copies]])
    held = written(tmp_path_factory.mktemp("rabitq") / "a", vectors, min(clusters, count))
    search, codes = RabitqSearch(held, MEMORY), read_codes(held.files, MEMORY)
    index = coded_by_faiss(held, vectors)
    for question in unit(3, seed=5):
        probed = held.probe(question, nprobe)
        index.nprobe = len(probed)
        estimates, numbers = index.search(question[None], len(vectors))
        inside = numbers[0][numbers[0] >= 0].tolist()
        estimate_of = dict(zip(inside, estimates[0].tolist(), strict=False))
        ours = codes.numbers[search.candidates(probed, question, most)].tolist()
        assert set(ours) <= set(inside)
        if len(inside) <= most:
            assert sorted(ours) == sorted(inside)
        else:
            assert len(set(ours)) == len(ours) == min(8 * most, len(inside))
            assert list(map(estimate_of.__getitem__, ours)) == list(estimate_of.values())[: len(ours)]


@given(st.integers(1, 200), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_an_extended_index_has_the_codes_of_all_its_vectors(
    tmp_path_factory: pytest.TempPathFactory, first: int, more: list[int]
) -> None:
    import faiss

    folder = tmp_path_factory.mktemp("rabitq")
    vectors = unit(first)
    held = written(folder / "0", vectors, min(5, first))
    for number, count in enumerate(more, 1):
        added = unit(count, seed=number)
        vectors = np.concatenate([vectors, added])
        held = written(folder / str(number), added, 0, base=held, codec="f16")
    assert held.files.codec == "rabitq"
    codes = read_codes(held.files, MEMORY)
    assert sorted(codes.numbers.tolist()) == list(range(len(vectors)))
    index = coded_by_faiss(held, vectors)
    for cluster in np.flatnonzero(held.sizes).tolist():
        size, start = int(held.sizes[cluster]), int(held.sizes[:cluster].sum())
        theirs = faiss.rev_swig_ptr(index.invlists.get_codes(cluster), size * index.code_size)
        assert codes.codes[start : start + size].tobytes() == theirs.tobytes()
    search = RabitqSearch(held, MEMORY)
    for place in range(0, len(vectors), 17):
        assert search.scan(held.probe(vectors[place], 5), vectors[place], 1)[0].tolist() == [place]


def test_most_of_the_ten_nearest_are_among_the_candidates(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    drawn = (chance.standard_normal((6000, 24)) @ chance.standard_normal((24, 128))).astype(np.float32)
    vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    held = written(tmp_path / "a", vectors[:5950], 60, block=1000)
    search = RabitqSearch(held, MEMORY)
    right = 0
    for question in vectors[5950:]:
        probed = held.probe(question, 30)
        right += len({*search.scan(probed, question, 10)[0]} & {*held.scan(probed, question, 10)[0]})
    assert right >= 0.98 * 500


def test_the_pages_of_the_candidates_alone_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = written(tmp_path / "a", unit(60_000), 100, block=10_000)
    search, question = RabitqSearch(held, MEMORY, 20), unit(1, seed=3)[0]
    real, read = os.preadv, list[tuple[int, int]]()

    def preadv(descriptor: int, parts: Sequence[memoryview], place: int) -> int:
        read.append((place, sum(map(len, parts))))
        return real(descriptor, list(parts), place)

    monkeypatch.setattr(os, "preadv", preadv)
    probed = held.probe(question, 100)
    assert len(search.scan(probed, question, 2)[0]) == 2
    assert 0 < sum(length for _, length in read) <= 8 * 20 * 2 * PAGE
    assert all(place % PAGE == length % PAGE == 0 for place, length in read)
    assert held.cache.bytes_read == 0
    assert sum(map(held.bytes_of, probed.tolist())) > 2 * sum(length for _, length in read)


def test_vectors_that_are_their_centroid_are_candidates_as_others(tmp_path: Path) -> None:
    """A vector that equals its centroid has a code for a difference of length 0."""
    vectors = np.resize(np.eye(4, DIMENSIONS, dtype=np.float32), (800, DIMENSIONS))
    write(tmp_path, vectors[:4], [lambda: vectors], codec="rabitq", threads=1)
    held = Ivf(tmp_path)
    numbers, products = RabitqSearch(held, MEMORY, 50).scan(held.probe(vectors[2], 4), vectors[2], 5)
    assert [number % 4 for number in numbers.tolist()] == [2] * 5
    assert products.tolist() == [1.0] * 5


def test_no_cluster_is_searched_for_none(tmp_path: Path) -> None:
    numbers, products = RabitqSearch(written(tmp_path / "a", unit(50), 4), MEMORY).scan(np.array([-1]), unit(1)[0], 5)
    assert numbers.size == products.size == 0


def test_memory_that_is_too_small_is_refused_with_what_is_needed(tmp_path: Path) -> None:
    held = written(tmp_path / "a", unit(500), 10)
    needed = codes_bytes(held.files)
    assert (tmp_path / "a" / CODES).stat().st_size == needed
    assert RabitqSearch(held, needed).memory == needed
    with pytest.raises(UsageError, match=r"need 0\.0 MB .* Set it to 1 at least, or build the index with --codec f16"):
        RabitqSearch(held, needed - 1)


def test_a_vector_of_384_takes_60_bytes(tmp_path: Path) -> None:
    vectors = np.eye(384, dtype=np.float32)
    assert codes_bytes(written(tmp_path / "a", vectors, 4).files) == 32 + 384 * 60


@pytest.mark.parametrize("kept", [0, 10, 100, -1])
def test_codes_that_were_cut_short_are_refused(tmp_path: Path, kept: int) -> None:
    held = written(tmp_path / "a", unit(50), 4)
    file = tmp_path / "a" / CODES
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(StoreCorrupt, match=rf"{CODES}.*Build the index again"):
        RabitqSearch(held, MEMORY)


def test_codes_that_are_gone_are_refused(tmp_path: Path) -> None:
    held = written(tmp_path / "a", unit(50), 4)
    (tmp_path / "a" / CODES).unlink()
    with pytest.raises(StoreCorrupt, match=CODES):
        RabitqSearch(held, MEMORY)


@given(place=st.integers(0), bit=st.integers(0, 7))
def test_a_bit_that_flipped_in_the_codes_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, place: int, bit: int
) -> None:
    folder = tmp_path_factory.mktemp("rabitq") / "a"
    held = written(folder, unit(50), 4)
    data = bytearray((folder / CODES).read_bytes())
    data[place % len(data)] ^= 1 << bit
    (folder / CODES).write_bytes(data)
    with pytest.raises(StoreCorrupt, match="damaged or belongs to other lists"):
        RabitqSearch(held, MEMORY)


def test_codes_of_other_lists_are_refused(tmp_path: Path) -> None:
    held, _other = written(tmp_path / "a", unit(51), 4), written(tmp_path / "b", unit(50), 4)
    (tmp_path / "b" / CODES).replace(tmp_path / "a" / CODES)
    with pytest.raises(StoreCorrupt, match="Build the index again"):
        RabitqSearch(held, MEMORY)


def test_a_machine_without_memory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = written(tmp_path / "a", unit(50), 4)

    def no_memory(size: int) -> None:
        raise StoreError(f"no {size}")

    monkeypatch.setattr("storage.rabitq_files.pages_of_memory", no_memory)
    with pytest.raises(StoreError, match=rf"There is no memory for .*{CODES}"):
        RabitqSearch(held, MEMORY)


@pytest.mark.parametrize("left", [0, 1000])
def test_lists_that_are_cut_while_they_are_searched_fail_the_question(tmp_path: Path, left: int) -> None:
    vectors = unit(2000)
    search = RabitqSearch(held := written(tmp_path / "a", vectors, 20), MEMORY)
    probed = held.probe(vectors[7], 20)
    assert search.scan(probed, vectors[7], 1)[0].tolist() == [7]
    os.truncate(tmp_path / "a" / LISTS, left)
    with pytest.raises(StoreCorrupt, match="cut short"):
        search.scan(probed, vectors[7], 1)


def test_a_disk_that_fails_fails_the_question_and_the_next_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit(2000)
    search = RabitqSearch(held := written(tmp_path / "a", vectors, 20), MEMORY)
    probed = held.probe(vectors[7], 20)

    def fails(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "preadv", fails)
        with pytest.raises(StoreError, match="input/output error"):
            search.scan(probed, vectors[7], 1)
    assert search.scan(probed, vectors[7], 1)[0].tolist() == [7]


def test_while_one_read_takes_long_others_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = unit(2000)
    search = RabitqSearch(held := written(tmp_path / "a", vectors, 20), MEMORY)
    real, waits, may_go_on = os.preadv, threading.Event(), threading.Event()

    def read(descriptor: int, parts: Sequence[memoryview], place: int) -> int:
        if not waits.is_set():
            waits.set()
            assert may_go_on.wait(30)
        return real(descriptor, list(parts), place)

    monkeypatch.setattr(os, "preadv", read)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(search.scan, held.probe(vectors[7], 20), vectors[7], 1)
        assert waits.wait(30)
        assert search.scan(held.probe(vectors[9], 20), vectors[9], 1)[0].tolist() == [9]
        assert not slow.done()
        may_go_on.set()
        assert slow.result(30)[0].tolist() == [7]


def test_it_is_searched_after_its_files_were_deleted(tmp_path: Path) -> None:
    vectors = unit(200)
    search = RabitqSearch(held := written(tmp_path / "a", vectors, 10), MEMORY)
    for name in (LISTS, CLUSTERS, CODES):
        (tmp_path / "a" / name).unlink()
    assert search.scan(held.probe(vectors[7], 10), vectors[7], 1)[0].tolist() == [7]


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real = [0], os.fsync

    def full(descriptor: int) -> None:
        calls[0] += 1
        if calls[0] == 2:  # of the lists, then of the codes
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotWritable, match=rf"{CODES}.*Make room"):
        written(tmp_path / "a", unit(50), 4)


def test_the_head_says_what_it_is(tmp_path: Path) -> None:
    """The format of the header must not change, because existing index files have it."""
    held = written(tmp_path / "a", unit(50), 4)
    magic, vectors, code_bytes = struct.unpack_from("<8sQQ", (tmp_path / "a" / CODES).read_bytes())
    assert (magic, vectors, code_bytes) == (b"jdrabq01", 50, rabitq_index(held.files).code_size)
    assert (tmp_path / "a" / CODES).stat().st_mode == (tmp_path / "a" / LISTS).stat().st_mode
    assert RERANKED == 100
