"""Decides whether the answer to a cached question may serve a similar new one.

PerCache §4.2.1 compares the cosine alone, but near-misses ("on Monday", "on Tuesday") are as similar as paraphrases.
Differences that change the answer exclude it: another number, day, name, negation, direction or kind of answer, or an
opposite. Otherwise the cosine is corrected by how far the wordings agree. Pure functions of two texts and their cosine;
whether the answer is still true is checked elsewhere.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from device_app.english.lexicon import excludes, related, synonymous
from device_app.english.roles import turned
from device_app.english.stemming import stemmed
from device_app.english.stop_words import word_set
from device_app.english.wording import Wording, normal, read, same_kind

# Weights of the wordings beside the cosine. They maximise the likelihood of paraphrases among similar texts; _EVEN
# makes a threshold of .85 the point where `scripts/bench percache` shows the guard's curve to be best.
_LETTERS, _MISSING, _LENGTH, _EVEN = 0.27, 0.09, 0.18, 0.125

_IN_QUESTIONS, _ONE_WORD = 0.94, 0.9
"""The least cosine for an answer to serve if each text has a word that the other lacks: the first for two questions,
the second for other texts that differ in one word.
"""

_PARTS = (({"i", "we"}, {"me", "us"}), ({"my", "our", "mine"}, {"his", "her", "their"}))
"""Pairs of pronouns with opposite roles, such as who acts ("I") and who is acted on ("me"). Two questions that
differ in such a pair do not share an answer.
"""


_BRIEF, _REQUEST = 18, 9
"""The most words of a brief question, and of a brief request. Only in brief texts does a difference in function words
or in word order change the answer; longer ones may mean the same.
"""

_SHORT, _SLIP = 3, 0.8
"""The most letters of a differing word that is taken for a typing error; and the least similarity (difflib) of a longer
word to its misspelling.
"""

_JOINING = ("and", "or")


# Words that say which of several is meant, and whether it was, is or ought to be: in one question only, they change
# what is asked.
_WHICH = word_set(
    """old older oldest new newer newest former previous current last first next final left right early earlier
        earliest late later latest again cheap cheaper cheapest expensive biggest largest smallest longest shortest most
        least best worst summer winter spring autumn wife's husband's"""
)
_WHETHER = word_set("will shall should must might")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the cached answer serves, and why or why not, in words for people.

    `similarity` is the cosine corrected by the wordings; infinite for the same wording, -1 if a difference changes the
    answer. The answer serves if the similarity reaches the threshold; of several, the one with the highest similarity
    is best.
    """

    serves: bool
    reason: str
    similarity: float


def compare(asked: str, cached: str, cosine: float, threshold: float) -> Verdict:
    """Return whether the answer to the question `cached` may serve the question `asked`.

    `cosine` is that of their embeddings. `threshold` is 0 to 1; a lower one never makes fewer answers serve.
    """
    if normal(asked) == normal(cached):
        return Verdict(True, "the same question", math.inf)
    new, old = read(asked), read(cached)
    missing, unasked = _missing(new, old), _missing(old, new)
    difference = next(_differences(new, old, missing, unasked), None)
    if difference is not None:
        return Verdict(False, difference, -1.0)
    similarity = cosine + _agreement(new, old, missing, unasked)
    if similarity < threshold:
        return Verdict(
            False, f"too different: similarity with the wording {similarity:.2f}, needed {threshold:g}", similarity
        )
    if missing and unasked and cosine < _replaced(new, old, len(missing) == len(unasked) == 1):
        was, now = (
            _listed(wording.content[stem] for stem in stems) for wording, stems in ((old, unasked), (new, missing))
        )
        return Verdict(False, f"another word: {was} / {now}", -1.0)
    return Verdict(True, f"means the same: similarity with the wording {similarity:.2f}", similarity)


def _replaced(new: Wording, old: Wording, one_word: bool) -> float:
    """Return the least cosine required if each text has a word that the other lacks; -1 if any is enough.

    `one_word`: only one word is replaced by another.
    """
    if new.asks and old.asks:
        return _IN_QUESTIONS
    return _ONE_WORD if one_word else -1.0


