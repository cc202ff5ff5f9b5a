"""Which sentence of the sources carries an answer: one that proves it, else the nearest by meaning, with the answer's
own words counted in.

A small model's slip is seen at once when the sentence it should have copied stands beside it; only a proof is quoted.
"""

import re
from collections.abc import Sequence

from device_app.knowledge.proof import Subject
from device_app.question.evidence import Carried, Evidence
from models.engine import Embedder
from shared.text import sentences
from shared.types import StoredPassage

SUPPORT = 0.45
"""Similarity from which a sentence comes near the answer."""

_COPIED = 4
"""A sentence of fewer words may stand in an answer by chance."""

_MOST = 8
"""Sentences that are embedded, those that share most words with the answer: each costs time behind the answer."""

_WORD = re.compile(r"\w+")


def behind(subject: Subject, answer: str, passages: Sequence[StoredPassage], embedder: Embedder) -> Carried:
    """What carries an answer from these passages."""
    if proof := subject.proof(answer, passages):
        copied = _plain(proof.sentence) in _plain(answer) and _plain(answer) in _plain(passages[proof.source - 1].text)
        return Carried(proof, None, "word for word" if copied else "proven")
    nearest = find(subject.asked.text, answer, [passage.text for passage in passages], embedder)
    return Carried(None, nearest, "near" if nearest or subject.stands_in(answer, passages) else "none")


def find(question: str, answer: str, passages: Sequence[str], embedder: Embedder) -> Evidence | None:
    """The sentence nearest to the answer, with its similarity, 0..1; None where no sentence comes near it."""
    candidates = [(number, text) for number, passage in enumerate(passages, 1) for text in sentences(passage)]
    if not candidates or not answer.strip():
        return None
    asked, written = _words(question), _words(answer)
    said = written - asked or written
    shares = [1.0 if _copied(_words(text), written) else _share(said, _words(text)) for _, text in candidates]
    likely = sorted(range(len(candidates)), key=lambda place: -shares[place])[:_MOST]
    candidates, shares = [candidates[place] for place in likely], [shares[place] for place in likely]
    # A short answer ("on Tuesday") means nothing alone; the question gives it its subject.
    vectors = embedder.embed([f"{question} {answer}", *(text for _, text in candidates)])
    nearness = vectors[1:] @ vectors[0]
    scores = [(float(near) + share) / 2 for near, share in zip(nearness, shares, strict=True)]
    best = max(range(len(candidates)), key=scores.__getitem__)
    if scores[best] < SUPPORT:
        return None
    return Evidence(candidates[best][0], candidates[best][1], round(scores[best], 3))


def _copied(sentence: frozenset[str], answer: frozenset[str]) -> bool:
    """Whether the answer holds the whole sentence, perhaps among others."""
    return len(sentence) >= _COPIED and sentence <= answer


def _share(said: frozenset[str], sentence: frozenset[str]) -> float:
    return _weight(said & sentence) / (_weight(said) or 1)


def _weight(words: frozenset[str]) -> int:
    """Numbers, dates and codes are what an answer is about, and what a slip gets wrong: they count three times."""
    return sum(3 if any(map(str.isdigit, word)) else 1 for word in words)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold().rstrip(".!?…")


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text))
