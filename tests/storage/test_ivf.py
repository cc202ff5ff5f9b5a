"""Searching clusters on disk: the results equal an exhaustive search of the probed clusters, however the file was
written.
"""

import errno
import os
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import NotWritable, StoreCorrupt
from storage.ivf import Ivf, clusters_for, in_a_row, probes_for, train
from storage.ivf_files import CLUSTERS, LISTS, Codec, Numbers, Vectors, inverted
from storage.ivf_writing import write

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss

DIMENSIONS = 16


def unit(count: int, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32)
    scaled: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return scaled


def written(
    folder: Path,
    vectors: Vectors,
    clusters: int,
    block: int = 100,
    base: Ivf | None = None,
    codec: Codec = "f32",
) -> Ivf:
    folder.mkdir()
    centroids = base.centroids if base else train(vectors, clusters, threads=1)
    starts = range(0, len(vectors), block)
    write(
        folder,
        centroids,
        [partial(np.copy, vectors[start : start + block]) for start in starts],
        base=base.files if base else None,
        codec=codec,
        threads=1,
    )
    return Ivf(folder)


def search(held: Ivf, vector: Vectors, k: int, nprobe: int) -> tuple[Numbers, Vectors]:
    return held.scan(held.probe(vector, nprobe), vector, k)


def nearest(vectors: Vectors, question: Vectors, most: int) -> Sequence[int]:
    ranked: list[int] = np.argsort(-(vectors @ question), kind="stable")[:most].tolist()
    return ranked


@given(count=st.integers(1, 300), clusters=st.integers(1, 12), block=st.integers(1, 400), most=st.integers(1, 20))
def test_all_clusters_probed_is_exact(
    tmp_path_factory: pytest.TempPathFactory, count: int, clusters: int, block: int, most: int
) -> None:
    vectors = unit(count)
    held = written(tmp_path_factory.mktemp("ivf") / "a", vectors, min(clusters, count), block)
    assert len(held) == count
    assert held.sizes.sum() == count
    assert held.dimensions == DIMENSIONS
    question = unit(1, seed=9)[0]
    numbers, products = search(held, question, most, held.clusters)
    assert numbers.tolist() == nearest(vectors, question, most)
    np.testing.assert_allclose(products, vectors[numbers] @ question, atol=1e-5)


def test_a_few_probed_are_exact_among_the_vectors_nearest_to_those_centroids(tmp_path: Path) -> None:
    vectors, question = unit(500), unit(1, seed=9)[0]
    held = written(tmp_path / "a", vectors, 20)
    probed = np.argsort(-(held.centroids @ question))[:3]
    inside = np.isin((vectors @ held.centroids.T).argmax(axis=1), probed)
    expected = np.flatnonzero(inside)[np.argsort(-(vectors[inside] @ question), kind="stable")[:10]]
    assert search(held, question, 10, 3)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("nprobe", [1, 2, 7, 20, 99])
def test_ids_are_those_of_faiss_at_the_same_nprobe(tmp_path: Path, nprobe: int) -> None:
    import faiss

    vectors = unit(600)
    held = written(tmp_path / "a", vectors, 20)
    quantizer = faiss.IndexFlatIP(DIMENSIONS)
    quantizer.add(held.centroids)
    theirs = faiss.IndexIVFFlat(quantizer, DIMENSIONS, 20, faiss.METRIC_INNER_PRODUCT)
    theirs.add(vectors)
    theirs.nprobe = nprobe
    for question in unit(50, seed=9):
        products, numbers = theirs.search(question[None], 10)
        ours, scores = search(held, question, 10, nprobe)
        assert ours.tolist() == [number for number in numbers[0].tolist() if number >= 0]
        assert scores.tolist() == products[0][numbers[0] >= 0].tolist()


