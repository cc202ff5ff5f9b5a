"""Finds the sentence of the sources that supports an answer: a proof, or else the nearest sentence.

The nearest sentence is chosen by its meaning and by the words it shares with the answer. Beside the sentence that it
should have copied, a small model's mistake is obvious. Only a proof is quoted.
"""

import re
from collections.abc import Sequence

from device_app.knowledge.proof import Subject
from device_app.question.evidence import Carried, Evidence
from models.engine import Embedder
from shared.text import sentences
from shared.types import StoredPassage

SUPPORT = 0.45
"""The similarity (see `find`) from which a sentence supports an answer as its nearest sentence."""

_COPIED = 4
"""The fewest words of a sentence that counts as copied into an answer: shorter ones may be in it by chance."""

_MOST = 8
"""The most sentences that are embedded, those with most of the answer's words first: each one delays the evidence."""

_WORD = re.compile(r"\w+")


def behind(subject: Subject, answer: str, passages: Sequence[StoredPassage], embedder: Embedder) -> Carried:
    """Return how well the passages support an answer, with the sentence that proves it or else the nearest sentence."""
    if proof := subject.proof(answer, passages):
        copied = _plain(proof.sentence) in _plain(answer) and _plain(answer) in _plain(passages[proof.source - 1].text)
        return Carried(proof, None, "word for word" if copied else "proven")
    nearest = find(subject.asked.text, answer, [passage.text for passage in passages], embedder)
    return Carried(None, nearest, "near" if nearest or subject.stands_in(answer, passages) else "none")


def find(question: str, answer: str, passages: Sequence[str], embedder: Embedder) -> Evidence | None:
    """Return the sentence nearest to the answer; None if all are below SUPPORT.

    Its `share` is its similarity, 0..1: the mean of its cosine and of the share of the answer's words in it.
    """
    candidates = [(number, text) for number, passage in enumerate(passages, 1) for text in sentences(passage)]
    if not candidates or not answer.strip():
        return None
    asked, written = _words(question), _words(answer)
    said = written - asked or written
    shares = [1.0 if _copied(_words(text), written) else _share(said, _words(text)) for _, text in candidates]
    likely = sorted(range(len(candidates)), key=lambda place: -shares[place])[:_MOST]
    candidates, shares = [candidates[place] for place in likely], [shares[place] for place in likely]
    # A short answer ("on Tuesday") means nothing alone: it is embedded together with the question.
    vectors = embedder.embed([f"{question} {answer}", *(text for _, text in candidates)])
    nearness = vectors[1:] @ vectors[0]
    scores = [(float(near) + share) / 2 for near, share in zip(nearness, shares, strict=True)]
    best = max(range(len(candidates)), key=scores.__getitem__)
    if scores[best] < SUPPORT:
        return None
    return Evidence(candidates[best][0], candidates[best][1], round(scores[best], 3))


def _copied(sentence: frozenset[str], answer: frozenset[str]) -> bool:
    """Return whether the answer contains this whole sentence."""
    return len(sentence) >= _COPIED and sentence <= answer


def _share(said: frozenset[str], sentence: frozenset[str]) -> float:
    return _weight(said & sentence) / (_weight(said) or 1)


def _weight(words: frozenset[str]) -> int:
    """Return the weight of the words: those with digits (numbers, dates, codes) count three times."""
    return sum(3 if any(map(str.isdigit, word)) else 1 for word in words)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!?…")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
