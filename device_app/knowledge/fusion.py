"""How much a passage says about a question, from keywords and vectors together: pure functions.

Neither side alone is to be trusted for every question: names and rare words speak for BM25, everyday words for the
embedding. Four facts of each candidate are added up: its cosine; its BM25 score relative to the best one's; how much of
the question's distinctive words it holds; and how much its document's candidates hold together. The question's best
cosine tells how far the embedding understood it: the higher, the less the words count. The weights were fitted on four
kinds of data at once (chats, meetings, mails, encyclopaedia), by the likelihood of a relevant passage among the
candidates; fitted on three of them, they hold on the fourth.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from shared.types import Hit, StoredPassage

# What asks, but says nothing of the answer.
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a about above after again all also am an and any are as at be because been before being below between
        both but by can could d did do does doing down during each few for from further had has have
        having he her here hers him his how i if in into is it its itself just ll m me more most my no
        nor not now of off on once only or other our ours out over own please re s same she should so
        some such t tell than that the their theirs them then there these they this those through to too
        under until up us ve very was we were what when where which while who whom whose why will with
        would you your yours""",
    )
)
_SUFFIXES = ("ing", "edly", "ed", "ies", "es", "s", "ly")
_WORD = re.compile(r"\w+")

_COSINE, _KEYWORDS, _COVERAGE, _DOCUMENT = 15.0, 2.0, 3.2, 2.4
# The words' part is multiplied by _MOST where the best cosine is low, by _LEAST where it is high.
_LEAST, _MOST, _TURN, _STEEPNESS = 0.25, 1.65, 0.6, 12.0
# The sum at which a passage is as likely relevant as not. Best passages of questions asked of the wrong store stay
# below it in 9 of 10 cases, those of the right one above it in 19 of 20.
_EVEN = 12.0

DUPLICATE = 0.9
"""Share of words from which two passages count as the same one, quoted or sent twice (Jaccard)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that one side or both found. `bm25` is 0 where only the vectors did."""

    passage: StoredPassage
    bm25: float
    cosine: float


def terms(question: str) -> list[str]:
    """The words to look up, each once: without stop words, unless there is nothing else."""
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    return [word for word in words if word not in _STOP_WORDS] or words


def fuse(question: str, candidates: Sequence[Candidate]) -> list[float]:
    """How likely each candidate is relevant, 0..1, in the order given."""
    if not candidates:
        return []
    best = max(candidate.bm25 for candidate in candidates) or 1.0
    own, of_document = _coverage(terms(question), candidates)
    highest = max(candidate.cosine for candidate in candidates)
    trust = _LEAST + (_MOST - _LEAST) / (1 + math.exp(_STEEPNESS * (highest - _TURN)))
    logits = [
        _COSINE * candidate.cosine
        + trust * (_KEYWORDS * candidate.bm25 / best + _COVERAGE * here + _DOCUMENT * nearby)
        - _EVEN
        for candidate, here, nearby in zip(candidates, own, of_document, strict=True)
    ]
    return [1 / (1 + math.exp(-max(-30.0, min(30.0, logit)))) for logit in logits]


def fold(hits: Sequence[Hit], count: int) -> list[Hit]:
    """The first `count` hits that are not nearly the same text as one before them."""
    kept: list[Hit] = []
    words: list[frozenset[str]] = []
    for hit in hits:
        if len(kept) == count:
            break
        own = frozenset(_WORD.findall(hit.passage.text.lower()))
        if not any(len(own & other) >= DUPLICATE * len(own | other) for other in words):
            kept.append(hit)
            words.append(own)
    return kept


def _coverage(words: Sequence[str], candidates: Sequence[Candidate]) -> tuple[list[float], list[float]]:
    """Share of the question's words in each candidate, and in its document's candidates together, rare words first.

    Rarity is that among the candidates: what all of them hold tells nothing apart.
    """
    patterns = [re.compile(rf"\b{re.escape(_stem(word))}", re.IGNORECASE) for word in words]
    held = [_held(patterns, candidate.passage) for candidate in candidates]
    total = len(candidates)
    rarity = [math.log(1 + total / (1 + sum(row[place] for row in held))) for place in range(len(patterns))]
    together: dict[int, list[bool]] = {}
    for candidate, row in zip(candidates, held, strict=True):
        known = together.setdefault(candidate.passage.document_id, [False] * len(row))
        together[candidate.passage.document_id] = [a or b for a, b in zip(known, row, strict=True)]
    whole = sum(rarity) or 1.0

    def share(row: Sequence[bool]) -> float:
        return sum(weight for weight, holds in zip(rarity, row, strict=True) if holds) / whole

    own = [share(row) for row in held]
    return own, [share(together[candidate.passage.document_id]) for candidate in candidates]


def _held(patterns: Sequence[re.Pattern[str]], passage: StoredPassage) -> list[bool]:
    text = f"{passage.title} {' '.join(passage.people)} {passage.text}"
    return [pattern.search(text) is not None for pattern in patterns]


def _stem(word: str) -> str:
    """The word without an English ending: what the keyword index's stemmer finds, this should find as well."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word.removesuffix(suffix)
    return word
