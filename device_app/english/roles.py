"""Finds the agent and the object in a question from the order of its words, which decides both in English.

Two questions of the same words in another order ask different things, except that some words may move freely: a time or
a place, words joined by "and", and agent and object if one of the questions is in the passive.
"""

import re
from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

from device_app.english.stop_words import word_set

_ADVERBIAL = word_set("in at on near during since until till")
"""Prepositions of a time or a place, which may stand anywhere in a sentence."""

_DETERMINERS = word_set("the a an my our your his her its their this that these those")
_JOINING = word_set("and or")
_PARTICIPLES = re.compile(r"\w{2,}(?:ed|en|wn|ught|old|ade|ent|ung|id)|met|put|won")
_BE = word_set("is are was were be been being am get gets got getting")

_SUBJECTS = {"i": "me", "we": "us", "he": "him", "she": "her", "they": "them"}
_OBJECTS = frozenset(_SUBJECTS.values())
_PERSONS = frozenset((*_SUBJECTS, "you", "it"))

_MUTUAL = word_set("between married related relate border borders next same alike differ")
"""Words for mutual relations, in which either party may come first."""


def turned(words: Sequence[str], others: Sequence[str], same: Mapping[str, str], names: Set[str] | None) -> bool:
    """Return whether agent and object are exchanged between two questions.

    `same` maps each content word of the first question that the other question has too, in any form or synonym, to the
    other's word. `names` are the names in either question; None if no word has a capital, so that any word may be a
    name. Without a name in them, roles differ only if just one of the questions has a form of "do".
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
    """Return whether the question is passive and names the agent: "was asked by Adam", "who got invited by her"."""
    be = next((place for place, word in enumerate(words) if word in _BE), len(words))
    return "by" in words and any(_PARTICIPLES.fullmatch(word) for word in words[be + 1 :])


def _is_helped(words: Sequence[str]) -> bool:
    """Return whether a form of "do" and a named agent precede the verb: "did Adam ask", but not "who asked Adam"."""
    return any(word in ("do", "does", "did") and after not in _PERSONS for word, after in pairwise(words))


def _order(words: Sequence[str], roles: Mapping[str, str]) -> list[str]:
    """Return the words that have a role, in an order that is the same for rephrasings, without times and places.

    Words joined by "and" are sorted. An owner after "of" is put before its property: "the number of the pharmacy" gives
    the list of "the pharmacy's number".
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
    """Return the genders of the pronouns and, if object pronouns occur too, the persons of the subject pronouns."""
    acting = frozenset(_SUBJECTS) & set(words)
    acted = frozenset(word for word in words if word in _OBJECTS)
    genders = {"he" for word in words if word in ("he", "him", "his")} | {
        "she" for word in words if word in ("she", "her", "hers")
    }
    return frozenset(genders), acting if acted else frozenset()
