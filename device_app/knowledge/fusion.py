"""How much a passage says about a question, from keywords and vectors together: pure functions.

Neither side alone is to be trusted for every question: names and rare words speak for the keywords, everyday words for
the embedding. Both propose candidates; then four facts of each are added up: its cosine; how much of the question it
holds word for word; how much of it its document's candidates hold together, whatever the words' endings; and whether
it is from a day that the question names, the more the fewer are. BM25 chooses candidates, but how much of *this*
question a passage holds, words that few candidates hold counting most, tells more than its score. The question's best
cosine tells how far the embedding understood it: the higher, the less the words count.

The weights maximise the likelihood of a relevant passage among the candidates on four kinds of data at once (chats,
meetings, mails, encyclopaedia); `scripts/bench retrieval` shows what they achieve on each.
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
# The words' part is multiplied by _MOST where the best cosine is low, by _LEAST where it is high.
_LEAST, _MOST, _TURN, _STEEPNESS = 0.25, 1.65, 0.6, 12.0
# The sum at which a passage is as likely relevant as not, set between the best passages of questions asked of the store
# that answers them and of stores that do not; `abstain` in `scripts/bench answers` shows what it achieves.
_EVEN = 10.0

DUPLICATE = 0.9
"""Share of words from which two passages count as the same one, quoted or sent twice (Jaccard)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that a side found.

    `dated` tells how rare in the store what is from a day that the question names is, if the passage is: the natural
    logarithm of passages to such passages, else 0.
    """

    passage: StoredPassage
    cosine: float
    dated: float = 0.0


def fuse(question: str, candidates: Sequence[Candidate]) -> list[float]:
    """How likely each candidate is relevant, 0..1, in the order given."""
    if not candidates:
        return []
    own, of_document = _coverage(terms(question), [candidate.passage for candidate in candidates])
    highest = max(candidate.cosine for candidate in candidates)
    trust = _LEAST + (_MOST - _LEAST) / (1 + math.exp(_STEEPNESS * (highest - _TURN)))
    logits = [
        _COSINE * candidate.cosine + trust * (_WORDS * here + _DOCUMENT * nearby) + _DATED * candidate.dated - _EVEN
        for candidate, here, nearby in zip(candidates, own, of_document, strict=True)
    ]
    return [1 / (1 + math.exp(-max(-30.0, min(30.0, logit)))) for logit in logits]


def fold(hits: Sequence[Hit], count: int) -> list[Hit]:
    """The first `count` hits; one that is nearly the same text as one before it becomes that one's copy."""
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
    """Whether texts of these words say the same: nearly all words, and every number."""
    if len(words & others) < DUPLICATE * len(words | others) or not words:
        return False
    return not any(character.isdigit() for word in words ^ others for character in word)


def _coverage(words: Sequence[str], passages: Sequence[StoredPassage]) -> tuple[list[float], list[float]]:
    """Share of the question's words in each passage, exactly, and in its document's passages together, in any form."""
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
    """How much each row holds of all columns, rare ones weighing most: what all candidates hold tells nothing apart."""
    rarity = np.log1p(len(among) / (1 + among.sum(axis=0)))
    shares: list[float] = (holds @ rarity / (rarity.sum() or 1.0)).tolist()
    return shares
