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
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shared.types import Hit, StoredPassage

# What asks, but says nothing of the answer.
STOP_WORDS = frozenset(
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
# What a day is asked for, whatever is on it.
_OF_ANY_DAY = frozenset(
    re.findall(
        r"\w+",
        """agenda anything appointment appointments calendar diary event events everything going happen happened
        happening happens plan planned plans schedule scheduled something""",
    )
)
_ENDINGS = ("ings", "ing", "ions", "ion", "ments", "ment", "edly", "ied", "ies", "ed", "es", "ers", "er", "ly", "s")
_ADDED_ENDINGS = ("d", "r", "al", "able", "ness", "or", "ors")
_MOST_TERMS = 64
"""A longer question is cut for the search; it costs time by the word."""

_WORD = re.compile(r"\w+")
_ACCENTS = re.compile("[\u0300-\u036f]")  # those of Latin, Greek and Cyrillic; elsewhere marks make other letters

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


def terms(question: str) -> list[str]:
    """The words to look up, each once: without stop words, unless there is nothing else."""
    words = list(dict.fromkeys(_WORD.findall(plain(question))))
    return ([word for word in words if word not in STOP_WORDS] or words)[:_MOST_TERMS]


def says_nothing(question: str) -> bool:
    """Whether no word of the question tells one passage from another, as in "What is on?"."""
    return all(word in STOP_WORDS or word in _OF_ANY_DAY for word in _WORD.findall(plain(question)))


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


def stands_in(word: str, texts: Sequence[str]) -> bool:
    """Whether one of these, as `searched` gives them, has the word in any form."""
    form = re.compile(rf"\b{_forms(word)}\b")
    return any(form.search(text) for text in texts)


def _same(words: frozenset[str], others: frozenset[str]) -> bool:
    """Whether texts of these words say the same: nearly all words, and every number."""
    if len(words & others) < DUPLICATE * len(words | others) or not words:
        return False
    return not any(character.isdigit() for word in words ^ others for character in word)


def _coverage(words: Sequence[str], passages: Sequence[StoredPassage]) -> tuple[list[float], list[float]]:
    """Share of the question's words in each passage, exactly, and in its document's passages together, in any form."""
    forms = re.compile(rf"\b(?:{'|'.join(f'({_forms(word)})' for word in words)})\b")
    own, held = np.zeros((2, len(passages), len(words)), dtype=bool)
    for row, passage in enumerate(passages):
        for found in forms.finditer(searched(passage)) if words else ():
            place = (found.lastindex or 1) - 1
            held[row, place] = True
            own[row, place] |= found[0] == words[place]
    _, document = np.unique([passage.document_id for passage in passages], return_inverse=True)
    together = np.zeros((document.max() + 1, len(words)), dtype=bool)
    np.logical_or.at(together, document, held)
    return _share(own, own), _share(together[document], held)


def _share(holds: npt.NDArray[np.bool_], among: npt.NDArray[np.bool_]) -> list[float]:
    """How much each row holds of all columns, rare ones weighing most: what all candidates hold tells nothing apart."""
    rarity = np.log1p(len(among) / (1 + among.sum(axis=0)))
    shares: list[float] = (holds @ rarity / (rarity.sum() or 1.0)).tolist()
    return shares


def searched(passage: StoredPassage) -> str:
    """What of a passage is searched for words, as they are compared."""
    return plain("\n".join((passage.title, *passage.people, passage.text)))


def plain(text: str) -> str:
    """In small letters without accents, as the keyword index compares."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))
    return text.lower()


def _forms(word: str) -> str:
    """A pattern of the word with any English ending: move, moves, moving; city, cities; run, runner."""
    stem = word
    for ending in _ENDINGS:
        bare = word.removesuffix(ending)
        if bare != word and len(bare) >= 3 and re.search("[aeiouy]", bare):
            stem = bare
            break
    if len(stem) > 3 and (stem[-1] in "eiy" or (stem != word and stem[-1] == stem[-2])):
        stem = stem[:-1]
    return f"{stem}(?:[eiy]|{stem[-1]})?(?:{'|'.join((*_ENDINGS, *_ADDED_ENDINGS))})?"
