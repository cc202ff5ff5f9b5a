"""Who does what to whom in a question, as far as the order of its words tells: in English, order is what tells.

Two questions of the same words in another order ask something else, but for what moves without a change: a time or a
place, what "and" joins, and who acts and who is acted on where one of the questions is in the passive.
"""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

from device_app.english.stop_words import word_set

_ADVERBIAL = word_set("in at on near during since until till")
"""What these begin tells when or where, and may stand anywhere in a sentence."""

_DETERMINERS = word_set("the a an my our your his her its their this that these those")
_JOINING = word_set("and or")
_PARTICIPLES = re.compile(r"\w{2,}(?:ed|en|wn|ught|old|ade|ent|ung|id)|met|put|won")
_BE = word_set("is are was were be been being am get gets got getting")

_SUBJECTS = {"i": "me", "we": "us", "he": "him", "she": "her", "they": "them"}
_OBJECTS = frozenset(_SUBJECTS.values())
_PERSONS = frozenset((*_SUBJECTS, "you", "it"))

_MUTUAL = word_set("between married related relate border borders next same alike differ")
"""Where one of these stands, either may come first."""


def turned(words: Sequence[str], others: Sequence[str], same: Mapping[str, str], names: Set[str] | None) -> bool:
    """Whether the parts are changed. `same` maps each word that matters of the first question, and that the other has,
    in whatever form or synonym, to the word that it has for it.

    `names` are the names in either, None where nothing is written with a capital: any word may be one. What has none
    changes its parts only where one of the questions alone asks with "do".
    """
    if _pronouns(words) != _pronouns(others):
        return True
    if not _MUTUAL.isdisjoint(words) or ("of" in words) != ("of" in others):
        return False
    mine = _order(words, same)
    theirs = _order(others, {other: other for other in same.values()})
    mine = [same[word] for word in mine]
    common = set(mine) & set(theirs)
    mine, theirs = ([word for word in order if word in common] for order in (mine, theirs))
    if _is_passive(words) != _is_passive(others):
        return mine == theirs and len(mine) > 1
    if mine == theirs:
        return False
    return names is None or not names.isdisjoint(mine) or (_is_helped(words) != _is_helped(others))


def _is_passive(words: Sequence[str]) -> bool:
    """Whether it tells what is done, and by whom: "was asked by Adam", "who got invited by her"."""
    be = next((place for place, word in enumerate(words) if word in _BE), len(words))
    return "by" in words and any(_PARTICIPLES.fullmatch(word) for word in words[be + 1 :])


def _is_helped(words: Sequence[str]) -> bool:
    """Whether somebody named acts before what is done: "did Adam ask", and not "who asked Adam" or "did I ask"."""
    return any(word in ("do", "does", "did") and after not in _PERSONS for word, after in pairwise(words))


def _order(words: Sequence[str], roles: Mapping[str, str]) -> list[str]:
    """The wanted words as they come, without what tells when or where. Joined ones are sorted, and what belongs to
    something comes behind it: the number of the pharmacy is the pharmacy's number.
    """
    order: list[list[str]] = []
    for place, word in enumerate(words):
        if word not in roles:
            continue
        before = next((other for other in words[place - 1 :: -1] if other not in _DETERMINERS), "") if place else ""
        if before in _ADVERBIAL and word != "front":
            continue
        if before in _JOINING and order:
            order[-1].append(word)
        elif before == "of" and order:
            order.insert(len(order) - 1, [word])
        else:
            order.append([word])
    return [word for group in order for word in sorted(group)]


def _pronouns(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Whether "he" or "she" is spoken of; and which persons act, by their pronouns, where others are acted on."""
    acting = frozenset(_SUBJECTS) & set(words)
    acted = frozenset(word for word in words if word in _OBJECTS)
    genders = {"he" for word in words if word in ("he", "him", "his")} | {
        "she" for word in words if word in ("she", "her", "hers")
    }
    return frozenset(genders), acting if acted else frozenset()
