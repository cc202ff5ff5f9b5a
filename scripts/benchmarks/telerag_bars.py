"""The required limits of the benchmark `telerag`, and which of them the figures miss. Pure functions."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

MOST: Final = (
    ("ratio.on_demand_to_mapped.*", 0.2),
    ("ratio.on_demand_to_faiss_prefetch.*", 1.0),
    ("ratio.*.on_demand_to_bandwidth", 1.1),
    ("ratio.hyde.500.paper_retrieval", 0.35),
    ("ratio.hyde.500.progressive_retrieval", 0.2),
    ("ratio.*_total", 1.03),
    ("together.any_8", 0.9),
    ("together.grouped_from_64", 0.8),
)
"""Patterns of names of figures, with the greatest value that each figure may have."""

LEAST: Final = (
    ("telerag.*.ids_same", 1.0),
    ("telerag.*.reads_proven", 1.0),
    ("telerag.*.hyde_anchored.paper.*.coverage", 0.9),
    ("telerag.*.hyde_anchored.progressive.*.coverage", 0.95),
    ("ratio.*.100.*_saved_of_covered", 0.8),
    ("decode_ratio", 0.95),
    ("halves*.top10", 0.999),
    ("hit_rate_gain", 0.05),
    ("gpu.*.ids_same", 1.0),
    ("gpu.*.1.ratio", 1.5),
    ("gpu.*.[24].ratio", 1.46),
    ("gpu.*.8.ratio", 1.83),
)
"""Patterns of names of figures, with the least value that each figure may have."""


def missed(figures: Mapping[str, Any]) -> list[str]:
    """Return the names, joined by dots, of the figures that miss their limit; figures that were left out miss none."""
    return [
        name
        for name, value in _named(figures)
        if any(value > limit for pattern, limit in MOST if fnmatchcase(name, pattern))
        or any(value < limit for pattern, limit in LEAST if fnmatchcase(name, pattern))
    ]


def _named(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _named(value, f"{prefix}{key}.")
        elif isinstance(value, int | float):
            yield prefix + key, value