def _agreement(new: Wording, old: Wording, unmatched: Sequence[str], unasked: Sequence[str]) -> float:
    """Return the correction of the cosine: shared trigrams, minus missing words and a difference in length.

    `unmatched` are the stems that only `new` has, `unasked` those that only `old` has.
    """
    letters = 2 * len(new.trigrams & old.trigrams) / max(1, len(new.trigrams) + len(old.trigrams))
    missing = max(len(unmatched) / max(1, len(new.content)), len(unasked) / max(1, len(old.content)))
    length = abs(math.log((1 + len(" ".join(new.words))) / (1 + len(" ".join(old.words)))))
    return _LETTERS * letters - _MISSING * missing - _LENGTH * length - _EVEN


def _missing(wording: Wording, other: Wording) -> list[str]:
    """Return the stems of the wording that the other wording has neither in any form nor as a synonym."""
    return [
        stem
        for stem in wording.content
        if stem not in other.content and not any(related(stem, held) for held in other.content)
    ]


def _differences(new: Wording, old: Wording, unmatched: Sequence[str], unasked: Sequence[str]) -> Iterator[str]:
    """Yield the differences that change the answer, as reasons for people, the most obvious first.

    `unmatched` are the stems that only `new` has, `unasked` those that only `old` has.
    """
    for kind, ours, theirs in (("number", new.numbers, old.numbers), ("day", new.days, old.days)):
        if ours != theirs:
            yield f"another {kind}: {_listed(theirs - ours)} / {_listed(ours - theirs)}"
    if new.negative != old.negative:
        yield "only one question has a negation"
    yield from _one_sided(new, old)
    for wording, other, missing in ((new, old, unmatched), (old, new, unasked)):
        if unknown := [name for name in wording.names if not _holds(other, name)]:
            yield f"another name: {_listed(unknown)}"
        text = " ".join(other.words)
        if unknown := [code for code in wording.codes if code not in text]:
            yield f"another term: {_listed(unknown)}"
        if owned := wording.possessed.intersection(missing):
            yield f"only one question asks for {_listed(wording.content[stem] for stem in owned)}"
    if not same_kind(new.asks, old.asks):
        yield f"another kind of question: {_listed(old.asks)} / {_listed(new.asks)}"
    yield from _opposites(new, old, unmatched, unasked)
    if _swapped(new.words, old.words) or _turned(new, old):
        yield "the roles are reversed"
    if _is_brief(new, old):
        yield from _in_function_words(new, old, unmatched, unasked)


def _in_function_words(new: Wording, old: Wording, missing: Sequence[str], unasked: Sequence[str]) -> Iterator[str]:
    """Yield the differences in function words that change a short question's answer: negations, times, and roles.

    `missing` are the stems that only `new` has, `unasked` those that only `old` has.
    """
    if new.denials != old.denials:
        yield "only one question has a negation"
    if new.times != old.times:
        yield f"another time: {_listed(old.times - new.times)} / {_listed(new.times - old.times)}"
    if _changes_parts(new, old, missing, unasked):
        yield "the roles are reversed"


def _opposites(new: Wording, old: Wording, missing: Sequence[str], unasked: Sequence[str]) -> Iterator[str]:
    """Yield the pairs of words, one from each question, that exclude each other, as reasons for people.

    `missing` are the stems that only `new` has, `unasked` those that only `old` has.
    """
    for stem in sorted({*missing, *_only(new, old)}):
        for against in sorted({*unasked, *_only(old, new)}):
            if excludes(stem, against):
                yield f"opposite words: {old.content.get(against, against)} / {new.content.get(stem, stem)}"


def _is_brief(new: Wording, old: Wording) -> bool:
    """Return whether the texts are so short that every word and the order matters."""
    longest = max(len(new.words), len(old.words))
    return longest <= (_BRIEF if new.asks or old.asks else _REQUEST)


def _changes_parts(new: Wording, old: Wording, missing: Sequence[str], unasked: Sequence[str]) -> bool:
    """Return whether agent and object are swapped: "did Ann pay Bob", "did Bob pay Ann".

    `missing` are the stems that only `new` has, `unasked` those that only `old` has. If one of these stems with more
    than `_SHORT` letters has no counterpart, only the order of names is compared.
    """
    names, same = new.names | old.names, _same(new, old)
    changed = [stem for stem in missing if new.content[stem] not in same]
    changed += [stem for stem in unasked if old.content[stem] not in same.values()]
    if any(len(stem) > _SHORT for stem in changed):
        same = {word: other for word, other in same.items() if word in names}
    return turned(new.words, old.words, same, None if new.small and old.small else names)


