"""Counts how much the clusters of a question overlap: with those of its rewriting, with those of other questions, and
over time.

Counts the clusters that real questions probe, without reading any.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from cloud_server.retrieval.grouping import group
from scripts.benchmarks.telerag_data import Round
from storage.hotness import DECAY
from storage.ivf import Ivf
from storage.ivf_files import Numbers, Vectors

TIMES: Final = (1, 2, 4)
SHARES: Final = (0.125, 0.25)
TOGETHER, WAITING, DRAWS = 8, 64, 5

Scores = npt.NDArray[np.float64]
Use = Callable[[Scores, Numbers, int], None]
"""A function that updates the clusters' scores, shape (clusters,), given a question's clusters and its number."""


def overlap(vectors: Ivf, rounds: Iterable[Round], nprobe: int) -> dict[str, float]:
    """Return the share of the `nprobe` clusters of each query that are among the 1, 2 and 4 times `nprobe` clusters
    nearest to the vector from which the look-ahead starts (the paper's equation 3.1); the mean over all queries. Rounds
    without look-ahead do not count.
    """
    shares: dict[int, list[float]] = {times: [] for times in TIMES}
    for each in rounds:
        if each.near is None:
            continue
        near = vectors.probe(each.near, TIMES[-1] * nprobe).tolist()
        for query in each.queries:
            needed = set(vectors.probe(query, nprobe).tolist())
            for times in TIMES:
                shares[times].append(len(needed & set(near[: times * nprobe])) / len(needed))
    return {str(times): round(float(np.mean(every)), 3) for times, every in shares.items() if every}


def together(vectors: Ivf, questions: Vectors, nprobe: int) -> dict[str, float]:
    """Return the bytes read for eight questions searched together, relative to those for the same questions searched
    one by one: for eight arbitrary questions, and for eight similar ones out of 64.
    """
    chance = np.random.default_rng(1)
    any_eight: list[list[tuple[int, int]]] = []
    grouped: list[list[tuple[int, int]]] = []
    for _ in range(DRAWS):
        rows = chance.choice(len(questions), WAITING, replace=len(questions) < WAITING)
        waiting = [frozenset(vectors.probe(questions[row], nprobe).tolist()) for row in rows]
        any_eight.append([_bytes(vectors, waiting[start : start + TOGETHER]) for start in range(0, WAITING, TOGETHER)])
        grouped.append([])
        while waiting:
            places = group(waiting, TOGETHER)
            grouped[-1].append(_bytes(vectors, [waiting[place] for place in places]))
            waiting = [clusters for place, clusters in enumerate(waiting) if place not in places]
    return {"any_8": _share(any_eight), "grouped_from_64": _share(grouped)}


def _bytes(vectors: Ivf, asked: Sequence[frozenset[int]]) -> tuple[int, int]:
    union = frozenset[int]().union(*asked)
    return sum(map(vectors.bytes_of, union)), sum(sum(map(vectors.bytes_of, clusters)) for clusters in asked)


def _share(rounds: Sequence[Sequence[tuple[int, int]]]) -> float:
    every = [pair for pairs in rounds for pair in pairs]
    return round(sum(read for read, _ in every) / sum(alone for _, alone in every), 3)


def hit_rates(vectors: Ivf, questions: Vectors, nprobe: int) -> dict[str, Any]:
    """Return, as `POLICY.SHARE`, the share of the clusters needed by successive questions that are in memory already.

    The policy `fixed` keeps a set of clusters that never changes; it is the best such set, chosen in hindsight.
    """
    probed = [vectors.probe(question, nprobe) for question in questions]
    policies: Mapping[str, Use] = {"lru": _lru, "halving": _halving, "decay": _decay}
    rates: dict[str, dict[str, float]] = {
        name: {str(share): _rate(probed, vectors.clusters, share, use) for share in SHARES}
        for name, use in policies.items()
    }
    counts = np.bincount(np.concatenate(probed), minlength=vectors.clusters)
    best = np.sort(counts)[::-1]
    rates["fixed"] = {
        str(share): round(float(best[: round(share * len(best))].sum() / counts.sum()), 4) for share in SHARES
    }
    return rates


def _rate(probed: Sequence[Numbers], clusters: int, share: float, use: Use) -> float:
    capacity, scores = round(share * clusters), np.zeros(clusters, np.float64)
    resident = np.zeros(clusters, bool)
    hits = 0
    for number, asked in enumerate(probed, 1):
        hits += int(resident[asked].sum())
        use(scores, asked, number)
        resident[asked] = True
        held = np.flatnonzero(resident)
        if len(held) > capacity:
            resident[held[np.argsort(-scores[held], kind="stable")[capacity:]]] = False
    return round(hits / sum(map(len, probed)), 4)


def _lru(scores: Scores, asked: Numbers, number: int) -> None:
    scores[asked] = number


def _halving(scores: Scores, asked: Numbers, number: int) -> None:  # noqa: ARG001  # of one form with the others
    scores /= 2
    scores[asked] += 1


def _decay(scores: Scores, asked: Numbers, number: int) -> None:  # noqa: ARG001  # the same
    scores *= DECAY
    scores[asked] += 1
