"""Fusion of several rankings of passages into one ranking."""

from collections.abc import Sequence

from cloud_server.pipelines.steps import Passages
from shared.protocol.messages import PublicPassage

_DAMPING = 60
"""The constant k of reciprocal rank fusion (Cormack et al., 2009)."""


def fused(rankings: Sequence[Passages], most: int) -> Passages:
    """Return the `most` passages with the best fused ranks, without repetitions; equal ranks are sorted by
    similarity.
    """
    scores: dict[int, float] = {}
    passages: dict[int, PublicPassage] = {}
    for ranking in rankings:
        for rank, passage in enumerate(ranking, 1):
            scores[passage.id] = scores.get(passage.id, 0.0) + 1 / (_DAMPING + rank)
            best = passages.get(passage.id)
            if best is None or passage.similarity > best.similarity:
                passages[passage.id] = passage
    order = sorted(passages, key=lambda number: (-scores[number], -passages[number].similarity))
    return tuple(passages[number] for number in order[:most])
