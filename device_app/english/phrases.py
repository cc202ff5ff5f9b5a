"""Phrases listed in the files in `forms`: patterns for whole texts, written in a readable notation.

A phrase is written as people say it, in lower case. `(a|b)` is either, `(a|b)*` any number of them; `[a]` may be left
out, `[a]*` may also be repeated; `<name>` stands for the phrase called `name`, `…` for one to twelve words, `{name}`
for one to twelve words that are returned, and `{name:phrase}` for a phrase that is returned. A new line begins a
phrase, and an indented line continues it. `== form` begins the phrases of a form, and `== names` the phrases to which
others refer by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Final, Self

from device_app.english.spelling import nearest

_TOKEN = re.compile(
    r"(?P<mark>[(|\[]|[\])]\*?)|<(?P<name>\w+)>|\{(?P<group>\w+)(?::(?P<of>\w+))?\}|(?P<any>…)|(?P<word>[^\s()|\[\]<>{}…]+)"
)
_WORD = re.compile(r"[^\W\d_]+")
_LIKE = 0.87
_MARKS: Final = {"(": "(?:", ")": ")", ")*": ")*", "[": "(?:", "]": ")?", "]*": ")*", "|": "|"}
_ANY: Final = r"(?: [^\s,;?]+){1,12}?"


_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_POLITE: Final = (
    "hey|hi|hello|jackdaw|ok|okay|so|well|and|please|pls|sorry|btw|just|(?:can|could|would|will) (?:you|u)(?: please)?|"
    "(?:please )?tell me|do you know|i(?:'d| would) like to (?:know|see|have)|i (?:want|need) to (?:know|see)|"
    "let me (?:know|see)|remind me|quickly|quick question|i wonder|i was wondering|any idea"
)
_ADDED: Final = (
    "please|pls|thanks|thank you|jackdaw|exactly|again|by the way|btw|in my files|do you know|for me|if any|if you can|"
    "at all"
)
_BEFORE = re.compile(rf"(?:(?:{_POLITE})\b[\s,:.!]*)+(?=\S)", re.IGNORECASE)
# It begins where a run of spaces and commas does, as trying each place of a long run takes seconds.
_BEHIND = re.compile(rf"(?<![\s,])(?:[\s,]+(?:{_ADDED}))+$", re.IGNORECASE)


def bare(text: str) -> str:
    """Return a question without greeting, polite words and final punctuation, on one line with plain quotes."""
    said = " ".join(text.translate(_QUOTES).split()).rstrip(" .?!…")
    if (match := _BEFORE.match(said)) and match.end() < len(said):
        said = said[match.end() :]
    return _BEHIND.sub("", said).rstrip(" .?!,…")


@dataclass(frozen=True)
class _Phrase:
    """A phrase, compiled when it is first needed. `needs` are sets of words; a matching text has a word of each set."""

    text: str
    names: Mapping[str, str]
    needs: tuple[frozenset[str], ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(_translated(self.text, self.names))


@dataclass(frozen=True, slots=True)
class Phrases:
    """A list of phrases that are compared with whole texts."""

    phrases: tuple[_Phrase, ...]
    vocabulary: frozenset[str]

    @classmethod
    def of(cls, phrases: Sequence[str], names: Mapping[str, str]) -> Self:
        """Return these phrases; `names` are the named phrases that they contain."""
        words = {name: _words(text, names) for name, text in names.items()}
        split = tuple(_Phrase(phrase, names, tuple(_needs(phrase, words))) for phrase in phrases)
        return cls(split, frozenset(_WORD.findall(" ".join((*phrases, *names.values())))))

    def read(self, text: str) -> dict[str, str] | None:
        """Return the named words of the text by the first matching phrase; None if no phrase matches.

        The text is in lower case, with single spaces.
        """
        return next(self.readings(text), None)

    def readings(self, text: str) -> Iterator[dict[str, str]]:
        """Yield the named words of the text by each matching phrase, in the order of the phrases."""
        words = frozenset(text.split())
        for phrase in self.phrases:
            if all(words & needed for needed in phrase.needs) and (match := phrase.pattern.fullmatch(f" {text}")):
                yield {name.rpartition("_")[0]: words.strip() for name, words in match.groupdict().items() if words}

    def corrected(self, text: str) -> str:
        """Return the text with misspelled words of these phrases corrected, so that a phrase may match it."""
        return " ".join(nearest(word, self.vocabulary, _LIKE) for word in text.split())


def load(name: str) -> dict[str, Phrases]:
    """Load the phrases of a file in `forms`, by form, in the order of the file."""
    text = (files("device_app.english") / "forms" / f"{name}.txt").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("== "):
            section = sections.setdefault(line.removeprefix("== "), [])
        elif line.startswith(" "):
            section[-1] += line
        elif line and not line.startswith("#"):
            section.append(line)
    names = dict(line.split(": ", 1) for line in sections.pop("names", ()))
    return {form: Phrases.of(phrases, names) for form, phrases in sections.items()}


def _words(text: str, names: Mapping[str, str]) -> frozenset[str]:
    """Return all words of a phrase, including those of the named phrases in it."""
    words: set[str] = set()
    for token in _TOKEN.finditer(text):
        if name := token["name"] or token["of"]:
            words |= _words(names[name], names)
        elif token["word"]:
            words.add(token["word"])
    return frozenset(words)


def _needs(phrase: str, words: Mapping[str, frozenset[str]]) -> Iterator[frozenset[str]]:
    """Yield sets of words from the phrase's mandatory parts; a matching text contains a word of each set."""
    depth, inside = 0, set[str]()
    is_left_out = False
    for token in _TOKEN.finditer(phrase):
        mark, name = token["mark"] or "", token["name"] or token["of"]
        some = words[name] if name else frozenset({token["word"]}) if token["word"] else frozenset[str]()
        if mark in ("(", "["):
            is_left_out = is_left_out or mark == "[" if depth else mark == "["
            inside = inside if depth else set()
            depth += 1
        elif mark[:1] in (")", "]") and mark:
            depth -= 1
            if not depth and mark == ")" and not is_left_out:
                yield frozenset(inside)
        elif depth:
            inside |= some
        elif some:
            yield some


def _translated(phrase: str, names: Mapping[str, str]) -> str:
    """Return a regular expression for a phrase.

    Each word includes the space before it, so that any word may be left out.
    """
    parts = []
    for token in _TOKEN.finditer(phrase):
        if mark := token["mark"]:
            parts.append(_MARKS[mark])
        elif name := token["name"]:
            parts.append(f"(?:{_translated(names[name], names)})")
        elif group := token["group"]:
            parts.append(
                f"(?P<{group}_{token.start()}>{_translated(names[token['of']], names) if token['of'] else _ANY})"
            )
        else:
            parts.append(_ANY if token["any"] else f" {re.escape(token['word'])}")
    return "".join(parts)
