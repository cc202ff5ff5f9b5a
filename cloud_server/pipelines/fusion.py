"""Rankings of passages made into one."""

from collections.abc import Sequence

from cloud_server.pipelines.steps import Passages
from shared.protocol.messages import PublicPassage

_DAMPING = 60
"""Of reciprocal rank fusion (Cormack et al., 2009)."""


def fused(rankings: Sequence[Passages], most: int) -> Passages:
    """The `most` passages that stand highest over all rankings, each once; of equals, the nearest to its query."""
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
