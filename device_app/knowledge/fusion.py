"""How much a passage says about a question, from keywords and vectors together: pure functions.

Neither side alone is to be trusted for every question: names and rare words speak for the keywords, everyday words for
the embedding. Both propose candidates; then four facts of each are added up: its cosine; how much of the question it
holds word for word; how much of it its document's candidates hold together, whatever the words' endings; and whether
it is from a day that the question names. BM25 chooses candidates, but how much of *this* question a passage holds,
words that few candidates hold counting most, tells more than its score. The question's best cosine tells how far the
embedding understood it: the higher, the less the words count. The weights were fitted on four kinds of data at once
(chats, meetings, mails, encyclopaedia), by the likelihood of a relevant passage among the candidates.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

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
_ACCENTS = re.compile("[\u0300-\u036f]")  # those of Latin, Greek and Cyrillic; elsewhere marks make other letters

_COSINE, _WORDS, _DOCUMENT, _DATED = 15.7, 3.7, 3.5, 6.5
# The words' part is multiplied by _MOST where the best cosine is low, by _LEAST where it is high.
_LEAST, _MOST, _TURN, _STEEPNESS = 0.25, 1.65, 0.6, 12.0
# The sum at which a passage is as likely relevant as not. The best passages of questions asked of the wrong store stay
# well below it in 9 of 10 cases, those of the right store reach about it or more in 19 of 20.
_EVEN = 10.0

DUPLICATE = 0.9
"""Share of words from which two passages count as the same one, quoted or sent twice (Jaccard)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that a side found, and whether it is from a day that the question names."""

    passage: StoredPassage
    cosine: float
    dated: bool = False


def terms(question: str) -> list[str]:
    """The words to look up, each once: without stop words, unless there is nothing else."""
    words = list(dict.fromkeys(_WORD.findall(_plain(question))))
    return [word for word in words if word not in _STOP_WORDS] or words


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
        like = (place for place, other in enumerate(words) if len(own & other) >= DUPLICATE * len(own | other))
        place = next(like, None)
        if place is not None:
            kept[place] = replace(kept[place], copies=(*kept[place].copies, hit.passage))
        elif len(kept) == count:
            break
        else:
            kept.append(hit)
            words.append(own)
    return kept


def _coverage(words: Sequence[str], passages: Sequence[StoredPassage]) -> tuple[list[float], list[float]]:
    """Share of the question's words in each passage, exactly, and in its document's passages together, by stem."""
    stems = [_stem(word) for word in words]
    begins_alike = re.compile(rf"\b(?:{'|'.join(stems)})\w*")
    found = [set(begins_alike.findall(_searched(passage))) for passage in passages]
    own = np.array([[word in some for word in words] for some in found], dtype=bool)
    held = np.array([[any(one.startswith(stem) for one in some) for stem in stems] for some in found], dtype=bool)
    _, document = np.unique([passage.document_id for passage in passages], return_inverse=True)
    together = np.zeros((document.max() + 1, len(words)), dtype=bool)
    np.logical_or.at(together, document, held)
    return _share(own, own), _share(together[document], held)


def _share(holds: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> list[float]:
    """How much each row holds of all columns, rare ones weighing most: what all candidates hold tells nothing apart."""
    rarity = np.log1p(len(among) / (1 + among.sum(axis=0)))
    shares: list[float] = (holds @ rarity / (rarity.sum() or 1.0)).tolist()
    return shares


def _searched(passage: StoredPassage) -> str:
    return _plain("\n".join((passage.title, *passage.people, passage.text)))


def _plain(text: str) -> str:
    """In small letters without accents, as the keyword index compares."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    return text.lower()


def _stem(word: str) -> str:
    """The word without an English ending: what the keyword index's stemmer finds, this should find as well."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word.removesuffix(suffix)
    return word