def test_probing_names_the_nearest_centroids_first(tmp_path: Path) -> None:
    held, question = written(tmp_path / "a", unit(500), 20), unit(1, seed=9)[0]
    ranked = np.argsort(-(held.centroids @ question), kind="stable")
    assert held.probe(question, 3).tolist() == ranked[:3].tolist()
    assert held.probe(question, 99).tolist() == ranked.tolist()


def test_clusters_are_scanned_one_after_another_as_together(tmp_path: Path) -> None:
    """Clusters that were read earlier may be scanned first, in any order; the result is that of a scan in order."""
    held, question = written(tmp_path / "a", unit(500), 20), unit(1, seed=9)[0]
    clusters = held.probe(question, 6)
    whole = held.scan(clusters, question, 10)
    parts = [held.scan(clusters[start::2], question, 10) for start in (1, 0)]
    numbers, products = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert numbers[np.argsort(-products, kind="stable")[:10]].tolist() == whole[0].tolist()
    assert held.scan(clusters[::-1], question, 10)[0].tolist() == whole[0].tolist()
    assert held.scan(clusters[:0], question, 10)[0].size == 0


def test_vectors_are_found_again_as_the_nearest_of_themselves(tmp_path: Path) -> None:
    vectors = unit(400)
    held = written(tmp_path / "a", vectors, 20)
    assert [int(search(held, vector, 1, 1)[0][0]) for vector in vectors] == list(range(400))


