"""Decides how a line mentions somebody without a name, such as "doctor": as somebody else's, or in passing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from device_app.english.contacts import contacts

_CONTRACTED: Final = r"(?:it|that|this|here|there|what|who|where|how|let|he|she|one|today|tomorrow)"
_OWNER: Final = rf"\b(?!{_CONTRACTED}['’]s\b)[^\W\d_]+(?:['’]s|s['’])"
_OTHERS, _MINE = r"\b(?:his|her|their)", r"\b(?:my|our)"
_BETWEEN: Final = r"\s+(?:(?!(?:the|an?|my|our|your|his|her|their)\b)[a-z][\w-]*\s+){0,2}$"
"""Matches up to two words between an owner and what is owned: "Tomaso's new doctor"."""

_OWNED_BEHIND: Final = re.compile(r"s?\s+of\s+(?:his\b|her\b|their\b|[A-Z])")
_IN_PASSING: Final = re.compile(
    r"\b(?:on|in|at|near|behind|above|below|under|from|to|into|onto|by|with|about|over|through|across|opposite|beside)\s+"
    r"(?:(?:the|our|my|an?)\s+)?(?:[\w-]+\s+)?$",
    re.IGNORECASE,
)
_HEADS: Final = re.compile(
    rf"(?:^|[^\w\s'’-]\s*|\b(?:call|ring|phone|ask(?: for)?|reach|contact|text|is|was|"
    rf"(?:numbers?|telephone|tel|mobile|e?-?mail|address) (?:of|for)|(?:here|that|it)['’]s)\s+|{_OWNER}\s+)"
    r"(?:for\s+)?(?:(?:the|our|my|your|his|her|their|an?)\s+)?(?:(?-i:[a-z])[\w-]*\s+|emergency\s+)?$",
    re.IGNORECASE,
)
"""Matches what stands before somebody who is reached by the number beside: the beginning of a clause, or "ask for"."""

_ASKS_FOR: Final = re.compile(r"\b(?:for|is|was)\s+(?:\w+\s+)?$", re.IGNORECASE)
_MOST_MENTIONS: Final = 20
_NEAR: Final = 60
"""The most characters between somebody and the number or the address by which they are reached."""


def is_of_other(line: str, words: Sequence[str], *, is_own: bool) -> bool:
    """Return whether all whom a line calls by the `words` are somebody else's, as in "Tomaso's doctor".

    `is_own`: the person wrote the line, so that "my doctor" in it is theirs.
    """
    owned = re.compile(rf"(?:{'|'.join((_OWNER, _OTHERS) if is_own else (_OWNER, _OTHERS, _MINE))}){_BETWEEN}", re.I)
    mentions = [*_mentions(line, words)]
    return bool(mentions) and all(
        owned.search(line, _begin(each), each.start()) or _OWNED_BEHIND.match(line, each.end()) for each in mentions
    )


def is_reached(line: str, words: Sequence[str]) -> bool:
    """Return whether a line may say how to reach whom it calls by the `words`; not "Hrovat, builder, on this floor".

    Names with capitals may stand anywhere: "or call 555 0102 for Mira".
    """
    places = [match.span() for match in contacts(line)]
    return any(_is_reached(line, mention, places) for mention in _mentions(line, words))


def _is_reached(line: str, mention: re.Match[str], places: Sequence[tuple[int, int]]) -> bool:
    begin, start, end = _begin(mention), mention.start(), mention.end()
    if all(word[0].isupper() for word in mention[0].split()) and line[begin:start].strip():
        return True
    if _IN_PASSING.search(line, begin, start) or not _HEADS.search(line, begin, start):
        return False
    asks_for = _ASKS_FOR.search(line, begin, start) is not None
    return any(
        0 <= first - end <= _NEAR or (last <= start and (first == 0 or (asks_for and start - last <= _NEAR)))
        for first, last in places
    )


def _begin(mention: re.Match[str]) -> int:
    """Return where the words before a mention begin that are read."""
    return max(0, mention.start() - _NEAR)


def _mentions(line: str, words: Sequence[str]) -> Iterator[re.Match[str]]:
    called = r"\W+".join(map(re.escape, words))
    return islice(re.finditer(rf"\b{called}(?=s?\b)", line, re.IGNORECASE), _MOST_MENTIONS)
