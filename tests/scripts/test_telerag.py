"""The benchmark of the index: its counts, on small examples that can be checked by hand."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from scripts.benchmarks.telerag_ahead import Limited, measured, ratios
from scripts.benchmarks.telerag_bars import missed
from scripts.benchmarks.telerag_codes import extended, halves, searched
from scripts.benchmarks.telerag_cold import BLOCK, made_blocks, made_index, questions
from scripts.benchmarks.telerag_data import Around, Round
from scripts.benchmarks.telerag_reuse import hit_rates, overlap, together
from scripts.benchmarks.telerag_scale import write_index
from storage.ivf import Ivf, clusters_for
from storage.ivf_files import Numbers, Vectors

pytest.importorskip("faiss", reason="needs the server extra")
pytestmark = pytest.mark.faiss


class Probing:
    """A fake index with clusters of ten bytes; a question's vector lists the numbers of the clusters that it needs."""

    clusters = 16

    def probe(self, vector: Vectors, nprobe: int) -> Numbers:
        return vector[:nprobe].astype(np.int64)

    def bytes_of(self, cluster: int) -> int:
        return 10


def named(*clusters: int) -> Vectors:
    return np.array(clusters, np.float32)


def test_overlap_is_of_the_clusters_nearest_to_the_question() -> None:
    query = named(0, 9, 2, 5)
    asked = [Round(named(0, 1, 2, 3, 4, 5, 6, 7), named(0), query[None]), Round(None, None, query[None])]
    assert overlap(Probing(), asked, 2) == {"1": 0.5, "2": 0.5, "4": 0.5}  # type: ignore[arg-type]  # what it uses
    assert overlap(Probing(), asked, 4) == {"1": 0.5, "2": 0.75, "4": 0.75}  # type: ignore[arg-type]  # the same
    two = [Round(asked[0].near, None, np.stack([query, named(0, 1, 2, 3)]))]
    assert overlap(Probing(), two, 4) == {"1": 0.75, "2": 0.875, "4": 0.875}  # type: ignore[arg-type]  # the same
    assert overlap(Probing(), asked[1:], 4) == {}  # type: ignore[arg-type]  # the same


def test_what_is_read_together_is_the_union() -> None:
    alike = np.stack([named(0, 1)] * 32 + [named(2, 3)] * 32)
    shares = together(Probing(), alike, 2)  # type: ignore[arg-type]  # what it uses
    assert shares["grouped_from_64"] == pytest.approx(1 / 8)
    assert shares["any_8"] > 1 / 8


def test_hit_rates_of_policies() -> None:
    questions_: Sequence[tuple[int, int]] = [(0, 1), (2, 3), (0, 1), (4, 5), (0, 1), (6, 7), (0, 1)]
    rates = hit_rates(Probing(), np.stack([named(*each) for each in questions_]), 2)  # type: ignore[arg-type]  # the same
    assert set(rates) == {"lru", "halving", "decay", "fixed"}
    assert rates["lru"]["0.125"] == 0.0
    assert rates["decay"]["0.125"] == pytest.approx(4 / 14, abs=1e-3)  # once 0 and 1 were asked for twice, they stay
    assert rates["fixed"]["0.125"] == pytest.approx(8 / 14, abs=1e-3)


def test_a_limited_disk_takes_its_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))
    file = Limited(path, 100_000, 1e6)
    started = time.perf_counter()
    for _ in range(2):
        file.read([memoryview(bytearray(102_400))], 0, 100_000)
    assert time.perf_counter() - started >= 0.2


def test_made_vectors_lie_around_real_ones() -> None:
    real = questions(40)
    made = Around(real).of(50, 1)
    assert made.shape == (50, 384)
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert np.array_equal(made, Around(real).of(50, 1))
    assert (made @ real.T).max(axis=1).min() > 0.5


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="drops the page cache")
def test_a_replayed_question_in_each_arm(tmp_path: Path) -> None:
    made_index(tmp_path / "index", 2000, "f16", 1)
    near = questions(2)
    asked = [Round(near[0], near[0], near[:1])]
    figures = measured(tmp_path / "index", [asked] * 3, "500", 40, 0.6)  # reads ahead wait for others on a busy machine
    assert figures["on_demand"]["coverage"] == figures["on_demand"]["bytes_ahead"] == 0
    assert figures["paper"]["coverage"] == 1
    assert {arm["ids_same"] for arm in figures.values()} == {1}
    bars = ratios(figures, 500e6)
    assert bars["on_demand_to_bandwidth"] > 0
    assert set(bars) >= {"paper_retrieval", "progressive_retrieval", "paper_total", "paper_saved_of_covered"}
    assert len(Ivf(tmp_path / "index")) == 2000


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="drops the page cache")
def test_the_rounds_of_a_question_are_replayed_one_after_the_other(tmp_path: Path) -> None:
    made_index(tmp_path / "index", 2000, "f16", 1)
    near = questions(3)
    asked = [Round(None, None, near[:1]), Round(near[1], None, near[1:]), Round(near[2], None, near[2:])]
    figures = measured(tmp_path / "index", [asked], "native", 10, 0.3)
    assert {arm["ids_same"] for arm in figures.values()} == {1}
    demanded, ahead = figures["on_demand"], figures["paper"]
    needed = {arm["bytes_needed"] for arm in figures.values()}
    assert len(needed) == 1
    assert 0 < demanded["bytes_ready"] < ahead["bytes_ready"]  # the last query needs what the one before it has read
    assert demanded["bytes_ahead"] == 0
    assert ahead["bytes_ahead"] >= ahead["bytes_wasted"] >= 0
    assert min(arm["total_ms"] - arm["retrieval_ms"] for arm in figures.values()) >= 600


