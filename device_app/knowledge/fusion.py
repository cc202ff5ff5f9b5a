"""Scores how relevant a passage is to a question, from keywords and vectors together: pure functions.

Neither keywords nor vectors are reliable for every question: keywords are better for names and rare words, embeddings
for everyday words. Both propose candidates; then four features of each are summed: its cosine; the share of the
question's words in it, verbatim; the share of them in all candidates of its document, in any form; and whether its date
is one that the question names, which weighs more if fewer passages have it. BM25 chooses candidates, but its score is
less informative than the share of *this* question's words, with words in few candidates weighing most. The best cosine
shows how well the embedding understood the question: the higher it is, the less the words count.

The weights maximise the likelihood of a relevant passage among the candidates on four kinds of data at once (chats,
meetings, mails, encyclopaedia); `scripts/bench retrieval` shows the results on each.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from device_app.english.stemming import forms
from device_app.english.terms import searched, terms
from shared.types import Hit, StoredPassage

_WORD = re.compile(r"\w+")
_COSINE, _WORDS, _DOCUMENT, _DATED = 15.7, 3.7, 3.5, 1.1
# The words' weight is multiplied by up to _MOST if the best cosine is low, down to _LEAST if it is high.
_LEAST, _MOST, _TURN, _STEEPNESS = 0.25, 1.65, 0.6, 12.0
# The sum at which a passage is as likely relevant as not, set between the best passages for questions that the store
# answers and for questions that it does not; `abstain` in `scripts/bench answers` measures the effect.
_EVEN = 10.0

DUPLICATE = 0.9
"""The share of common words from which two passages are duplicates, such as quoted or resent ones (Jaccard)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage found by one of the searches.

    `dated` is 0 or, if the passage is from a day that the question names, the natural logarithm of the number of all
    passages divided by the number from that day.
    """

    passage: StoredPassage
    cosine: float
    dated: float = 0.0


def fuse(question: str, candidates: Sequence[Candidate]) -> list[float]:
    """Return the probability that each candidate is relevant, 0..1, in the order given."""
    if not candidates:
        return []
    own, of_document = coverage(terms(question), [candidate.passage for candidate in candidates])
    highest = max(candidate.cosine for candidate in candidates)
    trust = _LEAST + (_MOST - _LEAST) / (1 + math.exp(_STEEPNESS * (highest - _TURN)))
    logits = [
        _COSINE * candidate.cosine + trust * (_WORDS * here + _DOCUMENT * nearby) + _DATED * candidate.dated - _EVEN
        for candidate, here, nearby in zip(candidates, own, of_document, strict=True)
    ]
    return [1 / (1 + math.exp(-max(-30.0, min(30.0, logit)))) for logit in logits]


def fold(hits: Sequence[Hit], count: int) -> list[Hit]:
    """Return the first `count` hits; a near duplicate of an earlier hit is listed among that hit's copies."""
    kept: list[Hit] = []
    words: list[frozenset[str]] = []
    for hit in hits:
        own = frozenset(_WORD.findall(hit.passage.text.lower()))
        place = next((place for place, other in enumerate(words) if _same(own, other)), None)
        if place is not None:
            kept[place] = replace(kept[place], copies=(*kept[place].copies, hit.passage))
        elif len(kept) == count:
            break
        else:
            kept.append(hit)
            words.append(own)
    return kept


def _same(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether two texts with the given words are duplicates: they share nearly all words, and all numbers."""
    if len(words & others) < DUPLICATE * len(words | others) or not words:
        return False
    return not any(character.isdigit() for word in words ^ others for character in word)


def coverage(words: Sequence[str], passages: Sequence[StoredPassage]) -> tuple[list[float], list[float]]:
    """For each passage, return the share of the question's words that it contains verbatim, and the share that its
    document contains in any form.
    """
    pattern = re.compile(rf"\b(?:{'|'.join(f'({forms(word)})' for word in words)})\b")
    own, held = np.zeros((2, len(passages), len(words)), dtype=bool)
    for row, passage in enumerate(passages):
        for match in pattern.finditer(searched(passage)) if words else ():
            place = (match.lastindex or 1) - 1
            held[row, place] = True
            own[row, place] |= match[0] == words[place]
    _, document = np.unique([passage.document_id for passage in passages], return_inverse=True)
    together = np.zeros((document.max() + 1, len(words)), dtype=bool)
    np.logical_or.at(together, document, held)
    return _share(own, own), _share(together[document], held)


def _share(holds: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> list[float]:
    """Return, for each passage, the share of the question's words that it `holds`; rare words count more.

    Both arrays have a row per passage and a column per word. A word's rarity is counted in `among`: a word that most
    passages have does not tell them apart.
    """
    rarity = np.log1p(len(among) / (1 + among.sum(axis=0)))
    shares: list[float] = (holds @ rarity / (rarity.sum() or 1.0)).tolist()
    return shares
