"""Measures how well the guard of the QA bank (a cache of questions and answers) distinguishes a paraphrase from a
question with another answer.

Each paraphrase is asked of a bank with all originals, then of one without its own original; each near-miss, written for
this project, is asked of the one question that it resembles. Another original with the same meaning counts as wrong, so
that some of the counted errors are not errors. Duplicate texts are one entry, as in the bank.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from device_app.cache.answers.guard import Verdict, compare
from models.engine import Embedder

THRESHOLDS = tuple(round(0.7 + 0.025 * step, 3) for step in range(11))
CANDIDATES = 8
"""The number of cached questions that are compared with a question, most similar first by cosine."""

Decide = Callable[[str, str, float, float], Verdict]


@dataclass(frozen=True, slots=True)
class Pair:
    """A cached question and a later one. `changed` names the difference in meaning; None if they mean the same."""

    cached: str
    asked: str
    changed: str | None = None


def paraphrases(data: Path) -> list[Pair]:
    """Return the paraphrase pairs in a folder of evaluation data; none if the folder has none."""
    return [Pair(row["origin"], row["similar"]) for row in _rows(data / "paraphrases" / "pairs.jsonl")]


def near_misses() -> list[Pair]:
    """Return the project's own near-misses, and its own paraphrases from the same domain."""
    return [Pair(**row) for row in _rows(Path(__file__).with_name("near_misses.jsonl"))]


def blind() -> list[Pair]:
    """Return near-misses (swapped roles, negations, days) and paraphrases by an author who had not seen the guard."""
    names = ("near_misses_blind.jsonl", "paraphrases_blind.jsonl")
    return [Pair(**row) for name in names for row in _rows(Path(__file__).with_name(name))]


def cosine_alone(_asked: str, _cached: str, cosine: float, threshold: float) -> Verdict:
    """Decide by the cosine alone, without a guard, as in the paper (§4.2.1)."""
    return Verdict(cosine >= threshold, f"cosine {cosine:.2f}", cosine)


def measure(
    pairs: Sequence[Pair],
    near: Sequence[Pair],
    embedder: Embedder,
    threshold: float,
    decide: Decide = compare,
) -> dict[str, float]:
    """Return the shares of questions that are served: by their own original, by another one, by any if their own is not
    in the bank; and of near-misses and the project's paraphrases. Empty categories are left out.
    """
    return curve(pairs, near, embedder, (threshold,), decide)[threshold]


def curve(
    pairs: Sequence[Pair],
    near: Sequence[Pair],
    embedder: Embedder,
    thresholds: Sequence[float] = THRESHOLDS,
    decide: Decide = compare,
) -> dict[float, dict[str, float]]:
    """Return the figures of `measure` for each threshold."""
    known = _asked_of_bank(pairs, embedder, decide)
    unknown = [[(own, value) for own, value in candidates if not own] for candidates in known]
    likeness = _asked_of_own(near, embedder, decide)
    figures: dict[float, dict[str, float]] = {}
    for threshold in thresholds:
        best = [_served(candidates, threshold) for candidates in known]
        shares = {
            "right_hit": [own is True for own in best],
            "wrong_hit": [own is False for own in best],
            "never_cached_hit": [_served(candidates, threshold) is not None for candidates in unknown],
            "near_miss_hit": [value >= threshold for pair, value in zip(near, likeness, strict=True) if pair.changed],
            "paraphrase_hit": [
                value >= threshold for pair, value in zip(near, likeness, strict=True) if not pair.changed
            ],
        }
        figures[threshold] = {name: round(sum(held) / len(held), 4) for name, held in shares.items() if held}
    return figures


def _asked_of_bank(pairs: Sequence[Pair], embedder: Embedder, decide: Decide) -> list[list[tuple[bool, float]]]:
    """Return, for each pair's later question, its candidates: whether each is the question's own original, and the
    similarity.
    """
    bank = list(dict.fromkeys(pair.cached for pair in pairs))
    cosines = embedder.embed([pair.asked for pair in pairs]) @ embedder.embed(bank).T
    matches = []
    for pair, row in zip(pairs, cosines, strict=True):
        # One more, as its own original may be left out.
        nearest = np.argsort(-row, kind="stable")[: CANDIDATES + 1]
        matches.append(
            [(bank[at] == pair.cached, decide(pair.asked, bank[at], float(row[at]), 0.0).similarity) for at in nearest]
        )
    return matches


def _asked_of_own(pairs: Sequence[Pair], embedder: Embedder, decide: Decide) -> list[float]:
    """Return the similarity of each pair's two questions."""
    cosines = np.sum(
        embedder.embed([pair.asked for pair in pairs]) * embedder.embed([pair.cached for pair in pairs]), 1
    )
    return [
        decide(pair.asked, pair.cached, float(cosine), 0.0).similarity
        for pair, cosine in zip(pairs, cosines, strict=True)
    ]


def _served(candidates: Sequence[tuple[bool, float]], threshold: float) -> bool | None:
    """Return whether the best of the first candidates is the question's own original; None if no candidate is
    served.
    """
    own, similarity = max(candidates[:CANDIDATES], key=lambda candidate: candidate[1], default=(False, -1.0))
    return own if similarity >= threshold else None


def _rows(path: Path) -> Iterator[dict[str, str]]:
    if path.is_file():
        yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())