def _same(new: Wording, old: Wording) -> dict[str, str]:
    """Map each content word of one question to the other's: the same word, a form, a synonym, or a misspelling."""
    pairs: dict[str, str] = {}
    for stem, word in new.content.items():
        others = [held for held in old.content if related(stem, held) or _alike(word, old.content[held])]
        if stem in old.content or others:
            pairs[word] = old.content[stem if stem in old.content else others[0]]
    return pairs


def _alike(word: str, other: str) -> bool:
    return min(len(word), len(other)) > _SHORT and SequenceMatcher(None, word, other).ratio() >= _SLIP


def _holds(wording: Wording, word: str) -> bool:
    stem = stemmed(word)
    return word in wording.words or any(synonymous(stem, held) for held in wording.content)


def _one_sided(new: Wording, old: Wording) -> Iterator[str]:
    """Yield the words in only one question that specify an item, or say whether something was, is or ought to be."""
    if new.asks and old.asks:
        mine = set(new.words) - set(old.words) - new.names
        other = set(old.words) - set(new.words) - old.names
        for kinds in (_WHICH, _WHETHER):
            if bool(mine & kinds) != bool(other & kinds):
                yield f"only one question says {_listed((mine | other) & kinds)}"


def _only(wording: Wording, other: Wording) -> set[str]:
    """Return the function words, for example particles (in, out, on, off), that only `wording` has."""
    return set(wording.words) - set(other.words) - set(wording.content.values())


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)) or "none"


def _swapped(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two of the same words are exchanged; words that only moved as a block do not count."""
    if words == others or sorted(words) != sorted(others) or _joined(words) == _joined(others):
        return False
    start = next(place for place, (word, other) in enumerate(zip(words, others, strict=True)) if word != other)
    end = next(
        place
        for place, (word, other) in enumerate(zip(reversed(words), reversed(others), strict=True))
        if word != other
    )
    middle, moved = list(words[start : len(words) - end]), list(others[start : len(others) - end])
    return not any(middle[cut:] + middle[:cut] == moved for cut in range(1, len(middle)))


def _joined(words: Sequence[str]) -> list[str]:
    """Return the words, with each pair joined by "and" or "or" in alphabetical order."""
    reordered = list(words)
    for place, word in enumerate(reordered[1:-1], 1):
        if word in _JOINING:
            reordered[place - 1], reordered[place + 1] = sorted((reordered[place - 1], reordered[place + 1]))
    return reordered


def _turned(new: Wording, old: Wording) -> bool:
    """Return whether people or places swap roles between the questions, as in "from A to B" and "from B to A".

    Roles are from and to, "I" and "me", and who did something to whom.
    """
    ours, theirs = _directions(new.words), _directions(old.words)
    for word in ours.keys() & theirs.keys():
        if ours[word].isdisjoint(theirs[word]) and (ours[word] | theirs[word]) in ({"from", "to"}, {"before", "after"}):
            return True
    for own, other in ((set(new.words), set(old.words)), (set(old.words), set(new.words))):
        for part, counterpart in _PARTS:
            if own & part and not own & counterpart and other & counterpart and not other & part:
                return True
    if new.asks == old.asks == {"who"}:
        helped = [bool({"do", "does", "did"} & set(wording.words[:4])) for wording in (new, old)]
        passive = {"is", "are", "was", "were", "has", "have", "had", "will"} & {*new.words, *old.words}
        return helped[0] != helped[1] and not passive
    return False


def _directions(words: Sequence[str]) -> dict[str, set[str]]:
    """Map each word to the prepositions of direction before it; articles and possessives are skipped."""
    by_role: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        if word in ("from", "to", "before", "after", "against", "than", "by"):
            rest = [other for other in words[place + 1 : place + 3] if other not in ("the", "a", "an", "my", "our")]
            if rest:
                by_role.setdefault(rest[0], set()).add(word)
    return by_role
