"""Phrases as rules list them: patterns of whole texts that read like the texts.

A phrase is written as it is said, in lower case. `(a|b)` is either, `(a|b)*` any number of them; `[a]` may be left out, `[a]*` may also be repeated;
`<name>` stands for a phrase of that name, `…` for one to eight words, `{name}` for such words that are returned, and
`{name:phrase}` for a phrase that is returned.
A line begins a phrase, and one that is indented more goes on with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Self

_TOKEN = re.compile(
    r"(?P<mark>[(|\[]|[\])]\*?)|<(?P<name>\w+)>|\{(?P<group>\w+)(?::(?P<of>\w+))?\}|(?P<any>…)|(?P<word>[^\s()|\[\]<>{}…]+)"
)
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS, _LIKE = 5, 0.87
_MARKS: Final = {"(": "(?:", ")": ")", ")*": ")*", "[": "(?:", "]": ")?", "]*": ")*", "|": "|"}
_ANY: Final = r"(?: [^\s,;?]+){1,8}?"


_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_BEFORE = re.compile(
    r"(?:(?:hey|hi|hello|jackdaw|ok|okay|so|well|and|please|pls|sorry|btw|just|(?:can|could|would|will) (?:you|u)(?: please)?"
    r"|(?:please )?tell me|do you know|i(?:'d| would) like to (?:know|see|have)|i (?:want|need) to (?:know|see)|let me (?:know"
    r"|see)|remind me|quickly|quick question|i wonder|i was wondering|any idea)\b[\s,:.!]*)+(?=\S)",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"(?:[\s,]+(?:please|pls|thanks|thank you|jackdaw|exactly|again|by the way|btw|in my files|do you know|for me|if any|if you"
    r" can|at all))+$",
    re.IGNORECASE,
)


def bare(text: str) -> str:
    """Return a question without greeting, polite words and the signs at its end, on one line with plain quotes."""
    said = " ".join(text.translate(_QUOTES).split())
    said = re.sub(r"[\s.?!…]+$", "", said)
    if (match := _BEFORE.match(said)) and match.end() < len(said):
        said = said[match.end() :]
    return re.sub(r"[\s.?!,…]+$", "", _BEHIND.sub("", said))


@dataclass(frozen=True, slots=True)
class Phrases:
    """Patterns of whole texts."""

    patterns: tuple[re.Pattern[str], ...]
    vocabulary: frozenset[str]

    @classmethod
    def of(cls, phrases: str, names: Mapping[str, str]) -> Self:
        """Return these phrases, compiled; `names` are the phrases that they name."""
        patterns = tuple(re.compile(_translated(phrase, names)) for phrase in _split(phrases))
        return cls(patterns, frozenset(_WORD.findall(f"{phrases} {' '.join(names.values())}")))

    def read(self, text: str) -> dict[str, str] | None:
        """Return the words that the first matching phrase names, without those that it lacks; None if none matches.

        The text is in lower case, with single spaces.
        """
        return next(self.readings(text), None)

    def readings(self, text: str) -> Iterator[dict[str, str]]:
        """Yield what each phrase that matches the text names, in the order of the phrases."""
        for pattern in self.patterns:
            if match := pattern.fullmatch(f" {text}"):
                yield {name.rpartition("_")[0]: words.strip() for name, words in match.groupdict().items() if words}

    def corrected(self, text: str) -> str:
        """Return the text with words of these phrases put right that have a wrong letter: it may be read where the text
        itself is not.
        """

        def right(word: str) -> str:
            if len(word) < _LEAST_LETTERS or word in self.vocabulary:
                return word
            near = get_close_matches(word, self.vocabulary, 1, _LIKE)
            return near[0] if near and near[0][0] == word[0] else word

        return " ".join(map(right, text.split()))


def _split(phrases: str) -> Iterator[str]:
    lines = [line for line in phrases.splitlines() if line.strip()]
    first = min(len(line) - len(line.lstrip()) for line in lines)
    phrase = ""
    for line in lines:
        if phrase and len(line) - len(line.lstrip()) == first:
            yield phrase
            phrase = ""
        phrase += f" {line}"
    yield phrase


def _translated(phrase: str, names: Mapping[str, str]) -> str:
    """Return a regular expression, in which each word takes the space before it along, so that any may be left out."""
    parts = []
    for token in _TOKEN.finditer(phrase):
        if mark := token["mark"]:
            parts.append(_MARKS[mark])
        elif name := token["name"]:
            parts.append(f"(?:{_translated(names[name], names)})")
        elif group := token["group"]:
            parts.append(f"(?P<{group}_{token.start()}>{_translated(names[token['of']], names) if token['of'] else _ANY})")
        else:
            parts.append(_ANY if token["any"] else f" {re.escape(token['word'])}")
    return "".join(parts)