@given(st.integers(1, 200), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_what_is_added_is_numbered_on_and_leaves_the_rest_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, first: int, more: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("ivf")
    vectors = unit(first)
    held = written(folder / "0", vectors, min(5, first))
    for number, count in enumerate(more, 1):
        added = unit(count, seed=number)
        vectors = np.concatenate([vectors, added])
        held = written(folder / str(number), added, 0, base=held)
    question = unit(1, seed=99)[0]
    assert search(held, question, len(vectors), held.clusters)[0].tolist() == nearest(vectors, question, len(vectors))


def test_it_is_searched_after_its_files_were_deleted_or_moved(tmp_path: Path) -> None:
    vectors = unit(200)
    held = written(tmp_path / "a", vectors, 10)
    (tmp_path / "a").rename(tmp_path / "b")
    moved = Ivf(tmp_path / "b")
    for name in (LISTS, CLUSTERS):
        (tmp_path / "b" / name).unlink()
    for index in (held, moved):
        assert search(index, vectors[7], 1, 10)[0].tolist() == [7]


def test_fewer_are_found_than_wanted_where_fewer_are_there(tmp_path: Path) -> None:
    assert search(written(tmp_path / "a", unit(3), 2), unit(1)[0], 10, 2)[0].size == 3


@given(
    count=st.integers(1, 300),
    clusters=st.integers(1, 20),
    copies=st.integers(0, 40),
    nprobe=st.integers(1, 20),
    most=st.integers(1, 30),
    memory=st.integers(0, 40_000),
    codec=st.sampled_from(get_args(Codec)),
)
def test_ids_and_products_are_those_of_faiss_to_the_bit_ties_too(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    clusters: int,
    copies: int,
    nprobe: int,
    most: int,
    memory: int,
    codec: Codec,
) -> None:
    vectors = np.concatenate([unit(count), unit(count)[:copies], unit(count)[: copies // 2]])
    folder = tmp_path_factory.mktemp("ivf") / "a"
    written(folder, vectors, min(clusters, count), codec=codec)
    held = Ivf(folder, memory)
    index = inverted(held.files)
    index.add(vectors)
    index.nprobe = min(nprobe, held.clusters)
    for question in (*unit(3, seed=5), vectors[0]):
        products, numbers = index.search(question[None], most)
        is_hit = numbers[0] >= 0
        ours, theirs = search(held, question, most, nprobe), (numbers[0][is_hit], products[0][is_hit])
        assert ours[0].tolist() == theirs[0].tolist()
        assert ours[1].tobytes() == theirs[1].tobytes()


def test_an_index_is_added_to_in_its_own_codec(tmp_path: Path) -> None:
    vectors = unit(300)
    codecs: tuple[Codec, ...] = get_args(Codec)
    for codec, other in permutations(codecs, 2):
        held = written(tmp_path / f"{codec} for {other}", vectors[:200], 10, codec=codec)
        more = written(tmp_path / f"{codec} and {other}", vectors[200:], 10, base=held, codec=other)
        assert more.files.codec == codec
        assert search(more, vectors[250], 1, 10)[0].tolist() == [250]


@pytest.mark.parametrize("left", [0, 1000, -100])
def test_a_file_that_is_cut_while_it_is_searched_fails_the_question_and_nothing_else(tmp_path: Path, left: int) -> None:
    vectors = unit(2000)
    held = written(tmp_path / "a", vectors, 20)
    first = held.probe(vectors[7], 1)
    assert held.scan(first, vectors[7], 1)[0].tolist() == [7]
    file = tmp_path / "a" / LISTS
    os.truncate(file, left % file.stat().st_size)
    with pytest.raises(StoreCorrupt, match="cut short"):
        search(held, vectors[7], 1, 20)
    assert held.scan(first, vectors[7], 1)[0].tolist() == [7], "what is in memory is searched"


@pytest.mark.parametrize("name", [LISTS, CLUSTERS])
@pytest.mark.parametrize("kept", [0, 10, 100, -1])
def test_files_that_were_cut_short_are_refused(tmp_path: Path, name: str, kept: int) -> None:
    written(tmp_path / "a", unit(50), 4)
    file = tmp_path / "a" / name
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(StoreCorrupt, match="Build the index again"):
        Ivf(tmp_path / "a")


@pytest.mark.parametrize("name", [LISTS, CLUSTERS])
def test_files_that_are_gone_are_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path / "a", unit(50), 4)
    (tmp_path / "a" / name).unlink()
    with pytest.raises(StoreCorrupt, match=name):
        Ivf(tmp_path / "a")


def test_a_full_disk_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(NotWritable, match="Make room"):
        written(tmp_path / "a", unit(50), 4)


def test_training_is_the_same_every_time_and_tells_how_far_it_is() -> None:
    progress: list[tuple[int, int]] = []
    sample = unit(300)
    first = train(sample, 8, threads=1, on_iteration=lambda done, total: progress.append((done, total)))
    assert np.array_equal(first, train(sample, 8, threads=1))
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)
    assert [done for done, _ in progress] == list(range(1, progress[-1][1] + 1))


def test_the_most_similar_centroid_that_is_left_follows_each() -> None:
    centroids = unit(40)
    row = in_a_row(centroids)
    assert sorted(map(tuple, row.tolist())) == sorted(map(tuple, centroids.tolist()))
    for place in range(len(row) - 1):
        near = row[place + 1 :] @ row[place]
        assert near[0] == near.max()


@pytest.mark.parametrize(("vectors", "clusters"), [(1, 1), (4, 4), (10_000, 400), (1_000_000, 4000)])
def test_clusters_grow_with_the_root_of_the_vectors(vectors: int, clusters: int) -> None:
    assert clusters_for(vectors) == clusters


@pytest.mark.parametrize(
    ("clusters", "vectors", "probes"),
    [(1, 1, 1), (400, 10_000, 400), (1265, 100_000, 253), (4000, 1_000_000, 253), (4096, 21_000_000, 256)],
)
def test_probes_are_four_times_the_root_of_the_clusters_and_more_of_a_small_index(
    clusters: int, vectors: int, probes: int
) -> None:
    assert probes_for(clusters, vectors) == probes


@pytest.mark.parametrize("left", [0, 1000, -8, None])
def test_nothing_is_added_to_lists_that_were_cut_short_or_are_gone(tmp_path: Path, left: int | None) -> None:
    vectors = unit(100)
    held = written(tmp_path / "a", vectors, 4)
    file = tmp_path / "a" / LISTS
    if left is None:
        file.unlink()
    else:
        os.truncate(file, left % file.stat().st_size)
    with pytest.raises(StoreCorrupt, match="Build the index again"):
        written(tmp_path / "b", unit(10), 4, base=held)
    assert not (tmp_path / "b" / LISTS).exists()


def test_no_cluster_is_scanned_for_none(tmp_path: Path) -> None:
    held = written(tmp_path / "a", unit(50), 4)
    assert not held.scan(np.array([-1, -1]), unit(1)[0], 5)[0].size


@given(
    count=st.integers(1, 200),
    clusters=st.integers(1, 16),
    copies=st.integers(0, 120),
    probes=st.lists(st.integers(1, 16), min_size=1, max_size=5),
    most=st.integers(1, 30),
    memory=st.integers(0, 40_000),
    codec=st.sampled_from(get_args(Codec)),
    warm=st.lists(st.integers(0, 15), max_size=6),
)
def test_several_questions_together_get_what_faiss_gives_each_to_the_bit_ties_too(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    clusters: int,
    copies: int,
    probes: list[int],
    most: int,
    memory: int,
    codec: Codec,
    warm: list[int],
) -> None:
    """Some clusters are in memory and scanned first; `copies` vectors are repetitions, so that there are ties."""
    vectors = np.concatenate([unit(count), np.resize(unit(count)[: max(1, count // 8)], (copies, DIMENSIONS))])
    folder = tmp_path_factory.mktemp("ivf") / "a"
    written(folder, vectors, min(clusters, count), codec=codec)
    held = Ivf(folder, memory)
    index = inverted(held.files)
    index.add(vectors)
    held.scan(np.array([cluster % held.clusters for cluster in warm], np.int64), vectors[0], 1)
    questions = np.concatenate([unit(len(probes), seed=5)[:-1], vectors[:1]])
    probed = [held.probe(question, nprobe) for question, nprobe in zip(questions, probes, strict=True)]
    together = held.scan_many(probed, questions, most)
    for question, nprobe, ours in zip(questions, probes, together, strict=True):
        index.nprobe = min(nprobe, held.clusters)
        products, numbers = index.search(question[None], most)
        is_hit = numbers[0] >= 0
        assert ours[0].tolist() == numbers[0][is_hit].tolist()
        assert ours[1].tobytes() == products[0][is_hit].tobytes()


def test_several_questions_share_the_reads_of_their_clusters(tmp_path: Path) -> None:
    written(tmp_path / "a", unit(3000), 40)
    questions = unit(6, seed=3)
    alone, together = Ivf(tmp_path / "a", 0), Ivf(tmp_path / "a", 0)
    probed = [together.probe(question, 20) for question in questions]
    together.scan_many(probed, questions, 5)
    for clusters, question in zip(probed, questions, strict=True):
        alone.scan_many([clusters], question[None], 5)
    union = {cluster for clusters in probed for cluster in clusters.tolist()}
    read = sum(together.bytes_of(cluster) for cluster in union)
    assert read <= together.cache.bytes_read <= read + 8192 * len(union)
    assert together.cache.bytes_read < 0.5 * alone.cache.bytes_read


def test_what_is_in_memory_alone_is_scanned_without_a_read(tmp_path: Path) -> None:
    vectors = unit(500)
    written(tmp_path / "a", vectors, 20)
    held = Ivf(tmp_path / "a")
    clusters = held.probe(vectors[7], 6)
    assert held.scan_ready(clusters, vectors[7], 3)[0].size == 0
    held.scan(clusters[:3], vectors[7], 3)
    before = held.cache.bytes_read
    ready, scanned = held.scan_ready(clusters, vectors[7], 3), held.scan(clusters[:3], vectors[7], 3)
    assert ready[0].tolist() == scanned[0].tolist()
    assert held.cache.bytes_read == before
