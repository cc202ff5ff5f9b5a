"""Phrases as rules list them: patterns of whole texts that read like the texts.

A phrase is written as it is said, in lower case. `(a|b)` is either; `[a]` may be left out, `[a]*` may also be repeated;
`<name>` stands for a phrase of that name, `…` for one to eight words, and `{name}` for such words that are returned.
A line begins a phrase, and one that is indented more goes on with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

_TOKEN = re.compile(
    r"(?P<mark>[()|\[]|\]\*?)|<(?P<name>\w+)>|\{(?P<group>\w+)\}|(?P<any>…)|(?P<word>[^\s()|\[\]<>{}…]+)"
)
_MARKS: Final = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "]*": ")*", "|": "|"}
_ANY: Final = r"(?: [^\s,;?]+){1,8}?"


@dataclass(frozen=True, slots=True)
class Phrases:
    """Patterns of whole texts."""

    patterns: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, phrases: str, names: Mapping[str, str]) -> Self:
        """Return these phrases, compiled; `names` are the phrases that they name."""
        return cls(tuple(re.compile(_translated(phrase, names)) for phrase in _split(phrases)))

    def read(self, text: str) -> dict[str, str] | None:
        """Return the words that the first matching phrase names, without those that it lacks; None if none matches.

        The text is in lower case, with single spaces.
        """
        for pattern in self.patterns:
            if match := pattern.fullmatch(f" {text}"):
                return {name: words.strip() for name, words in match.groupdict().items() if words}
        return None


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
            parts.append(f"(?P<{group}>{_ANY})")
        else:
            parts.append(_ANY if token["any"] else f" {re.escape(token['word'])}")
    return "".join(parts)