def test_times_are_compared_with_the_disk_only_where_nothing_was_in_memory() -> None:
    demanded = {"retrieval_ms": 100, "total_ms": 200, "mean_ms": 100, "bytes_needed": 45e6, "bytes_ready": 0}
    ahead = demanded | {"retrieval_ms": 20, "total_ms": 120, "mean_ms": 10, "bytes_ready": 45e6}
    nothing_came = demanded | {"retrieval_ms": 110}
    arms = {"on_demand": demanded, "paper": ahead, "progressive": nothing_came}
    plain = {"paper_retrieval": 0.2, "paper_total": 0.6, "progressive_retrieval": 1.1, "progressive_total": 1.0}
    assert ratios(arms, 0.0) == plain
    assert ratios(arms, 500e6) == plain | {"on_demand_to_bandwidth": 1.111, "paper_saved_of_covered": 1.0}
    assert ratios(arms | {"on_demand": demanded | {"bytes_ready": 1}}, 500e6) == plain


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="drops the page cache")
def test_codes_are_compared_with_exact_searches_of_an_index_that_was_added_to(tmp_path: Path) -> None:
    made_index(tmp_path / "index", 2000, "rabitq", 1)
    extended(tmp_path / "larger", tmp_path / "index", made_blocks(BLOCK, BLOCK + 500), 1)
    figures = searched(tmp_path / "larger", questions(5))
    assert (figures["vectors"], figures["questions"], figures["nprobe"]) == (2500, 5, Ivf(tmp_path / "index").clusters)
    assert 0.9 <= figures["recall10"] <= 1 == figures["recall3"]
    assert figures["memory_bytes"] == 32 + 2500 * 60


@pytest.mark.long
def test_blocks_of_made_vectors_go_on_where_others_end() -> None:
    around = Around(questions(40))
    for blocks in (made_blocks, around.blocks):
        whole = [block() for block in blocks(0, 2 * BLOCK)]
        (more,) = blocks(BLOCK, 2 * BLOCK)
        assert np.array_equal(more(), whole[1])


def test_an_index_that_is_made_without_training_holds_each_vector_once_and_near_its_centroid(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1).standard_normal((40, 16)).astype(np.float32)
    around = Around(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))
    write_index(tmp_path / "index", around, 1_001, "f16")
    made = Ivf(tmp_path / "index")
    assert (len(made), made.clusters, made.dimensions) == (1_001, clusters_for(1_001), 16)
    assert made.sizes.max() - made.sizes.min() <= 1
    every = np.arange(made.clusters)
    numbers, products = made.scan(every, made.centroids[3], 1_001)
    assert sorted(numbers.tolist()) == list(range(1_001))
    own = range(int(made.sizes[:3].sum()), int(made.sizes[:4].sum()))
    near = dict(zip(numbers.tolist(), products.tolist(), strict=True))
    assert min(near[number] for number in own) > 0.8  # 1 / sqrt(1 + .5²) = .89, where noise is at right angles


def test_halves_that_change_which_vectors_are_the_nearest_are_counted() -> None:
    above = [[0.6 + 0.05 * place, 0.6] for place in range(9)]
    rounded_down, rounded_up = [0.5002, 0.5002], [0.5003, 0.50005]  # halves of .5 and more are 2⁻¹¹ apart
    vectors = np.array([*above, rounded_down, rounded_up], np.float32)
    asked = np.array([[1.0, 1.0], [1.0, -1.0]], np.float32)
    figures = halves([lambda: vectors[:4], lambda: vectors[4:]], asked)
    assert figures == halves([lambda: vectors], asked)
    assert figures == {"top10": 0.95, "top3": 1.0, "vectors": 11, "questions": 2}


def test_limits_that_are_missed_are_named() -> None:
    figures = {
        "telerag": {"native": {"f16": {"plain": {"on_demand": {"64": {"ids_same": 1.0, "reads_proven": 0.9583}}}}}},
        "ratio": {
            "on_demand_to_mapped": {"64": 0.2, "128": 0.21},
            "hyde": {
                "500": {"paper_retrieval": 0.36, "paper_total": 1.0, "on_demand_to_bandwidth": 1.15},
                "100": {"paper_retrieval": 0.9, "progressive_total": 1.04, "paper_saved_of_covered": 0.7},
            },
        },
        "decode_ratio": 0.905,
        "hit_rate_gain": 0.05,
        "gpu": {"left_out": "needs a GPU"},
        "halves": {"top10": 0.9985},
        "halves_real": {"top10": 0.9995},
    }
    assert missed(figures) == [
        "telerag.native.f16.plain.on_demand.64.reads_proven",
        "ratio.on_demand_to_mapped.128",
        "ratio.hyde.500.paper_retrieval",
        "ratio.hyde.500.on_demand_to_bandwidth",
        "ratio.hyde.100.progressive_total",
        "ratio.hyde.100.paper_saved_of_covered",
        "decode_ratio",
        "halves.top10",
    ]
    gpu = {"64": {"1": {"ratio": 1.49, "ids_same": 1.0}, "4": {"ratio": 1.46}, "8": {"ratio": 1.7}}}
    assert missed({"gpu": gpu}) == ["gpu.64.1.ratio", "gpu.64.8.ratio"]
